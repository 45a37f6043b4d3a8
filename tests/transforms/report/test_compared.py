"""Published numbers beside ours: when they may be compared, and when they agree."""

import pytest
from reported_runs import reported, study_text

from transforms.report.compared import agreement
from transforms.report.document import Number
from transforms.study.parse import parse_study
from transforms.study.study import Measure

SURVIVAL = Measure("answer_survival_all", "tokens", 100)
ACCURACY = Measure("judge_accuracy", "tokens", 100, judge="match")


def number(value=0.5, low=0.4, high=0.6, n=90, excluded=10):
    return Number(value=value, low=low, high=high, n=n, excluded=excluded, clusters=9, note=None)


def told(at=SURVIVAL, published=0.45, said="a paper", ours=None, settings=None, n=None):
    study = parse_study(study_text(), source="test")
    return agreement(study, ("chunks",), at, published, ours or number(), said, settings=settings or {}, n=n)


@pytest.mark.parametrize(
    ("published", "agrees"), [(0.4, "within"), (0.45, "within"), (0.6, "within"), (0.61, "outside")]
)
def test_a_published_number_agrees_when_it_lies_in_our_interval(published, agrees):
    assert told(published=published) == (agrees, "")


def test_what_was_not_scored_counts_among_the_questions_of_a_published_number():
    assert told(n=100) == ("within", "")
    assert told(n=90) == ("not comparable", "other n: 90 there, 100 here")


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
    assert agreement(study, ("chunks",), ACCURACY, 0.45, number(), said, settings={})[0] == agrees


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
    one, two = run.document()["controls"]
    for found, name in ((one, "one"), (two, "two")):
        row = rows["difference", name]
        assert (found["difference"]["value"], found["difference"]["low"]) == (row["value"], row["low"])
        assert (found["p"], found["p_holm"], found["only_a"], found["only_b"]) == tuple(
            row[key] for key in ("p", "p_holm", "only_a", "only_b")
        )
        assert found["mcnemar_p"] == rows["mcnemar", name]["p"]
    assert one["shift"] is None
    assert two["shift"]["value"] == rows["shift", "two"]["value"]
    assert (one["agrees"], two["agrees"]) == ("not comparable", "")
