"""Views and reports on a run of two cells, small enough to know every row."""

import pyarrow as pa
import pytest
from small_tables import connection_of, rows_of

from memlake.schemas import CELLS, QUESTIONS, REPRESENTATIONS, SCORES, SNAPSHOTS
from memlake.transforms.base.sql import sql_file, sql_files

# question: (stored in chunks, in observations, shown from chunks, from observations)
SURVIVES = {"q0": (1, 1, 1, 1), "q1": (1, 0, 1, 0), "q2": (1, 1, 1, 0), "q3": (1, 0, 0, 0), "q4": (0, 1, 0, 1)}


def score(cell, question, metric, value, kind="tokens", cutoff=1000, reason=None):
    return {
        "run_id": "r", "cell": cell, "question_id": question, "metric": metric, "value": value, "reason": reason,
        "cutoff_kind": kind, "cutoff": cutoff, "label_set": "official", "category": "1" if question < "q2" else "4",
    }  # fmt: skip


KINDS = [
    {"representation": "chunks", "kind": "chunks"},
    {"representation": "turns", "kind": "turns"},
    {"representation": "observations", "kind": "supplied"},
]


@pytest.fixture(scope="module")
def connection():
    scores = []
    for question, (chunks_stored, observed_stored, chunks_shown, observed_shown) in SURVIVES.items():
        for cell, stored, shown in (("a", chunks_stored, chunks_shown), ("b", observed_stored, observed_shown)):
            for part in ("all", "share"):
                scores.append(score(cell, question, f"store_survival_{part}", float(stored), "none", 0))
                scores.append(score(cell, question, f"answer_survival_{part}", float(shown)))
        scores.append(score("a", question, "evidence_recall_any", None, reason="no_valid_evidence"))
    asked = [
        {
            "question_id": name,
            "label_set": "official",
            "category": "another now",
            "position": place,
            "text": f"{name}?",
        }
        for place, name in enumerate(SURVIVES)
        if name != "q2"  # it was scored, and the corpus has lost it since
    ]
    with connection_of(
        scores=rows_of(SCORES, scores),
        questions=rows_of(QUESTIONS, asked),
        cells=rows_of(
            CELLS,
            [
                {"run_id": "r", "cell": "a", "representations": ["chunks"]},
                {"run_id": "r", "cell": "b", "representations": ["observations"]},
            ],
        ),
        representations=rows_of(REPRESENTATIONS, KINDS),
        snapshots=rows_of(
            SNAPSHOTS,
            [
                {"snapshot_id": "s1", "sequence": 1, "run_id": "older"},
                {"snapshot_id": "s2", "sequence": 2, "run_id": "r"},
                {"snapshot_id": "s3", "sequence": 3, "run_id": "an ingest"},
            ],
        ),
    ) as opened:
        yield opened


def report(connection, name, optional=(), **values):
    params = dict.fromkeys(optional) | values
    return connection.sql(sql_file("reports", name).text, params=params or None).to_arrow_table().to_pylist()


LOST = ("run_id", "representation", "against", "tokens", "label_set")


def test_questions_lost_only_as_observations_say_whether_they_were_stored(connection):
    rows = report(connection, "lost-only-as-observations", LOST, tokens="1000")
    assert [(row["question_id"], row["stored_lost"], row["kept_by"]) for row in rows] == [
        ("q1", True, ["chunks"]),
        ("q2", False, ["chunks"]),
    ]
    assert [(row["category"], row["question"]) for row in rows] == [("1", "q1?"), ("4", None)]


def test_whole_stores_can_be_compared_and_the_other_way_round(connection):
    stores = report(connection, "lost-only-as-observations", LOST)
    assert [row["question_id"] for row in stores] == ["q1", "q3"]
    turned = report(
        connection, "lost-only-as-observations", LOST, representation="chunks", against="observations", tokens="1000"
    )
    assert [row["question_id"] for row in turned] == ["q4"]


def test_only_means_that_every_verbatim_representation_keeps_it():
    kept = {"q1": {"a": 1, "t": 1, "b": 0}, "q2": {"a": 1, "t": 0, "b": 0}, "q3": {"a": 1, "t": 1, "b": 1}}
    scores = [
        score(cell, question, f"{where}_survival_all", float(value), kind, cutoff)
        for question, cells in kept.items()
        for cell, value in cells.items()
        for where, kind, cutoff in (("store", "none", 0), ("answer", "tokens", 1000))
    ]
    cells = [("a", "chunks"), ("t", "turns"), ("b", "observations")]
    with connection_of(
        scores=rows_of(SCORES, scores),
        cells=rows_of(CELLS, [{"run_id": "r", "cell": cell, "representations": [name]} for cell, name in cells]),
        representations=rows_of(REPRESENTATIONS, KINDS),
        snapshots=rows_of(SNAPSHOTS, [{"snapshot_id": "s", "sequence": 1, "run_id": "r"}]),
    ) as opened:
        found = report(opened, "lost-only-as-observations", LOST)
        assert [row["question_id"] for row in found] == ["q1"]
        found = report(opened, "lost-only-as-observations", LOST, against="chunks")
        assert [row["question_id"] for row in found] == ["q1", "q2"]


def test_survival_by_category_stands_by_representation(connection):
    rows = report(connection, "survival-by-category", ("run_id", "tokens", "label_set"))
    found = {(row["category"], row["cell"]): (row["stored_all"], row["shown_all"], row["n"]) for row in rows}
    assert found == {
        ("1", "a"): (1.0, 1.0, 2),
        ("1", "b"): (0.5, 0.5, 2),
        ("4", "a"): (pytest.approx(2 / 3), pytest.approx(1 / 3), 3),
        ("4", "b"): (pytest.approx(2 / 3), pytest.approx(1 / 3), 3),
    }
    assert rows[0]["representations"] == ["chunks"]
    assert report(connection, "survival-by-category", ("run_id", "tokens", "label_set"), tokens="500") == []


def test_the_latest_study_is_the_last_run_that_has_cells(connection):
    assert connection.sql("select run_id from latest_study").fetchall() == [("r",)]
    assert report(connection, "score-means", run_id="older") == []
    assert report(connection, "score-means", run_id=None) == report(connection, "score-means", run_id="r")


def test_scores_of_a_question_stand_side_by_side(connection):
    (row,) = (
        connection.sql(
            "select * from question_scores where cell = 'a' and question_id = 'q3' and cutoff_kind = 'tokens'"
        )
        .to_arrow_table()
        .to_pylist()
    )
    assert (row["category"], row["answer_survival_all"], row["store_survival_all"], row["evidence_recall_any"]) == (
        "4", 0.0, None, None,
    )  # fmt: skip


def test_the_source_of_a_chunk_is_cut_from_its_turns(clean):
    texts = dict(
        zip(
            clean["turns"]["conversation_id"].to_pylist()[:9],
            ["\n".join(f"{row['speaker']}: {row['text']}" for row in clean["turns"].to_pylist()[:9])] * 9,
            strict=True,
        )
    )
    with connection_of(**clean) as connection:
        for unit in (row for row in clean["units"].to_pylist() if row["span_start"] is not None):
            rows = report(connection, "chunk-source", unit_id=unit["unit_id"])
            assert all(row["is_exact"] for row in rows)
            if unit["conversation_id"] == "v":
                assert "".join(row["source"] for row in rows) == texts["v"][unit["span_start"] : unit["span_end"]]


def test_the_quality_of_an_extraction_is_counted(clean):
    with connection_of(**clean) as connection:
        (row,) = report(connection, "extraction-quality", ("representation",))
        assert report(connection, "extraction-quality", representation="artifacts") == [row]
        assert report(connection, "extraction-quality", representation="turns") == []
        made = clean["extractions"]
        cut = {"outcome": "failed", "reason": "cut"}
        failed = pa.Table.from_pylist(
            [{**extraction, **cut} for extraction in made.to_pylist()[:2]], schema=made.schema
        )
    assert (row["pieces"], row["extracted"], row["empty"], row["failed"], row["failed_by_reason"]) == (6, 6, 0, 0, None)
    # Of every session: three turns in two forms, one across two turns, one without a quote; one is said twice.
    assert (row["units"], row["calls"], row["repeats_in_pieces"], row["dropped"]) == (48, 6, 6, 0)
    assert row["units_per_turn"] == pytest.approx(48 / 18, abs=0.001)
    shares = [row[f"{name}_share"] for name in ("exact", "normalised", "fuzzy", "ungrounded")]
    assert sum(shares) == pytest.approx(1, abs=0.002)
    # 'N loud' and the like stand in each session of a conversation.
    texts = [
        (unit["conversation_id"], unit["kind"], unit["show_text"][unit["header_chars"] :].lower())
        for unit in clean["units"].to_pylist()
        if unit["representation"] == "artifacts"
    ]
    assert row["repeats_across_pieces"] == len(texts) - len(set(texts)) > 0
    with connection_of(**(clean | {"extractions": pa.concat_tables([made.slice(2), failed])})) as connection:
        (row,) = report(connection, "extraction-quality", ("representation",))
    assert (row["failed"], dict(row["failed_by_reason"])) == (2, {"cut": 2})


def test_an_overview_counts_each_corpus(clean):
    with connection_of(**clean) as connection:
        (row,) = report(connection, "corpus-overview")
    assert (row["corpus"], row["conversations"], row["sessions"], row["turns"]) == ("c", 2, 6, 18)
    assert (row["questions"], row["questions_with_gold"], row["label_sets"]) == (2, 2, ["official"])
    assert dict(row["units"])["turns"] == 18


def test_coverage_of_evidence_is_the_ceiling_of_recall(clean):
    kept = clean["provenance"].filter(pa.compute.field("representation") != "sessions")
    with connection_of(**(clean | {"provenance": kept})) as connection:
        rows = connection.sql("select * from evidence_coverage").to_arrow_table().to_pylist()
    found = {row["representation"]: (row["questions"], row["questions_with_any"], row["fraction"]) for row in rows}
    assert found["turns"] == (2, 2, 1.0)
    assert found["sessions"] == (2, 0, 0.0)


def test_every_report_runs_on_an_empty_lake():
    with connection_of() as connection:
        for file in sql_files("reports"):
            wanted = connection.extract_statements(file.text)[0].named_parameters
            assert report(connection, file.name, wanted) == []


def test_what_is_lost_is_told_by_corpus():
    scores = [
        score(cell, "q1", "store_survival_all", value, "none", 0) | {"corpus": corpus}
        for corpus in ("z", "c")
        for cell, value in (("a", 1.0), ("b", 0.0))
    ]
    cells = [("a", "chunks"), ("b", "observations")]
    with connection_of(
        scores=rows_of(SCORES, scores),
        cells=rows_of(
            CELLS,
            [
                {"run_id": "r", "cell": cell, "corpus": corpus, "representations": [name]}
                for cell, name in cells
                for corpus in ("c", "z")
            ],
        ),
        representations=rows_of(REPRESENTATIONS, KINDS),
        snapshots=rows_of(SNAPSHOTS, [{"snapshot_id": "s", "sequence": 1, "run_id": "r"}]),
    ) as opened:
        found = report(opened, "lost-only-as-observations", LOST)
    assert [(row["corpus"], row["question_id"]) for row in found] == [("c", "q1"), ("z", "q1")]
