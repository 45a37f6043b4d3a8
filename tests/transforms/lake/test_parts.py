"""Parts: one table says what each is called, what it owns and what it is made from; nothing else knows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from memlake.schemas import ALL, TABLES
from memlake.schemas.vectors import representation_of, vectors_table
from memlake.transforms.lake.commit.changes import table_keys, vector_keys
from memlake.transforms.lake.storage.parts import (
    FORGOTTEN_PART,
    LINKS_PART,
    PART_KINDS,
    QUESTIONS_PART,
    TURNS_PART,
    UNITS_PART,
    VECTORS_PART,
    kind_of_part,
    owners_of,
    part_names,
    sources_of,
)

REPOSITORY = Path(__file__).parents[3]
HOME = "transforms/lake/storage/parts.py"
# The start of a part's name, as it would be written where it is put together or taken apart; prose has a space there.
WRITTEN = re.compile(rf"({'|'.join(kind.name for kind in PART_KINDS if kind.columns)}):(\S|$)")
IN_SQL = re.compile(rf"'({'|'.join(kind.name for kind in PART_KINDS if kind.columns)}):")
# As they stand in lakes since the first version.
NAMES = {
    "turns": (TURNS_PART, ()),
    "questions:official": (QUESTIONS_PART, ("official",)),
    "questions:by: Ann": (QUESTIONS_PART, ("by: Ann",)),
    "units:chunks-s300-o0": (UNITS_PART, ("chunks-s300-o0",)),
    "vectors:chunks__static": (VECTORS_PART, ("chunks__static",)),
    "links:chunks:similar": (LINKS_PART, ("chunks", "similar")),
    "forgotten": (FORGOTTEN_PART, ()),
}


def table_of(*parts: str) -> pa.Table:
    names = pa.array(["v"] * len(parts), pa.string())
    return pa.table({"conversation_id": names, "part": pa.array(parts, pa.string())})


@pytest.mark.parametrize("part", NAMES)
def test_a_part_is_called_as_it_always_was_and_its_name_says_what_it_is(part: str):
    kind, values = NAMES[part]
    assert kind.named(*values) == part
    assert (kind_of_part(part), kind.values_of(part)) == (kind, values)
    assert [other for other in PART_KINDS if other.among(table_of(part)).num_rows] == [kind]
    [row] = kind.among(table_of(part)).to_pylist()
    assert tuple(row[name] for name in kind.columns) == values
    [said] = part_names(pa.array([part, part])).to_pylist()
    assert {name: value for name, value in said.items() if value is not None} == {
        "part": part,
        "kind": kind.name,
        **dict(zip(kind.columns, values, strict=True)),
    }


def test_a_part_is_made_from_those_whose_replacement_makes_it_stale():
    assert {part: sources_of(part) for part in NAMES} == {
        "turns": (),
        "questions:official": ("turns",),
        "questions:by: Ann": ("turns",),
        "units:chunks-s300-o0": ("turns",),
        "vectors:chunks__static": ("units:chunks", "turns"),
        "links:chunks:similar": ("units:chunks", "turns"),
        "forgotten": (),
    }
    assert representation_of(vectors_table("chunks-a", "openai:some/model")) == "chunks-a"


def test_every_table_of_conversations_is_owned_and_a_part_takes_its_rows_out_of_all_of_them():
    owned = {table.name: owners_of(table.name) for table in ALL}
    assert {name for name, kinds in owned.items() if kinds} == {
        *("conversations", "turns", "questions", "evidence", "units", "provenance", "links", "extractions"),
    }
    # A folder of the table, or a column of its rows: nothing that a part's name says is lost.
    for kind in PART_KINDS:
        assert all(set(kind.columns) <= set(TABLES[name].schema.names) for name in kind.tables)
    keys = table_keys(table_of(*NAMES), "c")
    assert {name: [(key.columns, dict(key.partition)) for key in some] for name, some in keys.items()} == {
        "conversations": [(("conversation_id",), {"corpus": "c"})],
        "turns": [(("conversation_id",), {"corpus": "c"})],
        "questions": [(("conversation_id", "label_set"), {"corpus": "c"})],
        "evidence": [(("conversation_id", "label_set"), {"corpus": "c"})],
        **{
            name: [(("conversation_id",), {"corpus": "c", "representation": "chunks-s300-o0"})]
            for name in ("units", "provenance", "extractions")
        },
        "links": [
            (("conversation_id",), {"corpus": "c", "representation": "chunks-s300-o0"}),
            (("conversation_id", "relation"), {"corpus": "c", "representation": "chunks"}),
        ],
        "parts": [(("conversation_id", "part"), {"corpus": "c"})],
    }
    assert {name: names.to_pylist() for name, names in vector_keys(table_of(*NAMES)).items()} == {
        "chunks__static": ["v"]
    }


def prefixes(root: Path) -> Iterator[str]:
    """Where the product writes the beginning of a part's name, as 'path: text'; prose does not count."""
    for path in sorted(path for folder in ("transforms", "flows", "sql") for path in (root / folder).rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".sql" and IN_SQL.search(path.read_text(encoding="utf-8")):
            yield name
        if path.suffix != ".py" or name == HOME:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        yield from (f"{name}: {text}" for text in texts if isinstance(text, str) and WRITTEN.match(text))


def test_nothing_but_the_table_of_parts_writes_the_beginning_of_a_name():
    assert list(prefixes(REPOSITORY)) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("transforms/a.py", 'part = f"units:{name}"'),
        ("transforms/a.py", 'is_vectors = part.startswith("vectors:")'),
        ("flows/a.py", 'part = "questions:" + labels'),
        ("sql/audits/a.sql", "select 'links:' || representation from links"),
        ("sql/audits/a.sql", "select part from parts where part like 'units:%'"),
    ],
)
def test_a_prefix_that_is_written_elsewhere_is_found(tmp_path: Path, path: str, text: str):
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text)
    assert len(list(prefixes(tmp_path))) == 1
