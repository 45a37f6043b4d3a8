import pytest

from transforms.errors import NotFoundError, UsageError
from transforms.retrieve.plan import PLANS, find_plan, parse_plan

END = [{"step": "rank"}, {"step": "pack"}]


def test_every_built_in_plan_is_its_own_data_with_defaults_filled_in():
    for name in PLANS:
        plan = find_plan(name)
        assert parse_plan(name, plan.tables()) == plan


def test_a_plan_says_whether_it_needs_vectors():
    assert [name for name in PLANS if find_plan(name).needs_vectors] == ["hybrid", "rrf", "dense"]


def test_settings_of_a_step_are_kept():
    plan = parse_plan("p", [{"step": "seed_lexical", "k1": 2, "language": "other"}, *END])
    assert plan.tables()[0] == {"step": "seed_lexical", "language": "other", "k1": 2.0, "b": 0.75}


def test_a_plan_says_which_outputs_and_rerankers_it_needs():
    seeds = [{"step": f"seed_{name}"} for name in ("dense", "lexical", "sparse", "multi")]
    fuse = {"step": "fuse_weighted", "sparse": 0.2, "multi": 0.4}
    rerank = {"step": "rerank", "model": "reranker@./models/x", "pool": 10}
    plan = parse_plan("p", [*seeds, fuse, END[0], rerank, END[1]])
    assert plan.needs == {"dense", "sparse", "multi"}
    assert plan.rerankers == ("reranker@./models/x",)
    assert plan.tables()[6] == {
        "step": "rerank", "model": "reranker@./models/x", "pool": 10, "text": "show", "max_length": 512, "normalise": True,
    }  # fmt: skip


def test_settings_that_came_later_leave_the_tables_of_older_plans_as_they_were():
    assert find_plan("hybrid").tables()[2] == {"step": "fuse_weighted", "dense": 0.7, "lexical": 0.3}


RERANK = [{"step": "seed_lexical"}, {"step": "rank"}]
TWO = [{"step": "seed_dense"}, {"step": "seed_sparse"}]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"step": "seed_lexical", "k2": 1}, *END], r"step 1: setting='k2' is unknown: allowed are b, k1, language"),
        ([{"step": "rank", "depth": 1}], "setting='depth' is unknown: allowed are none"),
        ([{"step": "seed_lexical", "k1": "big"}, *END], "k1='big': a number, 0 or more, is allowed"),
        ([{"step": "seed_lexical", "k1": True}, *END], "k1=True: a number"),
        ([{"step": "seed_lexical", "k1": -1}, *END], "k1=-1: a number, 0 or more"),
        ([{"step": "seed_lexical", "language": "dutch"}, *END], "language='dutch': allowed are english, other"),
        (["rank"], "step 1 is 'rank': a table with the key 'step' is allowed"),
        (END, "seeds are none"),
        ([], "seeds are none"),
        (
            [{"step": "seed_dense"}, {"step": "seed_dense"}, {"step": "fuse_rrf"}, *END],
            "seeds are seed_dense, seed_dense",
        ),
        ([{"step": "seed_dense"}, {"step": "seed_lexical"}, *END], "seeds=2 and fuse steps=0"),
        ([{"step": "seed_dense"}, {"step": "fuse_weighted"}, *END], "seeds=1 and fuse steps=1"),
        ([{"step": "seed_dense"}, {"step": "rank"}], "rank steps=1 and pack steps=0"),
        ([{"step": "rank"}, {"step": "seed_dense"}, {"step": "pack"}], "in the order rank, seed, pack"),
        ([*RERANK, {"step": "pack"}, {"step": "rerank"}], "in the order seed, rank, pack, rerank"),
        ([*RERANK, {"step": "rerank"}, {"step": "rerank"}, {"step": "pack"}], "rerank steps=2"),
        ([*RERANK, {"step": "rerank", "pool": 0}, {"step": "pack"}], "pool=0: a whole number, 1 or more"),
        ([*RERANK, {"step": "rerank", "pool": 2.5}, {"step": "pack"}], "pool=2.5: a whole number"),
        ([*RERANK, {"step": "rerank", "pool": True}, {"step": "pack"}], "pool=True: a whole number"),
        ([*RERANK, {"step": "rerank", "model": " "}, {"step": "pack"}], "model=' ': a text is allowed"),
        ([*RERANK, {"step": "rerank", "normalise": 1}, {"step": "pack"}], "normalise=1: true or false"),
        ([*RERANK, {"step": "rerank", "text": "raw"}, {"step": "pack"}], "text='raw': allowed are show, key"),
        ([*RERANK, {"step": "rerank", "model": "reranker@a/b/c"}, {"step": "pack"}], "neither a path"),
        ([*RERANK, {"step": "rerank", "model": "bge-m3"}, {"step": "pack"}], "no reranker is named 'bge-m3'"),
        ([*TWO, {"step": "fuse_weighted"}, *END], "fuse_weighted gives seed_sparse no weight"),
        ([*TWO, {"step": "fuse_weighted", "sparse": 1, "multi": 1}, *END], "weighs multi, and no step seeds it"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_and_says_why(steps, message):
    with pytest.raises(UsageError, match=message):
        parse_plan("p", steps)


def test_an_unknown_step_or_plan_is_refused_with_the_names_there_are():
    with pytest.raises(
        NotFoundError, match=r"plan='p' step 1: step='seed_sparce' does not exist: allowed are fuse_rrf"
    ):
        parse_plan("p", [{"step": "seed_sparce"}, *END])
    with pytest.raises(NotFoundError, match="plan='hybird' does not exist: built in are dense, hybrid, lexical, rrf"):
        find_plan("hybird")
