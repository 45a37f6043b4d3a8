"""What a study may say beside cells: several corpora, readers, judges, comparisons, gates; and what it may not."""

import pytest

from memlake.transforms.answer.spec import JudgeSpec, ReaderSpec
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.evaluate.corpus import cell_rows, runnable
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.study.parse import parse_study
from memlake.transforms.study.study import Gate, Measure, StudyCorpus

WHOLE = """
name = "whole"
label_sets = ["official"]
categories = ["1"]
[cutoffs]
tokens = [100]
[answers]
tokens = [200]
[readers.plain]
kind = "extractive"
[readers.asked]
kind = "model"
prompt = "answer-published"
question_date = false
repeats = 3
[judges.strict]
kind = "strict"
repeats = 2
[judges.match]
kind = "match"
[judges.types]
kind = "longmemeval"
corpora = ["b"]
[[corpora]]
name = "a"
[[corpora]]
name = "b"
categories = ["x", "y"]
language = "other"
dial = 0.5
[[cells]]
name = "one"
representations = ["chunks"]
plan = "lexical"
reader = "plain"
[[cells]]
name = "two"
representations = ["turns", "notes"]
plan = "gold"
reader = "asked"
corpora = ["b"]
cutoffs = { tokens = [5000] }
answers = { tokens = [5000], k = [7] }
[[cells]]
name = "three"
representations = ["chunks"]
plan = "lexical"
[[cells]]
name = "four"
representations = ["turns"]
plan = "lexical"
reader = "plain"
[[comparisons]]
name = "first"
a = "one"
b = "three"
[[comparisons]]
name = "second"
a = "one"
b = "four"
corpus = "a"
categories = ["1"]
metric = "token_f1"
cutoff = 200
against = "first"
published = 0.159
[[gates]]
cell = "one"
corpus = "a"
metric = "mrr"
cutoff_kind = "tokens"
cutoff = 100
value = 0.5
tolerance = 0.1
"""


def test_what_is_said_at_the_top_holds_for_each_corpus_that_does_not_say_its_own():
    study = parse_study(WHOLE, source="s")
    assert study.corpora == (
        StudyCorpus("a", ("official",), ("1",)),
        StudyCorpus("b", ("official",), ("x", "y"), "other", 0.5),
    )


def test_cells_run_on_their_corpora_and_judges_judge_theirs():
    study = parse_study(WHOLE, source="s")
    assert [cell.name for cell in study.cells_of("a")] == ["one", "three", "four"]
    assert [cell.name for cell in study.cells_of("b")] == ["one", "two", "three", "four"]
    assert [judge.name for judge in study.judges_of("a")] == ["strict", "match"]
    assert study.judges == (
        JudgeSpec("strict", "strict", repeats=2),
        JudgeSpec("match", "match"),
        JudgeSpec("types", "longmemeval", corpora=("b",)),
    )


def test_readers_are_asked_at_the_study_s_cutoffs_or_at_the_cell_s_own_and_texts_are_kept_there():
    study = parse_study(WHOLE, source="s")
    first, second, third, _ = study.cells
    assert study.reader_of(second) == ReaderSpec(
        "asked", "model", prompt="answer-published", question_date=False, repeats=3
    )
    assert (study.answered(first), study.answered(second), study.answered(third)) == (
        Cutoffs((200,)), Cutoffs((5000,), (7,)), Cutoffs(),
    )  # fmt: skip
    assert runnable(study, second, "r").texts == {("tokens", 5000), ("k", 7), ("tokens", 100)}
    assert runnable(study, third, "r").texts == {("tokens", 100)}


def test_comparisons_are_of_the_headline_unless_they_say_otherwise():
    first, second = parse_study(WHOLE, source="s").comparisons
    assert first.measure == Measure("answer_survival_all", "tokens", 100)
    assert second.measure == Measure("token_f1", "tokens", 200)
    assert (second.against, second.published, second.categories) == ("first", 0.159, ("1",))


def test_a_gate_is_a_number_with_a_tolerance():
    (gate,) = parse_study(WHOLE, source="s").gates
    assert gate == Gate(
        cell="one", metric="mrr", cutoff_kind="tokens", cutoff=100, value=0.5, tolerance=0.1, corpus="a"
    )
    assert gate.measure == Measure("mrr", "tokens", 100)


def test_a_run_s_model_is_that_of_readers_and_judges_that_name_none():
    study = parse_study(WHOLE, source="s")
    assert study.asks_models == ("",)
    with pytest.raises(UsageError, match="readers or judges that ask a model, and none is named"):
        study.with_model("")
    named = study.with_model("m")
    assert named.asks_models == ("m",)
    assert (named.readers["plain"].model, named.readers["asked"].model) == ("", "m")
    hashes = [
        cell_rows(variant, variant.corpora[1], run_id="r", read_snapshot_id="s")
        for variant in (named, study.with_model("n"))
    ]
    same = [a == b for a, b in zip(*(rows["settings_hash"].to_pylist() for rows in hashes), strict=True)]
    assert same == [True, False, True, True]


def test_another_corpus_stands_in_for_the_only_one_and_some_for_all():
    study = parse_study(WHOLE, source="s")
    assert [corpus.name for corpus in study.on_corpora(["a"]).corpora] == ["a"]
    assert [cell.name for cell in study.on_corpora(["a"]).cells] == ["one", "three", "four"]
    with pytest.raises(UsageError, match="corpus=c is not of study='whole', which asks about a, b"):
        study.on_corpora(["c"])
    only = study.on_corpora(["b"]).on_corpora(["other"])
    assert [corpus.name for corpus in only.corpora] == ["other"]
    assert [cell.name for cell in only.cells_of("other")] == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('[[corpora]]\nname = "a"\n', '[[corpora]]\nname = "b"\n', "corpus='b' comes twice"),
        ('name = "whole"', 'name = "whole"\ncorpus = "a"', "it has both corpus and corpora"),
        ('kind = "extractive"', 'kind = "guess"', "readers.plain: kind='guess': extractive, model are allowed"),
        ('kind = "match"', 'kind = "kind"', "judges.match: kind='kind': match, exact"),
        ('kind = "extractive"', 'kind = "extractive"\nprompt = "answer"', "key='prompt' is unknown"),
        (
            'reader = "plain"',
            'reader = "nobody"',
            "line 35: cell='one': reader='nobody' does not exist: there are plain, asked",
        ),
        ('corpora = ["b"]\ncutoffs', 'corpora = ["c"]\ncutoffs', "cell='two': corpora='c' does not exist"),
        ("[answers]\ntokens = [200]\n", "", "cell='one' has a reader and no cutoff at which it is asked"),
        ('a = "one"\nb = "three"', 'a = "one"\nb = "one"', "comparison='first': it is of a cell with itself"),
        ('a = "one"\nb = "three"', 'a = "one"\nb = "five"', "line 56: comparison='first': b='five' does not exist"),
        ('metric = "mrr"', 'metric = "nrr"', "metric='nrr' does not exist; nearest: mrr"),
        ('metric = "mrr"', 'metric = "judge_accuracy"', "judge='': metric='judge_accuracy' needs a judge"),
        ('metric = "mrr"', 'metric = "bleu"', "bleu at 100 tokens: cell='one' has it at 200 tokens"),
        ('b = "four"\n', 'b = "three"\n', "token_f1 at 200 tokens: cell='three' has it at no reader"),
        (
            "cutoff = 100\nvalue",
            "cutoff = 150\nvalue",
            "mrr at 150 tokens: cell='one' has it at 100 tokens, 200 tokens",
        ),
        ('against = "first"', 'against = "third"', "against='third' does not exist"),
        (
            'metric = "token_f1"',
            'metric = "judge_accuracy"\njudge = "me"',
            "line 64: comparison='second': judge='me' does not exist",
        ),
        ("tolerance = 0.1", "tolerance = -0.1", "tolerance=-0.1: a number, 0 or more, is allowed"),
        ('cell = "one"\ncorpus = "a"', 'cell = "one"', "gates 1: it names no corpus, and there are several"),
        ('name = "second"', 'name = "first"', "comparison='first' comes twice"),
        ("question_date = false", "question_date = 0", "question_date=0: true or false is allowed"),
    ],
)
def test_what_does_not_hold_together_is_refused_and_says_why(old, new, message):
    assert old in WHOLE
    with pytest.raises(UsageError, match=message):
        parse_study(WHOLE.replace(old, new, 1), source="s")


def test_a_corpus_without_a_cell_and_a_prompt_that_is_not_there_are_refused():
    limited = WHOLE.replace('plan = "lexical"', 'plan = "lexical"\ncorpora = ["b"]')
    with pytest.raises(UsageError, match="corpus='a' has no cell"):
        parse_study(limited, source="s")
    with pytest.raises(NotFoundError, match="prompt='none'"):
        parse_study(WHOLE.replace('"answer-published"', '"none"'), source="s")
