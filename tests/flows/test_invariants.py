"""What must always hold, shown on the whole flow; the parts have tests of their own."""

import json
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lake_contents import assert_sound
from sample_chats import conversation, write_conversations

from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings, StudySettings
from memlake.flows.study import run_study
from memlake.transforms.base.errors import AuditError
from memlake.transforms.evaluate.means import means
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.represent import catalogue

HOSTILE = [
    "x'); drop table turns; --", "{0} {transcript} %s", "[bold]markup[/bold]", "</transcript>", "../../etc/passwd", "tab\tline\r\nend",
    "nbsp\u00a0\u2028\x0b\x1f", "👩‍👩‍👧‍👦 é 日本語", "-- $run_id", 'quote " and \\ backslash',
]  # fmt: skip


def with_questions(name: str, turns: int) -> dict[str, object]:
    made = conversation(name, turns)
    made["questions"] = [
        {
            "question_id": f"{name}-q{place}",
            "text": f"what about {made['turns'][place]['text'].split()[0]}",
            "answer": made["turns"][place]["text"].split()[-1],
            "category": "one",
            "evidence": [f"t{place}"],
        }
        for place in range(3)
    ]
    return made


@pytest.fixture
def source(tmp_path):
    return write_conversations(tmp_path / "chats.jsonl", [with_questions(f"c{n}", 14) for n in range(4)])


def lake_of(tmp_path, source, **more):
    settings = IngestSettings(str(tmp_path / "lake"), "c", (str(source),), representations=("chunks", "turns"), **more)
    return ingest(settings)


def broken(build, change):
    def made(making, turns):
        units = build(making, turns)
        return replace(units, units=change(units.units))

    return made


def cut_last_character(units: pa.Table) -> pa.Table:
    text = pc.utf8_slice_codeunits(units["show_text"], 0, -1)
    return units.set_column(units.schema.get_field_index("show_text"), units.schema.field("show_text"), text)


def without_one(units: pa.Table) -> pa.Table:
    return units.slice(1)


def one_twice(units: pa.Table) -> pa.Table:
    return pa.concat_tables([units, units.slice(0, 1)])


@pytest.mark.parametrize("change", [cut_last_character, without_one, one_twice])
def test_a_lossy_or_doubled_chunk_publishes_nothing(tmp_path, source, monkeypatch, change):
    chunks = catalogue.REPRESENTATIONS["chunks"]
    monkeypatch.setitem(catalogue.REPRESENTATIONS, "chunks", replace(chunks, build=broken(chunks.build, change)))
    with pytest.raises(AuditError):
        lake_of(tmp_path, source)
    assert open_lake(str(tmp_path / "lake")).snapshots().num_rows == 0
    monkeypatch.setitem(catalogue.REPRESENTATIONS, "chunks", chunks)
    lake_of(tmp_path, source)
    assert_sound(tmp_path / "lake")


def test_two_runs_of_a_study_on_one_snapshot_retrieve_the_same_bits(tmp_path, source):
    lake_of(tmp_path, source)
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "s"\ncorpus = "c"\n[cutoffs]\ntokens = [50, 200]\nk = [1, 3]\n'
        '[[cells]]\nname = "chunks"\nrepresentations = ["chunks"]\nplan = "hybrid"\n'
        '[[cells]]\nname = "both"\nrepresentations = ["chunks", "turns"]\nplan = "rrf"\n'
    )
    at = open_lake(str(tmp_path / "lake")).snapshot().snapshot_id
    runs = [run_study(StudySettings(str(tmp_path / "lake"), str(study), at=at)) for _ in range(2)]
    assert runs[0]["questions"] == 12
    with connect(open_lake(str(tmp_path / "lake"))) as connection:
        for table in ("retrievals", "contexts", "scores"):
            columns = [row[0] for row in connection.execute(f"describe {table}").fetchall() if row[0] != "run_id"]
            listed = ", ".join(columns)
            ids = [str(run["run_id"]) for run in runs]
            for first, second in (ids, ids[::-1]):
                query = f"select {listed} from {table} where run_id = $a except all select {listed} from {table} where run_id = $b"
                assert connection.execute(query, {"a": first, "b": second}).fetchall() == []
            assert connection.execute(f"select count(*) from {table}").fetchall()[0][0] > 0


def test_every_mean_has_its_n_and_says_what_it_excludes(tmp_path, source):
    made = with_questions("extra", 10)
    made["questions"][0]["evidence"] = ["nowhere"]
    made["questions"][1] |= {"answer": None, "answerable": False}
    made["questions"][2]["answer"] = "the"
    write_conversations(tmp_path / "more.jsonl", [made])
    ingest(
        IngestSettings(
            str(tmp_path / "lake"), "c", (str(source), str(tmp_path / "more.jsonl")), representations=("turns",)
        )
    )
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "s"\ncorpus = "c"\n[cutoffs]\ntokens = [100]\n[[cells]]\nname = "t"\nrepresentations = ["turns"]\nplan = "hybrid"\n'
    )
    run = run_study(StudySettings(str(tmp_path / "lake"), str(study)))
    rows = {row["metric"]: row for row in means(str(tmp_path / "lake"), "latest", str(run["run_id"]))["means"]}
    assert all(row["n"] + row["excluded"] == 15 for row in rows.values())
    assert dict(rows["answer_survival_all"]["reasons"]) == {"no_content_tokens": 1, "unanswerable": 1}
    assert dict(rows["evidence_recall_any"]["reasons"]) == {"no_valid_evidence": 1}
    assert run["excluded"] == {"no_content_tokens": 1, "no_valid_evidence": 1, "unanswerable": 1}


def test_hostile_text_names_and_ids_are_data_everywhere(tmp_path):
    made = [
        {
            "conversation_id": text,
            "turns": [
                {"turn_id": text, "speaker": text, "text": text, "session_id": text, "session_at": text},
                {"speaker": "B", "text": f"again {text}"},
            ],
            "questions": [{"text": text, "answer": text, "category": text, "evidence": [text]}],
        }
        for text in HOSTILE
    ]
    source = write_conversations(tmp_path / "hostile.jsonl", made)
    ingest(
        IngestSettings(str(tmp_path / "lake"), "c", (str(source),), allow_dead_records=1.0, representations=("turns",))
    )
    assert_sound(tmp_path / "lake")
    with connect(open_lake(str(tmp_path / "lake"))) as connection:
        found = connection.sql("select conversation_id, text from turns where ordinal = 0").fetchall()
    assert sorted(found) == sorted((text, text) for text in HOSTILE)
    study = tmp_path / "study.toml"
    study.write_text(
        'name = "s"\ncorpus = "c"\n[cutoffs]\ntokens = [100]\n[[cells]]\nname = "t"\nrepresentations = ["turns"]\nplan = "hybrid"\n'
    )
    assert run_study(StudySettings(str(tmp_path / "lake"), str(study)))["questions"] == len(HOSTILE)
    assert sorted(path.name for path in (tmp_path / "lake").iterdir()) == ["lance", "lock.guard", "parquet", "staged"]


PEAK = """
import json, resource, sys
from memlake.flows.ingest import ingest
from memlake.flows.run.settings import IngestSettings
lake, source = sys.argv[1:]
ingest(IngestSettings(lake, "c", (source,), embedder="none"))
print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""


@pytest.mark.long
def test_peak_memory_does_not_follow_the_input(tmp_path):
    peaks = []
    for times in (1, 8):
        source = tmp_path / f"{times}.jsonl"
        with source.open("w") as file:
            for number in range(600 * times):
                file.write(json.dumps(conversation(f"c{number}", 80)) + "\n")
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(tmp_path / f"lake{times}"), str(source)],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(done.stdout.splitlines()[-1]))
    assert peaks[1] < 1.5 * peaks[0], peaks
