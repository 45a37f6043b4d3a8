"""The Python API that the README shows."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

import memlake
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.lake.storage.lake import Lake, open_lake


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lake of one conversation, whose only snapshot is tagged."""
    folder = tmp_path_factory.mktemp("api")
    line = {"conversation_id": "c", "turns": [{"text": "Hello.", "speaker": "Ana"}, {"text": "Hi.", "speaker": "Ben"}]}
    (folder / "one.jsonl").write_text(json.dumps(line) + "\n")
    ingest(IngestSettings(str(folder / "lake"), "team", (str(folder / "one.jsonl"),)))
    open_lake(str(folder / "lake")).tag("before-cleaning")
    return folder


@pytest.fixture
def lake(folder: Path) -> Lake:
    return memlake.open(str(folder / "lake"))


def test_a_table_comes_in_its_declared_schema(lake: Lake):
    turns = memlake.table(lake, "turns", columns=["conversation_id", "text"])
    assert turns.column_names == ["conversation_id", "text"]
    assert sorted(turns["text"].to_pylist()) == ["Hello.", "Hi."]
    assert memlake.table(lake, "snapshots").num_rows == 1
    assert sorted(memlake.table(lake, "runs")["event"].to_pylist()) == ["ended", "started"]


def test_sql_binds_parameters_and_only_reads(lake: Lake):
    rows = memlake.sql(lake, "select text from turns where speaker = $who", parameters={"who": "Ana"})
    assert rows.to_pylist() == [{"text": "Hello."}]
    with pytest.raises(memlake.UsageError):
        memlake.sql(lake, "drop view turns")


def test_unknown_names_say_what_there_is(lake: Lake, tmp_path: Path):
    with pytest.raises(memlake.NotFoundError, match="tables: conversations, turns"):
        memlake.table(lake, "turn")
    with pytest.raises(memlake.NotFoundError, match="column='txt' is not in table=turns"):
        memlake.table(lake, "turns", columns=["txt"])
    with pytest.raises(memlake.NotFoundError, match="does not exist"):
        memlake.open(str(tmp_path / "nowhere"))
    with pytest.raises(memlake.NotFoundError, match="snapshot='nope' is unknown"):
        memlake.at(lake, "nope")


def test_the_readme_s_python_runs(folder: Path, monkeypatch: pytest.MonkeyPatch):
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert code is not None
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    exec(compile(code[1], "README.md", "exec"), names)
    assert isinstance(names["turns"], pa.Table)
    assert names["rows"].to_pylist() == [{"corpus": "team", "turns": 2}]
    assert "turns" in names["pins"]
