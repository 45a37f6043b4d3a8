"""The report as data: its numbers are those of `statistics`, and every question shows what was stored, found and said."""

import json

import pytest
from reported_runs import ASKED, SAID, reported

from flows.jsonable import jsonable
from transforms.errors import NotFoundError
from transforms.report.losses import LOSSES
from transforms.report.report import report_document


@pytest.fixture(scope="module")
def run():
    return reported()


@pytest.fixture(scope="module")
def document(run):
    return run.document()


def question(document, name):
    found = [
        (one, q) for one in document["browser"]["conversations"] for q in one["questions"] if q["question_id"] == name
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
        ((cell["cell"], "judge_accuracy", 100, "match", f"category={one['category']}"), one)
        for figure in document["categories"]
        for cell in figure["cells"]
        for one in cell["categories"]
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
    assert [one["name"] for one in found["headline"]["compared"]] == ["summary"]
    assert [one["name"] for one in found["controls"]] == ["summary", "random"]


def test_a_curve_stands_at_the_tokens_that_its_contexts_hold_and_names_the_bound(document):
    curve = next(one for one in document["curves"] if one["metric"] == "answer_survival_all")
    assert {line["cell"]: line["control"] for line in curve["lines"]} == {
        "chunks": "",
        "summary": "",
        "random": "random",
    }
    assert [(point["cutoff"], point["tokens"]) for point in curve["lines"][0]["points"]] == [(100, 10.0), (200, 20.0)]


def test_the_headlines_metric_and_judge_lead_the_figures(document):
    assert [(one["metric"], one["judge"]) for one in document["curves"]][:2] == [
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
    assert {name for bar in bars.values() for name in bar["counts"]} <= {"correct", *LOSSES}


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


def test_words_that_a_representation_lost_are_marked_in_the_gold_turn(document):
    one, asked = question(document, "v:q0")
    turn = one["turns"][asked["turns"][0]]
    lost = {
        document["browser"]["representations"][int(place)]: [
            turn["text"][start:end] for start, end in stored.get("lost", [])
        ]
        for place, stored in turn["stored"].items()
    }
    assert turn["text"] == SAID[0]
    assert lost == {"chunks": [], "summary": ["except", "Sundays"]}


def test_a_unit_that_touches_gold_has_its_rank_and_says_whether_it_is_shown(document):
    one, asked = question(document, "v:q0")
    places = {cell["cell"]: str(place) for place, cell in enumerate(document["browser"]["cells"])}
    for cell, rank, inside in (("chunks", 1, True), ("random", 2, False)):
        held = asked["cells"][places[cell]]
        ((unit, found),) = held["ranks"]
        assert (found, unit in held["units"]) == (rank, inside)
        assert one["units"]["unit_id"][unit] == "v-chunks-0"
    lost = asked["cells"][places["summary"]]["answer_lost"]
    assert [ASKED[0][1][start:end] for start, end in lost] == ["except", "Sundays"]


def test_answers_stand_with_every_judges_verdict_and_where_they_were_lost(document):
    _, asked = question(document, "w:q1")
    cell = asked["cells"]["1"]
    (answer,) = cell["answers"]
    assert answer["text"] == "It is red hall"
    assert [(one["judge"], one["correct"], one.get("loss")) for one in answer["verdicts"]] == [
        ("exact", False, "not_stored"),
        ("match", False, "not_stored"),
    ]
    assert cell["right"] is False
    failed = asked["cells"]["2"]["answers"][0]["verdicts"][0]
    assert (failed["judge"], failed["correct"], failed["reason"]) == ("exact", None, "unparsable_verdict")


def test_a_context_that_is_no_row_of_whole_units_stands_as_its_text_each_line_once():
    made = reported(cells=(("joined", "chunks", "joined"), ("plain", "chunks", "lexical"))).document()
    one, asked = question(made, "v:q0")
    assert "lines" not in asked["cells"]["1"]
    assert [one["lines"][place] for place in asked["cells"]["0"]["lines"]] == [f"Ana: {SAID[0]}"]


def test_conversations_that_were_forgotten_are_not_shown_though_a_snapshot_holds_them(run):
    made = run.document(forgotten={"c": frozenset({"v"})})["browser"]
    assert (made["questions"], made["kept"], made["forgotten"]) == (2, 2, 2)
    assert [one["conversation_id"] for one in made["conversations"]] == ["w"]


def test_the_questions_on_which_cells_differ_are_kept_first():
    run = reported(cells=(("chunks", "chunks", "lexical"), ("summary", "summary", "lexical")))
    scores = run.tables["scores"].to_pylist()
    for row in scores:
        if row["metric"] == "judge_accuracy" and row["cell"] == "summary" and row["question_id"] != "w:q0":
            row["value"] = 1.0
    run.tables["scores"] = type(run.tables["scores"]).from_pylist(scores, schema=run.tables["scores"].schema)
    made = run.document(questions=1)["browser"]
    assert (made["questions"], made["kept"]) == (4, 1)
    assert [q["question_id"] for one in made["conversations"] for q in one["questions"]] == ["w:q0"]


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
        report_document(run.connection(), run.connection(), "other", run.study, forgotten={})
