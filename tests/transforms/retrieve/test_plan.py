import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.retrieve.plan import PLANS, STEPS, AnyStep, find_plan, parse_plan

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


def test_a_plan_says_which_tables_it_reads_beside_units():
    reads = {name: sorted(find_plan(name).reads) for name in PLANS}
    beside = {"gold": ["evidence", "provenance"], "full": ["provenance"]}
    assert reads == {name: beside.get(name, []) for name in PLANS}
    seed, rank, pack = {"step": "seed_lexical"}, *END
    steps = [
        seed, {"step": "filter", "speaker": "named"}, rank, {"step": "expand", "relations": ["similar"]},
        {"step": "project"}, {"step": "swap"}, {"step": "pack", "order": "time", "most": 0},
    ]  # fmt: skip
    plan = parse_plan("p", steps)
    assert plan.reads == {"provenance", "turns", "links"}
    assert (plan.steps[3].relations, plan.view.only_new, plan.steps[5].seed) == (("similar",), "turns", 0)
    assert parse_plan("p", plan.tables()) == plan
    assert not parse_plan("p", [seed, {"step": "filter", "kinds": ["chunk"]}, rank, pack]).reads
    assert (
        parse_plan("p", [{"step": "seed_gold", "label_set": "corrected"}, rank, pack]).steps[0].label_set == "corrected"
    )


def test_a_plan_takes_another_reranker_or_none():
    plan = parse_plan("p", [{"step": "seed_lexical"}, END[0], {"step": "rerank", "pool": 9}, END[1]])
    other = plan.with_reranker("bge-reranker-base")
    assert other.rerankers == ("bge-reranker-base",)
    assert other.tables()[2]["pool"] == 9
    assert [table["step"] for table in plan.with_reranker("none").tables()] == ["seed_lexical", "rank", "pack"]
    assert find_plan("lexical").with_reranker("bge-reranker-base") == find_plan("lexical")
    with pytest.raises(NotFoundError, match="no reranker is named 'bge'"):
        plan.with_reranker("bge")


def test_settings_that_came_later_leave_the_tables_of_older_plans_as_they_were():
    assert find_plan("hybrid").tables() == [
        {"step": "seed_dense"},
        {"step": "seed_lexical", "language": "english", "k1": 1.5, "b": 0.75},
        {"step": "fuse_weighted", "dense": 0.7, "lexical": 0.3},
        {"step": "rank"},
        {"step": "pack"},
    ]
    plan = parse_plan("p", [{"step": "seed_lexical", "copies": 2}, {"step": "rank", "candidates": 0}, END[1]])
    assert plan.tables()[:2] == [
        {"step": "seed_lexical", "language": "english", "k1": 1.5, "b": 0.75, "copies": 2},
        {"step": "rank", "candidates": 0},
    ]


RERANK = [{"step": "seed_lexical"}, {"step": "rank"}]
TWO = [{"step": "seed_dense"}, {"step": "seed_sparse"}]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            [{"step": "seed_lexical", "k2": 1}, *END],
            r"step 1: setting='k2' is unknown: allowed are b, copies, formula, k1",
        ),
        ([{"step": "rank", "depth": 1}], "setting='depth' is unknown: allowed are above, candidates"),
        ([{"step": "seed_dense", "k": 1}, *END], "setting='k' is unknown: allowed are none"),
        ([{"step": "seed_lexical", "k1": "big"}, *END], "k1='big': a number, 0 or more, is allowed"),
        ([{"step": "seed_lexical", "k1": True}, *END], "k1=True: a number"),
        ([{"step": "seed_lexical", "k1": -1}, *END], "k1=-1: a number, 0 or more"),
        ([{"step": "seed_lexical", "language": "dutch"}, *END], "language='dutch': allowed are english, other"),
        (["rank"], "step 1: 'rank' is no step: a table with the key 'step' is allowed"),
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
        ([*RERANK, {"step": "merge"}, {"step": "project"}, {"step": "pack"}], "it has show steps=2"),
        ([*RERANK, {"step": "expand"}, {"step": "expand"}, {"step": "pack"}], "it has expand steps=2"),
        ([*RERANK, {"step": "swap"}, {"step": "show"}, {"step": "pack"}], "in the order seed, rank, swap, show, pack"),
        (
            [*RERANK, {"step": "rerank"}, {"step": "expand"}, {"step": "pack"}],
            "in the order seed, rank, rerank, expand",
        ),
        ([*RERANK, {"step": "filter", "kinds": ["x"]}, {"step": "pack"}], "in the order seed, rank, filter, pack"),
        ([RERANK[0], {"step": "filter"}, *END], "its filter has no setting"),
        ([RERANK[0], {"step": "filter", "kinds": "x"}, *END], "kinds='x': a list of texts, each once"),
        ([RERANK[0], {"step": "filter", "kinds": ["x", "x"]}, *END], "a list of texts, each once"),
        ([RERANK[0], {"step": "filter", "kinds": [1]}, *END], "a list of texts"),
        ([RERANK[0], {"step": "filter", "speaker": "Ann"}, *END], "speaker='Ann': allowed are named"),
        ([RERANK[0], {"step": "filter", "time": True}, *END], "time=True: allowed are until_asked"),
        ([RERANK[0], {"step": "rank", "candidates": -1}, END[1]], "candidates=-1: a whole number, 0 or more"),
        ([RERANK[0], {"step": "rank", "above": "0"}, END[1]], "above='0': a number, 0 or more"),
        ([*RERANK, {"step": "expand", "hops": 0}, {"step": "pack"}], "hops=0: a whole number, 1 or more"),
        ([*RERANK, {"step": "pack", "order": "rank"}], "order='rank': allowed are score, time, random"),
        ([*RERANK, {"step": "pack", "most": 1.5}], "most=1.5: a whole number, 0 or more"),
        ([{"step": "seed_lexical", "formula": "bm25+"}, *END], "formula='bm25.': allowed are lucene, okapi"),
        ([*TWO[:1], {"step": "seed_time"}, {"step": "fuse_weighted"}, *END], "no weight for seed_time"),
        ([*TWO, {"step": "fuse_weighted"}, *END], "fuse_weighted gives seed_sparse no weight"),
        ([*TWO, {"step": "fuse_weighted", "sparse": 1, "multi": 1}, *END], "weighs multi, and no step seeds it"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_and_says_why(steps, message):
    with pytest.raises(UsageError, match=message):
        parse_plan("p", steps)


def test_an_unknown_step_or_plan_is_refused_with_the_names_there_are():
    with pytest.raises(
        NotFoundError, match=r"plan='p' step 1: step='seed_sparce' does not exist: allowed are expand, filter, fuse_rrf"
    ):
        parse_plan("p", [{"step": "seed_sparce"}, *END])
    with pytest.raises(
        NotFoundError,
        match="plan='hybird' does not exist: built in are dense, full, gold, hybrid, lexical, nothing, random, rrf",
    ):
        find_plan("hybird")


def test_all_that_is_wrong_with_a_plan_is_said_at_once_each_with_its_place():
    steps = [
        {"step": "seed_dense", "k": 1},
        {"step": "seed_lexcal"},
        {"step": "rank"},
        {"step": "expand", "relation": ["similar"], "hops": 0},
        {"step": "rerank", "model": "bge-m3"},
        "pack",
    ]
    with pytest.raises(UsageError) as refused:
        parse_plan("p", steps)
    assert not isinstance(refused.value, NotFoundError)
    assert [(problem.path, problem.code) for problem in refused.value.problems] == [
        (("steps", 0, "k"), "usage"),
        (("steps", 1, "step"), "not_found"),
        (("steps", 3, "hops"), "usage"),
        (("steps", 3, "relation"), "usage"),
        (("steps", 4, "model"), "not_found"),
        (("steps", 5), "usage"),
    ]
    lines = refused.value.message.split("\n")
    assert len(lines) == 6
    assert lines[1].startswith("plan='p' step 2: step='seed_lexcal' does not exist")
    assert lines[1].endswith("did you mean 'seed_lexical'?")
    assert lines[3] == (
        "plan='p' step 4: setting='relation' is unknown: allowed are cap, decay, hops, relations, threshold; "
        "did you mean 'relations'?"
    )


def test_the_order_of_steps_is_a_problem_of_all_of_them():
    with pytest.raises(UsageError) as refused:
        parse_plan("p", END)
    (problem,) = refused.value.problems
    assert (problem.path, problem.message[:15]) == (("steps",), "seeds are none;")


def test_every_step_has_its_name_and_the_schema_takes_the_built_in_plans_and_no_others():
    schema = TypeAdapter(list[AnyStep]).json_schema()
    assert set(schema["items"]["discriminator"]["mapping"]) == set(STEPS)
    validator = Draft202012Validator(schema)
    for steps in PLANS.values():
        validator.validate(steps)
    for wrong in ({"step": "seed_dense", "k": 1}, {"step": "rank", "above": -1}, {"candidates": 3}, {"step": "sort"}):
        assert not validator.is_valid([wrong])


def test_a_whole_number_may_be_written_as_a_float_and_a_number_without_a_point():
    plan = parse_plan("p", [{"step": "seed_lexical", "k1": 2, "copies": 3.0}, *END])
    assert (repr(plan.tables()[0]["k1"]), repr(plan.tables()[0]["copies"])) == ("2.0", "3")
