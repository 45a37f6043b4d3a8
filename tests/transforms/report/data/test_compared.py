"""Published numbers beside ours: when they may be compared, and when they agree."""

import re

import pytest
from reported_runs import reported, study_text

from memlake.transforms.report.data.cells import Numbers, card_of
from memlake.transforms.report.data.compared import agreement, comparisons, published_beside
from memlake.transforms.report.data.document import Number
from memlake.transforms.study.parse import find_study, parse_study, study_names
from memlake.transforms.study.study import Measure

SURVIVAL = Measure("answer_survival_all", "tokens", 100)
ACCURACY = Measure("judge_accuracy", "tokens", 100, judge="match")


def number(value=0.5, low=0.4, high=0.6, n=90, excluded=10):
    return Number(value=value, low=low, high=high, n=n, excluded=excluded, clusters=9, note=None)


def told(at=SURVIVAL, published=0.45, said="a paper", ours=None, settings=None, n=100, stated_for=("c",)):
    study, ours = parse_study(study_text(), source="test"), ours or number()
    return agreement(
        study, ("chunks",), at, published, ours, said,
        corpus="c", stated_for=stated_for, counts=[(n, ours["n"] + ours["excluded"])], settings=settings or {},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("published", "agrees"), [(0.4, "within"), (0.45, "within"), (0.6, "within"), (0.61, "outside")]
)
def test_a_published_number_agrees_when_it_lies_in_our_interval(published, agrees):
    assert told(published=published) == (agrees, "")


def test_what_was_not_scored_counts_among_the_questions_of_a_published_number():
    assert told(n=100) == ("within", "")
    assert told(n=90) == ("not comparable", "other n: 90 there, 100 here")
    assert told(n=None) == ("not comparable", "published n not stated, 100 here")


@pytest.mark.parametrize(("stated_for", "there"), [(("a",), "a"), (("a", "b"), "a, b"), ((), "not on record")])
def test_a_number_of_another_corpus_is_not_compared(stated_for, there):
    assert told(stated_for=stated_for) == ("not comparable", f"other corpus: {there} there, c here")


PUBLISHED = '[[comparisons]]\nname = "x"\na = "chunks"\nb = "random"\npublished = 0.9\nsource = "p"\n'
OF_CELLS = "".join(
    f'[[published]]\ncell = "{cell}"\nmetric = "judge_accuracy"\ncutoff_kind = "tokens"\ncutoff = 100\njudge = "match"\n'
    f'value = 0.9\nn = NUMBER\nsource = "p"\n'
    for cell in ("chunks", "random")
)


@pytest.fixture(scope="module")
def run():
    return reported(more=PUBLISHED + OF_CELLS.replace("NUMBER", "4"))


@pytest.mark.parametrize(
    ("corpus", "text", "why"),
    [
        ("c", PUBLISHED + OF_CELLS.replace("NUMBER", "4"), []),
        ("a", PUBLISHED + OF_CELLS.replace("NUMBER", "4"), ["other corpus: a there, c here"]),
        ("c", PUBLISHED + OF_CELLS.replace("NUMBER", "5"), ["other n: 5 there, 4 here"]),
        ("c", PUBLISHED, ["published n not stated, 4 here"]),
        ("c", PUBLISHED + 'categories = ["1"]\n' + OF_CELLS.replace("NUMBER", "4"), ["published n not stated, 4 here"]),
    ],
)
def test_a_published_difference_is_of_the_corpus_and_the_questions_that_its_study_states(run, corpus, text, why):
    declared = parse_study(study_text(more=text).replace('corpus = "c"', f'corpus = "{corpus}"'), source="test")
    study = declared.on_corpora(["c"])
    numbers = Numbers(run.tables["statistics"].to_pylist())
    (comparison,) = comparisons(study, declared, numbers, {})
    assert (comparison["published"], comparison["difference"]["value"]) == (0.9, 1.0)
    told = [part for part in comparison["why"].split("; ") if "corpus" in part or re.search(r"\bn\b", part)]
    assert told == why
    cards = [card_of(study, row) for row in run.tables["cells"].to_pylist()]
    beside = published_beside(study, declared, cards, numbers, {})
    assert all(("other corpus: a there, c here" in row["why"]) == (corpus == "a") for row in beside)
    assert len(beside) == 2 * ("[[published]]" in text)


@pytest.mark.parametrize("there", ["not on record", "a"])
def test_what_a_study_states_is_read_from_its_text_not_as_the_runs_settings_changed_it(run, there):
    declared = parse_study(run.text.replace('corpus = "c"', 'corpus = "a"'), source="test") if there == "a" else None
    found = run.document(declared=declared)
    assert f"other corpus: {there} there, c here" in found["controls"][0]["why"]
    assert [row["agrees"] for row in found["published"]] == ["not comparable"] * 2


def test_every_published_difference_of_a_study_that_comes_along_has_the_questions_of_both_its_cells():
    for study in map(find_study, study_names()):
        for comparison in study.comparisons:
            if comparison.published is not None:
                stated = {
                    each.cell
                    for each in study.published
                    if (each.measure, each.corpus) == (comparison.measure, comparison.corpus)
                }
                assert {comparison.a, comparison.b} <= stated, (study.name, comparison.name)


@pytest.mark.parametrize("name", ["embedder", "reranker"])
def test_another_embedder_or_reranker_than_the_studys_is_another_system(name):
    assert told(settings={name: "other"}) == ("not comparable", f"other {name}: other")


def test_an_extractive_reader_and_a_judge_without_a_model_are_compared_with_nobodys():
    agrees, why = told(at=ACCURACY, said="a paper, gpt-4o")
    assert agrees == "not comparable"
    assert "other reader: extractive, which asks no model" in why
    assert "other judge: match, which asks no model" in why


@pytest.mark.parametrize(
    ("said", "agrees"),
    [
        ("gpt-4o answers, gpt-4o-mini judges", "within"),
        ("gpt-4o-mini, gpt-4", "not comparable"),
        ("", "not comparable"),
    ],
)
def test_a_number_that_models_had_a_part_in_is_compared_where_its_source_names_both(said, agrees):
    text = study_text().replace('kind = "extractive"', 'kind = "model"\nmodel = "gpt-4o"\nprompt = "answer-published"')
    text = text.replace('[judges.match]\nkind = "match"', '[judges.match]\nkind = "strict"\nmodel = "gpt-4o-mini"')
    study = parse_study(text, source="test")
    found = agreement(
        study,
        ("chunks",),
        ACCURACY,
        0.45,
        number(),
        said,
        corpus="c",
        stated_for=("c",),
        counts=[(100, 100)],
        settings={},
    )
    assert found[0] == agrees


def test_a_number_without_an_interval_or_no_number_says_so():
    assert told(ours=number(low=None, high=None)) == ("not comparable", "our number has no interval")
    assert told(ours=number(value=None, low=None, high=None, n=0, excluded=0)) == (
        "not comparable",
        "we have no such number",
    )


def test_a_comparison_says_its_difference_its_tests_and_its_shift_as_statistics_has_them():
    more = (
        '[[comparisons]]\nname = "one"\na = "chunks"\nb = "summary"\npublished = 0.2\nsource = "a paper"\n'
        '[[comparisons]]\nname = "two"\na = "chunks"\nb = "random"\nagainst = "one"\ndefect = "none"\n'
    )
    run = reported(more=more)
    rows = {
        (row["statistic"], row["comparison"]): row
        for row in run.tables["statistics"].to_pylist()
        if row["slice"] == "all"
    }
    first, second = run.document()["controls"]
    for found, name in ((first, "one"), (second, "two")):
        row = rows["difference", name]
        assert (found["difference"]["value"], found["difference"]["low"]) == (row["value"], row["low"])
        assert (found["p"], found["p_holm"], found["only_a"], found["only_b"]) == tuple(
            row[key] for key in ("p", "p_holm", "only_a", "only_b")
        )
        assert found["mcnemar_p"] == rows["mcnemar", name]["p"]
    assert first["shift"] is None
    assert second["shift"]["value"] == rows["shift", "two"]["value"]
    assert (first["agrees"], second["agrees"]) == ("not comparable", "")
