"""All that is wrong with a study's file is said at once, each with its line; and the schema by which editors say it."""

import importlib.util
import json
import random
import tomllib
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.study.parse import parse_study, study_names, study_path

REPOSITORY = Path(__file__).parents[3]
WRONG = """\
name = "wrong"
corpsu = "team"
depth = 0
[cutoffs]
tokens = [
    500,
    250,
]
[headline]
metric = "judge_accuracy"
cutoff_kind = "tokens"
cutoff = 500
[readers.plain]
kind = "extractive"
prompt = "answer"
[readers."no name"]
kind = "extractive"
[judges.strict]
kind = "stirct"
[plans.mine]
steps = [
    { step = "seed_lexical", k9 = 1 },
    { step = "rank" },
    { step = "pack", order = "size" },
]
[[cells]]
name = "one"
representations = ["chunks", "../up"]
plan = "mine"
reader = "nobody"
[[cells]]
name = "one"
representations = ["chunks"]
plan = "yours"
answers = { tokens = [5], words = [3] }
[[comparisons]]
name = "same"
a = "one"
b = "two"
"""
SMALL = """\
name = "small"
corpus = "team"
[cutoffs]
tokens = [500]
[[cells]]
name = "one"
representations = ["chunks"]
plan = "lexical"
"""


@pytest.fixture(scope="module")
def study_schema() -> ModuleType:
    spec = importlib.util.spec_from_file_location("study_schema", REPOSITORY / "infra" / "study_schema.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def editor(study_schema: ModuleType) -> jsonschema.Draft4Validator:
    schema = json.loads(study_schema.SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft4Validator.check_schema(schema)
    return jsonschema.Draft4Validator(schema)


def test_every_fault_is_said_at_once_with_its_line():
    with pytest.raises(UsageError) as caught:
        parse_study(WRONG, source="wrong.toml")
    head, *faults = caught.value.message.split("\n- ")
    assert head == "study='wrong.toml' has 16 faults:"
    starts = [
        "it has no corpus",
        "line 2: key='corpsu' is unknown: nearest is corpus; allowed are name, corpus",
        "line 3: depth=0: a whole number, 1 or more, is allowed",
        "line 5: cutoffs: tokens=[500, 250]: an ascending list of whole numbers",
        "line 9: headline: judge='': metric='judge_accuracy' needs a judge",
        "line 15: readers.plain: key='prompt' is unknown: allowed are kind",
        "line 16: readers: reader='no name' is not a name",
        "line 18: judges.strict: kind='stirct': match, exact, strict, longmemeval, abstention are allowed",
        "line 22: plan='mine' step 1: setting='k9' is unknown",
        "line 24: plan='mine' step 3: order='size': allowed are score, time, random",
        "line 28: cell='one': representation='../up' is not a name",
        "line 30: cell='one': reader='nobody' does not exist: there are plain, no name",
        "line 32: cell='one' comes twice",
        "line 34: cell='one': plan='yours' does not exist: declared are mine, built in are hybrid",
        "line 35: cell='one' answers: key='words' is unknown: allowed are tokens, k",
        "line 39: comparison='same': b='two' does not exist: there are one, one",
    ]
    assert [fault[: len(start)] for fault, start in zip(faults, starts, strict=True)] == starts


def test_one_fault_is_one_line_and_the_error_of_names_that_do_not_exist_is_theirs():
    with pytest.raises(UsageError) as caught:
        parse_study(SMALL.replace('plan = "lexical"\n', ""), source="s")
    assert caught.value.message == "study='s' line 5: cell='one': key='plan' is missing"
    both = SMALL.replace("lexical", "mine").replace("[cutoffs]", 'tokeniser = "bpe"\n[cutoffs]')
    with pytest.raises(NotFoundError, match="has 2 faults"):
        parse_study(both, source="s")
    with pytest.raises(UsageError) as caught:
        parse_study(both.replace('"chunks"', "3"), source="s")
    assert not isinstance(caught.value, NotFoundError)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[cutoffs]\ntokens = [500]\n", "cutoffs = 3\n", "line 3: cutoffs=3: a table is allowed"),
        ('representations = ["chunks"]', 'representations = [\n"chunks",\n3]', "line 7: cell='one': representations="),
        ("[[cells]]", "[cells.x]", "cells=.*: a list of tables is allowed"),
        ("[cutoffs]", "repeats = [3]\n[cutoffs]", "line 3: repeats 1=3: a table is allowed"),
        ('corpus = "team"', "corpora = [3]", "line 2: corpora 1=3: a table is allowed"),
        ("[cutoffs]", '[readers]\nx = "y"\n[cutoffs]', "line 4: readers: x='y': a table is allowed"),
        ("[cutoffs]", "[readers.x]\n[cutoffs]", "line 3: readers.x: key='kind' is missing"),
        (
            "[cutoffs]",
            "[readers.x]\nkind = []\n[cutoffs]",
            "line 3: readers.x: kind=\\[\\]: extractive, model are allowed",
        ),
        ("[cutoffs]", "[plans]\nx = 3\n[cutoffs]", "line 4: plans: x=3: a table is allowed"),
        (
            "[cutoffs]",
            "[plans.x]\nsteps = [3]\n[cutoffs]",
            "line 4: plans.x: steps=\\[3\\]: a list of tables is allowed",
        ),
        ('name = "one"', "name = []", "line 6: cells 1: name=\\[\\]: a text is allowed"),
        ('name = "one"', 'name = "{words}"', "cell='{words}' is not a name"),
    ],
)
def test_whatever_a_file_holds_in_place_of_a_section_is_refused_with_its_line(old, new, message):
    assert old in SMALL
    with pytest.raises(UsageError, match=message):
        parse_study(SMALL.replace(old, new, 1), source="s")


def test_the_schema_for_editors_is_fresh(study_schema):
    assert study_schema.SCHEMA.read_text(encoding="utf-8") == study_schema.schema_text(), "stale: run `make readme`"


def test_every_study_that_comes_along_names_the_schema_and_is_accepted_by_it(editor):
    for name in study_names():
        text = study_path(name).read_text(encoding="utf-8")
        directive, _, schema = text.splitlines()[0].partition(" ")
        assert (directive, (study_path(name).parent.resolve() / schema).name) == ("#:schema", "study.schema.json")
        assert (REPOSITORY / "flows" / "studies" / schema).resolve() == REPOSITORY / "infra" / "study.schema.json"
        assert list(editor.iter_errors(tomllib.loads(text))) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "small"\n', ""),
        ('corpus = "team"', 'corpsu = "team"'),
        ('corpus = "team"', 'corpus = "team"\n[[corpora]]\nname = "x"'),
        ("[500]", '["500"]'),
        ("[500]", "[0]"),
        ('["chunks"]', "[]"),
        ("[[cells]]", "[cells]"),
        ("[cutoffs]", '[readers.x]\nkind = "extractive"\nprompt = "answer"\n[cutoffs]'),
        ("[cutoffs]", '[readers.x]\nkind = "guess"\n[cutoffs]'),
        ("[cutoffs]", '[plans.x]\nsteps = [{ step = "seed_lexcial" }]\n[cutoffs]'),
        ("[cutoffs]", '[plans.x]\nsteps = [{ step = "seed_lexical", k9 = 1 }, { step = "rank" }]\n[cutoffs]'),
        ("[cutoffs]", '[plans.x]\nsteps = [{ step = "seed_dense" }, { step = "rank", candidates = -1 }]\n[cutoffs]'),
        ("[cutoffs]", "[plans.x]\nsteps = [{ candidates = 3 }]\n[cutoffs]"),
        ("[cutoffs]", '[headline]\nmetric = "mmr"\ncutoff_kind = "k"\ncutoff = 1\n[cutoffs]'),
    ],
)
def test_the_schema_for_editors_refuses_what_the_models_refuse(editor, old, new):
    assert list(editor.iter_errors(tomllib.loads(SMALL))) == []
    wrong = SMALL.replace(old, new, 1)
    with pytest.raises(UsageError):
        parse_study(wrong, source="s")
    assert list(editor.iter_errors(tomllib.loads(wrong)))


def test_a_spoilt_study_is_refused_in_words_and_an_editor_accepts_what_is_read(editor):
    rng, texts = random.Random(5), [study_path(name).read_text(encoding="utf-8") for name in study_names()]
    values = (
        "3",
        "-1",
        '""',
        '"a"',
        "[]",
        '["a"]',
        "[1]",
        "true",
        "{}",
        "0.5",
        "inf",
        "[[1]]",
        "{ a = 1 }",
        "1979-05-27",
    )
    added = ("x = 1", "[x]", "[[cells]]", "[readers.z]", "[[gates]]", "[judges.z]", 'kind = "model"', "[[x]]")
    refused, read = [], 0
    for _ in range(300):
        lines = rng.choice(texts).split("\n")
        place = rng.randrange(len(lines))
        key, equals, _ = lines[place].partition("=")
        spoilt = rng.choice(
            [[], [key + equals + rng.choice(values)], [lines[place], rng.choice(added)], [key[1:] + equals]]
        )
        text = "\n".join([*lines[:place], *spoilt, *lines[place + 1 :]])
        try:
            parse_study(text, source="s")
        except UsageError as error:
            refused.append(error.message)
        else:
            read += 1
            assert list(editor.iter_errors(tomllib.loads(text))) == []
    assert all(message.startswith("study='s'") for message in refused)
    assert min(len(refused), read) > 25
