"""A metric is one card: what is scored has one, every card is scored as it says, and a new one needs nothing else."""

import pytest
from answered_runs import context, question, run_tables, said, source_tokens, unit_tokens, verdict
from reported_runs import RUN, reported
from small_tables import connection_of, rows_of

from memlake.flows.cli.printing.studies import layout
from memlake.schemas import EVIDENCE, PROVENANCE, RETRIEVALS, SCORES
from memlake.schemas.metrics import METRICS, Metric
from memlake.transforms.evaluate.means import Means
from memlake.transforms.report.page.page import page
from memlake.transforms.score.scores import TEXT_METRICS, TextMetric, evaluate
from memlake.transforms.score.statistics.statistics import statistics_of
from memlake.transforms.study.parse import parse_study

TOY = Metric("loudness", "Answers that shout", "A toy of this test.", "answer", yes_or_no=True, table=7, figure=8)


def scored():
    """Scores of a run in which every metric has a value: two questions of two options, asked, answered and judged."""
    asked = [question(name, options=["red car", "bike"]) for name in ("q", "p")]
    answers = [said("q", "A", option=0), said("p", "none", abstained=True)]
    contexts = [
        context(name, "red", cutoff_kind=kind, cutoff=cutoff)
        for name in ("q", "p")
        for kind, cutoff in (("tokens", 500), ("k", 1))
    ]
    tables = run_tables(asked, answers, [verdict("q", True), verdict("p", None)], contexts)
    unit = {"representation": "notes", "unit_id": "u1"}
    tables["evidence"] = rows_of(
        EVIDENCE,
        [
            {"question_id": name, "label_set": "official", "turn_id": "t0", "ordinal": 0, "status": "valid"}
            for name in ("q", "p")
        ],
    )
    tables["provenance"] = rows_of(
        PROVENANCE,
        [unit | {"turn_id": "t0", "ordinal": 0, "char_start": 0, "char_end": 10, "touches_text": True}],
    )
    tables["retrievals"] = rows_of(
        RETRIEVALS,
        [unit | {"run_id": "r", "cell": "c1", "question_id": name, "rank": 1} for name in ("q", "p")],
    )
    with connection_of(**tables) as connection:
        return evaluate(
            connection, "r", unit_tokens=unit_tokens("red"), source_tokens=[source_tokens("red", "car")]
        ).scores


def test_every_metric_that_is_scored_has_a_card_and_every_card_is_scored():
    rows = scored().to_pylist()
    assert {row["metric"] for row in rows} == set(METRICS)
    assert {row["metric"] for row in rows if row["value"] is not None} == set(METRICS)
    assert all(card.name == name for name, card in METRICS.items())


def test_values_and_cutoffs_are_those_that_the_card_says():
    for row in scored().to_pylist():
        card = METRICS[row["metric"]]
        assert row["cutoff_kind"] in card.cutoffs
        assert bool(row["judge"]) == (card.of == "verdict")
        if row["value"] is not None:
            assert 0 <= row["value"] <= card.highest * (1 + 1e-9)
            assert row["value"] in (0, 1) or not card.yes_or_no


def test_question_scores_has_a_column_for_each_card_that_says_what_it_is():
    with connection_of(scores=scored()) as connection:
        [row] = (
            connection.sql("from question_scores where question_id = 'q' and judge = '' and cutoff_kind = 'k'")
            .to_arrow_table()
            .to_pylist()
        )
        comments = dict(
            connection.execute(
                "select column_name, comment from duckdb_columns() where table_name = 'question_scores'"
            ).fetchall()
        )
    assert list(row)[-len(METRICS) :] == list(METRICS)
    assert (row["mrr"], row["answer_survival_share"], row["bleu"]) == (1.0, 0.5, None)
    assert (
        comments["bleu"]
        == "BLEU of the answer against the gold answer; 0 to 100, higher is better; of each answer, cutoff tokens or k"
    )
    assert comments["run_id"] is None


@pytest.fixture
def toy(monkeypatch):
    """A metric that is added by its card and its function, and by nothing else."""
    monkeypatch.setitem(METRICS, TOY.name, TOY)
    monkeypatch.setitem(TEXT_METRICS, TOY.name, TextMetric(lambda _, asked, __: float(asked.said.isupper())))


def test_a_metric_is_added_by_its_function_and_its_card_alone(toy):
    texts = {("c1", "q"): "RED CAR", ("c2", "q"): "red car", ("c1", "p"): "RED", ("c2", "p"): "BIKE"}
    answers = [said(name, text, cell=cell) for (cell, name), text in texts.items()]
    tables = run_tables([question("q"), question("p")], answers)
    with connection_of(**tables) as connection:
        scores = evaluate(connection, "r", unit_tokens=unit_tokens()).scores
        connection.register("scores", scores)
        columns = connection.sql("select cell, question_id, loudness from question_scores order by all").fetchall()
    assert columns == [("c1", "p", 1.0), ("c1", "q", 1.0), ("c2", "p", 1.0), ("c2", "q", 0.0)]

    study = parse_study(STUDY, source="test")
    statistics = statistics_of(scores, tables["judgements"], study, run_id="r").to_pylist()
    found = {row["statistic"]: row for row in statistics if row["comparison"] == "loud against soft"}
    assert (found["difference"]["value"], found["difference"]["only_a"]) == (0.5, 1)
    assert found["mcnemar"]["p"] == 1.0


STUDY = """
name = "loud"
corpus = "c"
[cutoffs]
tokens = [500]
[answers]
tokens = [500]
[readers.extractive]
kind = "extractive"
[judges.match]
kind = "match"
[[cells]]
name = "c1"
representations = ["notes"]
plan = "lexical"
reader = "extractive"
[[cells]]
name = "c2"
representations = ["notes"]
plan = "dense"
reader = "extractive"
[headline]
metric = "loudness"
cutoff_kind = "tokens"
cutoff = 500
[[comparisons]]
name = "loud against soft"
a = "c1"
b = "c2"
"""


def test_the_words_of_a_metric_in_tables_and_pages_are_those_of_its_card(toy):
    at = {"label_set": "official", "cutoff_kind": "tokens", "cutoff": 500, "judge": "", "corpus": "c", "cell": "c1"}
    mean = {**at, "metric": "loudness", "category": None, "mean": 0.5, "n": 1, "excluded": 1, "reasons": {"cut": 1}}
    means = Means(
        run_id="r", study="s", corpora=["c"], questions=2, forgotten=0, means=[mean], published=[], empty_contexts=[]
    )
    assert layout(means)[0][0].startswith("Answers that shout (loudness")

    run = reported()
    text = run.text.replace('"judge_accuracy"', '"loudness"').replace('judge = "match"\n[readers', "[readers")
    run.study = parse_study(text, source="test")
    loud = [row for row in run.tables["scores"].to_pylist() if row["metric"] == "answer_survival_all"]
    extra = [row | {"metric": "loudness"} for row in loud if row["cutoff"] == 100]
    run.tables["scores"] = rows_of(SCORES, run.tables["scores"].to_pylist() + extra)
    run.tables["statistics"] = statistics_of(run.tables["scores"], run.tables["judgements"], run.study, run_id=RUN)
    made = page(run.document(forgotten={}))
    assert "Answers that shout, c" in made
    assert "A toy of this test." in made
