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
    ],
)
def test_a_plan_that_cannot_run_is_refused_and_says_why(steps, message):
    with pytest.raises(UsageError, match=message):
        parse_plan("p", steps)


def test_an_unknown_step_or_plan_is_refused_with_the_names_there_are():
    with pytest.raises(
        NotFoundError, match=r"plan='p' step 1: step='seed_sparse' does not exist: allowed are fuse_rrf"
    ):
        parse_plan("p", [{"step": "seed_sparse"}, *END])
    with pytest.raises(NotFoundError, match="plan='hybird' does not exist: built in are dense, hybrid, lexical, rrf"):
        find_plan("hybird")
