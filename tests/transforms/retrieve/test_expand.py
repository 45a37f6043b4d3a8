import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlake.transforms.base.errors import UsageError

TALK = [("8 May", [("Ann", f"word{n}") for n in range(8)])]


def memory_with(memory_of, *links):
    """Units u0 to u7, one a turn; links as (from, to, weight, relation)."""
    memory = memory_of(TALK)
    for n, turn in enumerate(memory.turns.to_pylist()):
        memory.slice(f"u{n}", turn["char_start"], turn["char_end"])
    for source, target, *more in links:
        weight, relation = (*more, *(1.0, "similar")[len(more) :])
        memory.link(f"u{source}", f"u{target}", weight=weight, relation=relation)
    return memory


def plan(*more, candidates=1, **settings):
    ends = [{"step": "seed_lexical"}, *more, {"step": "rank", "candidates": candidates}]
    return [*ends, {"step": "expand", **settings}, {"step": "pack"}]


def test_neighbours_join_in_both_directions_and_score_less_than_their_parent(memory_of, asked, searched, ranks):
    store = memory_with(memory_of, (0, 1), (2, 0), (1, 3)).store()
    found = searched(plan(), store, asked("word0", "word7"))
    assert ranks(found) == ["u0", "u1", "u2"]
    scores = found.retrievals["score"].to_pylist()
    assert scores[1] == scores[2] == pytest.approx(0.8 * scores[0], rel=1e-6)
    assert ranks(found, "q1") == ["u7"]
    assert found.reached.tolist() == [3 / 8, 1 / 8]
    assert found.contexts["store_share"].to_pylist() == [3 / 8, 1 / 8]


def test_a_neighbour_takes_the_best_parent_and_may_pass_a_worse_candidate(memory_of, asked, searched, ranks):
    store = memory_with(memory_of, (0, 4), (1, 4), (1, 5)).store()
    found = searched(plan(candidates=2), store, asked("word0 word0 word0 word1"))
    assert ranks(found) == ["u0", "u4", "u1", "u5"]
    scores = dict(zip(ranks(found), found.retrievals["score"].to_pylist(), strict=True))
    assert scores["u4"] == pytest.approx(0.8 * scores["u0"], rel=1e-6)
    assert scores["u5"] == pytest.approx(0.8 * scores["u1"], rel=1e-6)


def test_hops_compound_and_no_unit_comes_back_at_a_lower_score(memory_of, asked, searched, ranks):
    store = memory_with(memory_of, (0, 1), (1, 2), (2, 3), (3, 0)).store()
    one_hop, three_hops = (searched(plan(hops=hops), store, asked("word0")) for hops in (1, 3))
    assert ranks(one_hop) == ["u0", "u1", "u3"]
    assert ranks(three_hops) == ["u0", "u1", "u3", "u2"]
    scores = three_hops.retrievals["score"].to_pylist()
    assert np.array(scores[1:]) / scores[0] == pytest.approx([0.8, 0.8, 0.64], rel=1e-6)


def test_the_cap_is_of_a_question_nearer_hops_first_then_by_score_and_id(memory_of, asked, searched, ranks):
    store = memory_with(memory_of, (0, 3), (0, 2), (2, 5), (3, 1)).store()
    kept = [ranks(searched(plan(cap=cap, hops=2), store, asked("word0"))) for cap in (1, 2, 3)]
    # With a cap of 1 only u2 joins, and nothing may follow it.
    assert kept == [["u0", "u2"], ["u0", "u2", "u3"], ["u0", "u2", "u3", "u1"]]


def test_weak_links_and_other_relations_are_not_followed(memory_of, asked, searched, ranks):
    store = memory_with(memory_of, (0, 1, 0.4), (0, 2, 0.5), (0, 3, 0.9, "caused_by")).store()
    assert ranks(searched(plan(threshold=0.5), store, asked("word0"))) == ["u0", "u2", "u3"]
    assert ranks(searched(plan(relations=["similar"]), store, asked("word0"))) == ["u0", "u1", "u2"]
    assert ranks(searched(plan(relations=["caused_by", "other"]), store, asked("word0"))) == ["u0", "u3"]


def test_what_a_filter_took_out_does_not_come_back_by_a_link(memory_of, asked, searched, ranks):
    memory = memory_with(memory_of, (0, 1), (0, 2), (1, 3))
    memory.units[1]["kind"] = "other"
    steps = plan({"step": "filter", "kinds": ["chunk"]}, hops=2)
    assert ranks(searched(steps, memory.store(), asked("word0"))) == ["u0", "u2"]


def test_a_score_below_0_is_not_raised_by_its_decay(memory_of, asked, searched, ranks):
    memory = memory_with(memory_of, (0, 1))
    vectors = np.array([[-1, 0], *[[-1, -n] for n in range(1, 8)]], np.float32)
    steps = [{"step": "seed_dense"}, {"step": "rank", "candidates": 7}, {"step": "expand"}, {"step": "pack"}]
    found = searched(steps, memory.store(vectors=vectors), asked("?"), question_vectors=np.float32([[1, 0]]))
    scores = dict(zip(ranks(found), found.retrievals["score"].to_pylist(), strict=True))
    # u0 comes by its link to u1, the last of the candidates, and stands beside it.
    assert scores["u0"] == scores["u1"] == pytest.approx(-(0.5**0.5), abs=1e-6)


def test_links_to_units_of_elsewhere_do_no_harm_and_no_links_add_nothing(memory_of, asked, searched, ranks):
    memory = memory_with(memory_of)
    assert ranks(searched(plan(), memory.store(), asked("word0"))) == ["u0"]
    memory.link("u0", "gone")
    assert ranks(searched(plan(), memory.store(), asked("word0"))) == ["u0"]
    with pytest.raises(UsageError, match="needs links"):
        searched(plan(), memory.store(links=None), asked("word0"))


@settings(max_examples=60, deadline=None)
@given(
    links=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from([0.2, 0.6, 1.0])), max_size=14),
    hops=st.integers(1, 3),
    cap=st.sampled_from([0, 1, 3]),
    candidates=st.integers(1, 4),
)
def test_the_same_joins_as_one_neighbour_at_a_time(links, hops, cap, candidates, memory_of, asked, searched, ranks):
    store = memory_with(memory_of, *links).store()
    questions = asked("word0 word0 word1 word2", "word5 word5 word6")
    seeds = [{"step": "seed_lexical"}, {"step": "rank", "candidates": candidates}, {"step": "pack"}]
    before = searched(seeds, store, questions)
    found = searched(plan(candidates=candidates, hops=hops, cap=cap, threshold=0.5), store, questions)
    for question in ("q0", "q1"):
        rows = [row for row in before.retrievals.to_pylist() if row["question_id"] == question]
        score = {row["unit_id"]: np.float32(row["score"]) for row in rows}
        reached, left = dict(score), cap or 99
        for _ in range(hops):
            new = {}
            for start, end, weight in links:
                for source, target in ((f"u{start}", f"u{end}"), (f"u{end}", f"u{start}")):
                    if weight >= 0.5 and source in reached and target not in score:
                        new[target] = max(new.get(target, 0), np.float32(float(reached[source]) * 0.8))
            reached = dict(sorted(new.items(), key=lambda scored: (-scored[1], scored[0]))[:left])
            score |= reached
            left -= len(reached)
        assert ranks(found, question) == sorted(score, key=lambda name: (-score[name], name))
