import json
from pathlib import Path

import pytest

from memlake.schemas import CELLS
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.evaluate.corpus import cell_rows
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.study.parse import find_study, parse_study
from memlake.transforms.study.study import Measure, StudyCorpus

SMALL = """
name = "small"
corpus = "team"
[cutoffs]
tokens = [500, 1000]
[[cells]]
name = "chunks"
representations = ["chunks"]
plan = "lexical"
"""


def test_a_small_study_takes_the_defaults():
    study = parse_study(SMALL, source="small.toml")
    assert (study.name, study.embedder, study.tokeniser) == ("small", "static", "chars4")
    assert study.corpora == (StudyCorpus("team", label_sets=(), categories=(), language="english"),)
    assert study.cutoffs == Cutoffs(tokens=(500, 1000))
    assert (study.depth, study.published, study.readers, study.judges) == (100, (), {}, ())
    assert study.headline == Measure("answer_survival_all", "tokens", 1000)
    assert study.embedder_of(study.cells[0]) == ""


def test_the_locomo_study_lists_six_representations_under_one_plan():
    study = find_study(str(Path(__file__).parents[3] / "flows/studies/locomo-retrieval.toml"))
    assert [cell.name for cell in study.cells] == [
        "chunks", "turns", "sentences", "sessions", "observations", "session_summaries",
    ]  # fmt: skip
    assert {cell.plan.name for cell in study.cells} == {"hybrid"}
    assert study.cells[0].plan.tables()[2] == {"step": "fuse_weighted", "dense": 0.7, "lexical": 0.3}
    assert study.corpora[0].categories == ("1", "2", "3", "4")
    assert {number.cell for number in study.published} <= {cell.name for cell in study.cells}


def test_rows_of_cells_hold_every_setting_and_equal_settings_hash_alike():
    study = parse_study(
        SMALL + '[[cells]]\nname = "again"\nrepresentations = ["chunks"]\nplan = "lexical"\n', source="s"
    )
    rows = cell_rows(study, study.corpora[0], run_id="r", read_snapshot_id="s")
    assert rows.schema == CELLS.schema
    first, second = rows.to_pylist()
    assert first["settings_hash"] == second["settings_hash"]
    assert json.loads(first["plan"])[0] == {"step": "seed_lexical", "language": "english", "k1": 1.5, "b": 0.75}
    assert json.loads(first["settings"])["depth"] == 100


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "small"', "", "study='s.toml': key='name' is missing"),
        ('name = "small"', 'name = "../up"', "study='../up' is not a name"),
        (
            'corpus = "team"',
            'corpus = "team"\nbudget = 3',
            "line 4: key='budget' is unknown: nearest is judges; allowed are name, corpus, label_sets",
        ),
        ("[500, 1000]", "[1000, 500]", r"cutoffs: tokens=\[1000, 500\]: an ascending list of whole numbers"),
        ("[500, 1000]", '["500"]', "an ascending list of whole numbers, 1 or more, each once, is allowed"),
        ("[500, 1000]", "[]", "it has no cutoffs"),
        (
            "tokens =",
            "token =",
            "s.toml' line 5: cutoffs: key='token' is unknown: nearest is tokens; allowed are tokens, k",
        ),
        ('["chunks"]', "[]", r"cell='chunks': representations=\[\]: a list of texts, one or more"),
        ('["chunks"]', '"chunks"', "cell='chunks': representations='chunks': a list of texts, one or more"),
        ('["chunks"]', '["chunks", "chunks"]', "a list of texts, one or more, each once, is allowed"),
        (
            'plan = "lexical"',
            'plan = "lexical"\nk = 3',
            "line 10: cell='chunks': key='k' is unknown: allowed are name, representations, plan",
        ),
        ('corpus = "team"', 'corpus = "team"\ndepth = 0', "depth=0: a whole number, 1 or more, is allowed"),
        ('corpus = "team"', 'corpus = "team"\nlanguage = "dutch"', "language='dutch': english, other are allowed"),
        ("[cutoffs]", "[plans.p]\nsteps = 3\n[cutoffs]", "plans.p: steps=3: a list of tables is allowed"),
        ("[[cells]]", "[cells]", "a list of tables is allowed"),
        ('name = "small"', "name = small", "study='s.toml' is not TOML"),
    ],
)
def test_a_study_that_cannot_run_is_refused_and_says_why(old, new, message):
    assert old in SMALL
    with pytest.raises(UsageError, match=message):
        parse_study(SMALL.replace(old, new, 1), source="s.toml")


def test_unknown_plans_and_tokenisers_are_refused_with_the_names_there_are():
    with pytest.raises(NotFoundError, match="plan='mine' does not exist: declared are none, built in are hybrid, rrf"):
        parse_study(SMALL.replace('"lexical"', '"mine"'), source="s")
    with pytest.raises(NotFoundError, match="tokeniser='bpe' does not exist"):
        parse_study(SMALL.replace("[cutoffs]", 'tokeniser = "bpe"\n[cutoffs]'), source="s")


def test_two_cells_of_one_name_are_refused():
    with pytest.raises(UsageError, match="cell='chunks' comes twice"):
        parse_study(SMALL + SMALL[SMALL.index("[[cells]]") :], source="s")


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(NotFoundError, match="cannot be read: No such file"):
        find_study(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not UTF-8"):
        find_study(str(tmp_path / "bad.toml"))


PUBLISHED = """
[[published]]
cell = "chunks"
metric = "mrr"
cutoff_kind = "k"
cutoff = 5
value = 0.5
n = 10
source = "a paper"
"""


def test_a_published_number_says_of_how_many_questions_and_whose_labels():
    (number,) = parse_study(SMALL + PUBLISHED, source="s").published
    assert (number.n, number.measure) == (10, Measure("mrr", "k", 5))
    (number,) = parse_study(SMALL + PUBLISHED + 'label_set = "corrected"\n', source="s").published
    assert number.measure.label_set == "corrected"
    with pytest.raises(UsageError, match="published 1: key='n' is missing"):
        parse_study(SMALL + PUBLISHED.replace("n = 10\n", ""), source="s")


def test_a_plan_of_the_study_hides_the_built_in_one():
    own = '[plans.lexical]\nsteps = [{ step = "seed_lexical", k1 = 3 }, { step = "rank" }, { step = "pack" }]\n'
    study = parse_study(SMALL.replace("[cutoffs]", own + "[cutoffs]"), source="s")
    assert study.cells[0].plan.tables()[0]["k1"] == 3.0


def test_a_cell_that_answers_has_a_candidate_list_beside_its_cutoffs():
    read = SMALL + 'reader = "best"\n[readers.best]\nkind = "extractive"\n[answers]\ntokens = [200]\n'
    study = parse_study(read.replace("tokens = [500, 1000]", "tokens = [500]\nk = [100]"), source="s")
    assert study.cutoffs_of(study.cells[0]) == Cutoffs(tokens=(200, 500), k=(100,), candidates=100)
    assert study.cutoffs_of(study.cells[0]).pairs[-2:] == [("k", 100), ("candidates", 100)]
    silent = parse_study(SMALL, source="s")
    assert silent.cutoffs_of(silent.cells[0]) == Cutoffs(tokens=(500, 1000))
