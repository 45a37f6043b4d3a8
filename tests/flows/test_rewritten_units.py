"""The commands in the head of the study locomo-artifacts: Parquet files of another system's extraction become units."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake_contents import assert_sound
from sample_chats import write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.query.statement import write
from memlake.transforms.lake.storage.lake import open_lake

STUDY = Path(__file__).parents[2] / "flows/studies/locomo-artifacts.toml"
TALK = {
    "conversation_id": "k1",
    "turns": [
        {"turn_id": "D1:1", "speaker": "Ida", "text": "I fixed it.", "session_id": "a", "session_at": "2025-01-02"},
        {"turn_id": "D2:1", "speaker": "Ole", "text": "Which one, {she} asked?", "session_id": "b"},
    ],
}


def queries(folder: Path) -> dict[str, str]:
    """The documented queries by the file that they write, reading the Parquet files of a folder."""
    head = "\n".join(line[2:] for line in STUDY.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
    found = re.findall(r'memlake sql "(.*?)" --out (\S+)', head, re.DOTALL)
    return {out: re.sub(r"'(\w+\.parquet)'", lambda name: f"'{folder / name[1]}'", query) for query, out in found}


def bring(lake: Path, parquet: Path, folder: Path, corpus: str = "locomo") -> dict[str, dict[str, object]]:
    """Run every documented query and ingest what it wrote."""
    made = {}
    for out, query in queries(parquet).items():
        with connect(open_lake(str(lake))) as connection:
            write(connection, query, {}, folder / out)
        made[out] = ingest(IngestSettings(str(lake), corpus, (str(folder / out),), embedder="none"))
    return made


def rows(lake: Path, query: str) -> list[tuple]:
    with connect(open_lake(str(lake))) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    """Files of the layout that the queries read, in our own words."""
    folder = tmp_path / "parquet"
    folder.mkdir()
    turn = {"conversation": ["k1", "k1"], "turn_id": ["D1:1", "D2:1"]}
    texts = ["Ida fixed the pump on 2 January 2025.", "Which pump, {Ole} asked?"]
    tables = {
        "turns": {**turn, "session": [1, 2], "position": [0, 1], "text_normalized": texts, "changed": [True, False]},
        "entities": {
            "conversation": ["k1", "k1"],
            "entity_key": ["pump", "ida"],
            "value": ["the pump", "Ida"],
            "type": ["What", "Who"],
            "merged_from": [["pump"], ["Ida"]],
        },
        "mentions": {
            "conversation": ["k1"] * 3,
            "entity_key": ["pump", "pump", "ida"],
            "turn_id": ["D2:1", "D1:1", "D1:1"],
        },
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


def test_rewritten_turns_and_entities_land_with_the_turns_that_they_came_from(tmp_path, parquet):
    lake = tmp_path / "lake"
    source = write_conversations(tmp_path / "talk.jsonl", [TALK])
    ingest(IngestSettings(str(lake), "locomo", (str(source),), embedder="none"))
    bring(lake, parquet, tmp_path)
    found = rows(
        lake,
        "select representation, kind, show_text, speaker, attributes, session_id from units"
        " where representation like 'gpt35%' order by representation desc, ordinal",
    )
    assert [(*row[:4], json.loads(row[4]), row[5]) for row in found] == [
        (
            "gpt35_turns",
            "turn",
            "[2025-01-02T00:00] Ida: Ida fixed the pump on 2 January 2025.",
            "Ida",
            {"changed": True},
            "a",
        ),
        ("gpt35_turns", "turn", "Ole: Which pump, {Ole} asked?", "Ole", {"changed": False}, "b"),
        ("gpt35_entities", "entity", "[2025-01-02T00:00] Ida", None, {"entity_key": "ida", "type": "Who"}, "a"),
        ("gpt35_entities", "entity", "the pump", None, {"entity_key": "pump", "type": "What"}, None),
    ]
    assert rows(
        lake,
        "select units.ordinal, provenance.turn_id from units join provenance using (corpus, representation, unit_id)"
        " where units.representation = 'gpt35_entities' order by 1, provenance.piece",
    ) == [(0, "D1:1"), (1, "D1:1"), (1, "D2:1")]
    assert_sound(lake)
    assert [made["snapshot_id"] for made in bring(lake, parquet, tmp_path).values()] == [None, None]


@pytest.mark.long
def test_the_real_extraction_lands_whole(tmp_path, shared_data):
    lake = tmp_path / "lake"
    source = shared_data / "locomo/locomo10.json"
    ingest(IngestSettings(str(lake), "locomo", (str(source),), embedder="none"))
    made = bring(lake, shared_data / "locomo/extracted_gpt35", tmp_path)
    assert [result["dead_letters"] for result in made.values()] == [{}, {}]
    assert rows(
        lake,
        "select representation, count(*), count(distinct unit_id) from provenance"
        " where representation like 'gpt35%' group by all order by all",
    ) == [("gpt35_entities", 34402, 12748), ("gpt35_turns", 5882, 5882)]
