import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from memlake import schemas
from memlake.transforms.base.conversation import DeadLetter, Source
from memlake.transforms.read.catalogue import read_source

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture
def readme_tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("readme_tables", REPOSITORY / "infra" / "readme_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_tables_in_the_readme_is_fresh(readme_tables):
    readme = readme_tables.README.read_text(encoding="utf-8")
    assert readme == readme_tables.rewritten(readme), "stale: run `make readme`"


def test_the_transcripts_of_the_readme_are_read_as_they_are_shown(readme_tables, tmp_path):
    blocks = re.findall(r"```jsonl\n(.*?)```", readme_tables.README.read_text(encoding="utf-8"), re.DOTALL)
    found = []
    for place, block in enumerate(blocks):
        (tmp_path / f"{place}.jsonl").write_text(block, encoding="utf-8")
        found += list(read_source(Source(str(tmp_path / f"{place}.jsonl"))))
    assert [item for item in found if isinstance(item, DeadLetter)] == []
    assert [(item.conversation_id, len(item.text)) for item in found] == [("c1", 1), ("c2", 1), ("c3", 2)]
    assert (found[1].questions[0].question_id, len(found[1].supplied)) == ("c2:q1", 1)


def test_rewriting_replaces_a_stale_table_and_nothing_else(readme_tables):
    stale = "# Head\n<!-- tables -->\n| old |\n<!-- /tables -->\nfoot | stays\n"
    fresh = readme_tables.rewritten(stale)
    assert fresh.startswith("# Head\n<!-- tables -->\n| table | one row is | key |\n")
    assert fresh.endswith("<!-- /tables -->\nfoot | stays\n")
    assert "| old |" not in fresh
    assert readme_tables.rewritten(fresh) == fresh


def test_every_table_has_one_row_of_three_cells(readme_tables):
    rows = readme_tables.table_of_tables().splitlines()[2:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [table.name for table in schemas.ALL]
    assert {row.count(" | ") for row in rows} == {2}
