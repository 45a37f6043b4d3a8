"""The report as data: its numbers are those of `statistics`, and every question shows what was stored, found and said."""

import json
import re

import pyarrow.compute as pc
import pytest
from reported_runs import ASKED, SAID, reported
from small_tables import rows_of

from memlake.schemas import SCORES
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.jsonable import jsonable
from memlake.transforms.report.data.report import report_document
from memlake.transforms.report.page.figures import categories
from memlake.transforms.report.page.html import LOSSES
from memlake.transforms.report.page.losses import costs, losses
from memlake.transforms.report.page.page import page


@pytest.fixture(scope="module")
def run():
    return reported()


@pytest.fixture(scope="module")
def document(run):
    return run.document()


def question(document, name):
    found = [
        (conversation, q)
        for conversation in document["browser"]["conversations"]
        for q in conversation["questions"]
        if q["question_id"] == name
    ]
    return found[0]


def test_every_mean_that_is_shown_is_a_row_of_statistics(run, document):
    rows = {
        (row["cell_a"], row["metric"], row["cutoff"], row["judge"], row["slice"]): row
        for row in run.tables["statistics"].to_pylist()
        if row["statistic"] == "mean"
    }
    shown = [
        ((line["cell"], curve["metric"], point["cutoff"], curve["judge"], "all"), point)
        for curve in document["curves"]
        for line in curve["lines"]
        for point in line["points"]
    ]
    shown += [
        ((cell["cell"], "judge_accuracy", 100, "match", f"category={category['category']}"), category)
        for figure in document["categories"]
        for cell in figure["cells"]
        for category in cell["categories"]
    ]
    assert len(shown) > 12
    for key, found in shown:
        row = rows[key]
        assert [found[name] for name in ("value", "low", "high", "n", "excluded")] == [
            row[name] for name in ("value", "low", "high", "n", "excluded_a")
        ]


def test_the_headline_is_the_comparison_that_the_study_lists_first():
    more = "".join(f'[[comparisons]]\nname = "{name}"\na = "chunks"\nb = "{name}"\n' for name in ("summary", "random"))
    found = reported(more=more).document()
    assert [comparison["name"] for comparison in found["headline"]["compared"]] == ["summary"]
    assert [comparison["name"] for comparison in found["controls"]] == ["summary", "random"]


def test_a_curve_stands_at_the_tokens_that_its_contexts_hold_and_names_the_bound(document):
    curve = next(curve for curve in document["curves"] if curve["metric"] == "answer_survival_all")
    assert {line["cell"]: line["control"] for line in curve["lines"]} == {
        "chunks": "",
        "summary": "",
        "random": "random",
    }
    assert [(point["cutoff"], point["tokens"]) for point in curve["lines"][0]["points"]] == [(100, 10.0), (200, 20.0)]


def test_the_headlines_metric_and_judge_lead_the_figures(document):
    assert [(curve["metric"], curve["judge"]) for curve in document["curves"]][:2] == [
        ("judge_accuracy", "match"),
        ("judge_accuracy", "exact"),
    ]


def test_a_bar_counts_every_verdict_once_and_those_that_failed_apart(document):
    bars = {(bar["cell"], bar["judge"]): bar for bar in document["losses"]}
    assert all(sum(bar["counts"].values()) == bar["judged"] for bar in bars.values())
    assert bars["summary", "match"]["counts"] == {"correct": 0, "not_stored": 4}
    assert bars["chunks", "exact"]["counts"] == {"correct": 0, "misread": 4}
    assert bars["chunks", "exact"]["disputed"] == 4
    assert (bars["random", "exact"]["judged"], bars["random", "exact"]["excluded"]) == (0, 4)
    assert {name for bar in bars.values() for name in bar["counts"]} <= set(LOSSES)


def test_a_wrong_verdict_without_a_loss_is_counted_and_not_classified():
    again = reported()
    again.tables["losses"] = again.tables["losses"].slice(0, 0)
    bar = next(bar for bar in again.document()["losses"] if bar["cell"] == "summary")
    assert bar["counts"] == {"correct": 0, "unclassified": 4}


def test_without_a_reader_answers_are_split_by_what_is_stored_and_shown():
    split = {row["cell"]: row for row in reported(reader=False).document()["survival_split"]}
    assert (split["chunks"]["shown"], split["chunks"]["not_stored"]) == (1.0, 0.0)
    assert (split["random"]["shown"], split["random"]["stored_not_shown"]) == (0.0, 1.0)
    assert split["summary"]["not_stored"] == 1.0


def test_shares_of_the_split_are_counted_by_question_and_are_no_difference_of_means():
    """One question is shown whole, one is not scored in its context: the mean of the store would count both."""
    run = reported(reader=False)
    rows = run.tables["scores"].to_pylist()
    for row in rows:
        if (row["cell"], row["metric"], row["cutoff"]) == ("summary", "answer_survival_all", 100):
            row["value"] = None if row["question_id"] == "v:q0" else row["value"]
        if (row["cell"], row["metric"], row["question_id"]) == ("summary", "store_survival_all", "w:q1"):
            row["value"] = 1.0
    run.tables["scores"] = rows_of(SCORES, rows)
    (row,) = (split for split in run.document()["survival_split"] if split["cell"] == "summary")
    assert (row["n"], row["excluded"], row["why"]) == (3, 1, "")
    assert (row["shown"], row["stored_not_shown"], row["not_stored"]) == (0.0, 1 / 3, 2 / 3)


@pytest.mark.parametrize("step", ['{ step = "merge" }', '{ step = "project" }', '{ step = "show", text = "key" }'])
def test_a_cell_whose_plan_shows_other_text_than_it_searched_is_not_split_and_says_so(step):
    plan = f'[plans.other]\nsteps = [{{ step = "seed_lexical" }}, {{ step = "rank" }}, {step}, {{ step = "pack" }}]\n'
    cells = (("plain", "chunks", "lexical"), ("other", "chunks", "other"))
    split = {row["cell"]: row for row in reported(reader=False, cells=cells, more=plan).document()["survival_split"]}
    assert (split["plain"]["shown"], split["plain"]["why"]) == (1.0, "")
    assert split["other"]["shown"] is None
    assert split["other"]["why"].startswith("its plan shows other text than it searched (")


def test_a_cell_whose_context_holds_what_its_units_do_not_is_not_split_and_says_so():
    run = reported(reader=False)
    rows = run.tables["scores"].to_pylist()
    for row in rows:
        if (row["cell"], row["metric"], row["question_id"]) == ("chunks", "store_survival_all", "v:q0"):
            row["value"] = 0.0
    run.tables["scores"] = rows_of(SCORES, rows)
    (row,) = (split for split in run.document()["survival_split"] if split["cell"] == "chunks")
    assert (row["shown"], row["why"]) == (None, "1 contexts hold an answer that its units do not")


def test_a_cell_that_is_shown_at_another_cutoff_names_it_wherever_it_stands():
    more = '[[cells]]\nname = "own"\nrepresentations = ["chunks"]\nplan = "lexical"\nreader = "extractive"\n'
    more += "cutoffs = { tokens = [200] }\nanswers = { tokens = [200] }\n"
    found = reported(more=more).document()
    (split,) = (row for row in found["survival_split"] if row["cell"] == "own")
    (category,) = (cell for cell in found["categories"][0]["cells"] if cell["cell"] == "own")
    (point,) = (point for point in found["costs"]["points"] if point["cell"] == "own")
    assert [split["at"]["cutoff"], category["cutoff"], point["cutoff"]] == [200] * 3
    assert "own, 200 tokens" in losses(found)
    for part in (categories, costs):
        assert "own, 200 tokens" in part(found)
        assert ">own<" not in part(found)


def test_questions_that_were_forgotten_since_are_told_apart_by_what_counts_them():
    run = reported()
    for name in ("scores", "judgements", "losses", "contexts", "retrievals", "answers"):
        table = run.tables[name]
        run.tables[name] = table.filter(pc.equal(table["conversation_id"], "w"))
    found = run.document(forgotten={"c": frozenset({"v"})})
    assert found["run"]["forgotten"] == 2
    assert {row["n"] for row in found["headline"]["means"]} == {4}
    assert {row["judged"] + row["excluded"] for row in found["losses"]} == {2}
    assert "2 of 4 questions were forgotten after the run" in found["notes"][0]
    made_before, counted_now = (
        "Counts all 4 questions of the run, 2 of them",
        "Counts the 2 questions that are left of 4",
    )
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page(found))
    assert len(captions) > 6
    for caption in captions:
        assert (counted_now in caption) == caption.startswith(("Verdicts of", "Answers whose")), caption
        assert (made_before in caption) != (counted_now in caption), caption
    assert "Counts all" not in page(reported().document())


def test_words_that_a_representation_lost_are_marked_in_the_gold_turn(document):
    conversation, asked = question(document, "v:q0")
    turn = conversation["turns"][asked["turns"][0]]
    lost = {
        document["browser"]["representations"][int(place)]: [
            turn["text"][start:end] for start, end in stored.get("lost", [])
        ]
        for place, stored in turn["stored"].items()
    }
    assert turn["text"] == SAID[0]
    assert lost == {"chunks": [], "summary": ["except", "Sundays"]}


def test_a_unit_that_touches_gold_has_its_rank_and_says_whether_it_is_shown(document):
    conversation, asked = question(document, "v:q0")
    places = {cell["cell"]: str(place) for place, cell in enumerate(document["browser"]["cells"])}
    for cell, rank, inside in (("chunks", 1, True), ("random", 2, False)):
        held = asked["cells"][places[cell]]
        ((unit, found),) = held["ranks"]
        assert (found, unit in held["units"]) == (rank, inside)
        assert conversation["units"]["unit_id"][unit] == "v-chunks-0"
    lost = asked["cells"][places["summary"]]["answer_lost"]
    assert [ASKED[0][1][start:end] for start, end in lost] == ["except", "Sundays"]


def test_answers_stand_with_every_judges_verdict_and_where_they_were_lost(document):
    _, asked = question(document, "w:q1")
    cell = asked["cells"]["1"]
    (answer,) = cell["answers"]
    assert answer["text"] == "It is red hall"
    assert [(verdict["judge"], verdict["correct"], verdict.get("loss")) for verdict in answer["verdicts"]] == [
        ("exact", False, "not_stored"),
        ("match", False, "not_stored"),
    ]
    assert cell["right"] is False
    failed = asked["cells"]["2"]["answers"][0]["verdicts"][0]
    assert (failed["judge"], failed["correct"], failed["reason"]) == ("exact", None, "unparsable_verdict")


def test_a_context_that_is_no_row_of_whole_units_stands_as_its_text_each_line_once():
    made = reported(cells=(("joined", "chunks", "joined"), ("plain", "chunks", "lexical"))).document()
    conversation, asked = question(made, "v:q0")
    assert "lines" not in asked["cells"]["1"]
    assert [conversation["lines"][place] for place in asked["cells"]["0"]["lines"]] == [f"Ana: {SAID[0]}"]


def test_conversations_that_were_forgotten_are_not_shown_though_a_snapshot_holds_them(run):
    made = run.document(forgotten={"c": frozenset({"v"})})["browser"]
    assert (made["questions"], made["kept"], made["forgotten"]) == (2, 2, 2)
    assert [conversation["conversation_id"] for conversation in made["conversations"]] == ["w"]


def test_the_questions_on_which_cells_differ_are_kept_first():
    run = reported(cells=(("chunks", "chunks", "lexical"), ("summary", "summary", "lexical")))
    scores = run.tables["scores"].to_pylist()
    for row in scores:
        if row["metric"] == "judge_accuracy" and row["cell"] == "summary" and row["question_id"] != "w:q0":
            row["value"] = 1.0
    run.tables["scores"] = type(run.tables["scores"]).from_pylist(scores, schema=run.tables["scores"].schema)
    made = run.document(questions=1)["browser"]
    assert (made["questions"], made["kept"]) == (4, 1)
    assert [q["question_id"] for conversation in made["conversations"] for q in conversation["questions"]] == ["w:q0"]


def test_a_run_without_statistics_says_so_and_still_shows_its_questions():
    made = reported(statistics=False).document()
    assert made["notes"][0].startswith("no statistics")
    assert made["curves"] == []
    assert all(row["value"] is None and row["note"] for row in made["headline"]["means"])
    assert made["browser"]["kept"] == 4


def test_the_document_is_json_and_its_keys_stay(document):
    again = json.loads(json.dumps(jsonable(document), allow_nan=False))
    assert list(again) == [
        "run", "headline", "curves", "categories", "losses", "survival_split", "costs", "controls", "published", "dials",
        "agreement", "variance", "notes", "browser",
    ]  # fmt: skip


def test_the_run_card_says_what_was_left_out_and_not_on_which_machine_it_ran(document):
    card = document["run"]
    assert card["settings"] == {"study": "small.toml", "at": "latest"}
    assert (card["questions"], card["excluded"]) == (4, {"no_offsets": 1})
    assert card["readers"] == [{"reader": "extractive", "kind": "extractive", "model": "", "repeats": 1}]


def test_a_run_that_the_snapshot_does_not_hold_is_refused(run):
    with pytest.raises(NotFoundError, match="run='other'"):
        report_document(run.connection(), run.connection(), "other", run.study, declared=None, forgotten={})
