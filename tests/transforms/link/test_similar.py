"""Links are what a plain double loop over the units of a conversation would make."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import rows_of

from memlake.schemas import LINKS, UNITS
from memlake.transforms.base.arrays import GRID, on_grid
from memlake.transforms.base.errors import UsageError
from memlake.transforms.link import similar
from memlake.transforms.link.settings import LinkSettings
from memlake.transforms.link.similar import STOP_WORDS, link_rows, similar_units, texts_of

WORDS = ["Garden", "garden", "river", "the", "with", "ok", "x1y2", "Straße", "STRASSE", "river_bed", "2024"]


def plainly(vectors, texts, chosen):
    """(source, target, weight, by_word) of every link, by looking at each pair."""
    cosine = (on_grid(vectors) @ on_grid(vectors).T / GRID**2).astype(np.float32)
    words = [{word.casefold() for word in re.split(r"[\W\d_]+", text) if len(word) >= 3} - STOP_WORDS for text in texts]
    links = []
    for source in range(len(vectors)):
        near = []
        for target in range(len(vectors)):
            if source == target or np.isnan(vectors[[source, target]]).any():
                continue
            weight = cosine[source, target]
            by_word = (
                weight < chosen.threshold
                and chosen.shared_word_threshold is not None
                and weight >= chosen.shared_word_threshold
                and bool(words[source] & words[target])
            )
            if weight >= chosen.threshold or by_word:
                near.append((source, target, weight, by_word))
        near.sort(key=lambda link: (-link[2], link[1]))
        links += near[: chosen.k or None]
    return links


def found(vectors, texts, chosen):
    edges = similar_units(vectors, texts, chosen)
    return list(zip(edges.source, edges.target, edges.weight, edges.by_word, strict=True))


def some(seed, units, dimension=4):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((units, dimension), dtype=np.float32)
    return vectors, [" ".join(rng.choice(WORDS, 3)) for _ in range(units)]


@pytest.mark.parametrize("k", [0, 1, 4])
@pytest.mark.parametrize("lower", [None, 0.3, -1.0])
def test_links_are_those_of_a_loop_over_all_pairs(k, lower, monkeypatch):
    monkeypatch.setattr(similar, "_BLOCK", 17)
    vectors, texts = some(1, 60)
    vectors[5], vectors[9], vectors[20:31] = np.nan, 0, vectors[19]
    chosen = LinkSettings(0.5, k, lower)
    links = found(vectors, texts, chosen)
    assert links == plainly(vectors, texts, chosen)
    assert any(link[3] for link in links) == (lower is not None and not (k and lower == 0.3))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 12), st.integers(0, 5), st.sampled_from([None, 0.0, 0.5]), st.integers(0, 2**32 - 1))
def test_few_units_with_many_ties_are_linked_as_by_the_loop(units, k, lower, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-1, 2, (units, 2)).astype(np.float32)
    texts = [" ".join(rng.choice(WORDS, 2)) for _ in range(units)]
    chosen = LinkSettings(0.5, k, lower)
    assert found(vectors, texts, chosen) == plainly(vectors, texts, chosen)


def test_a_unit_among_many_copies_of_itself_is_linked_to_the_first_of_the_others():
    vectors = np.ones((30, 3), np.float32)
    edges = similar_units(vectors, [""] * 30, LinkSettings(k=2))
    assert edges.target.reshape(30, 2).tolist() == [[1, 2], [0, 2]] + [[0, 1]] * 28
    assert (edges.weight == 1).all()


def test_stop_words_short_words_and_numbers_are_no_words_in_common():
    vectors = np.eye(2, dtype=np.float32)
    chosen = LinkSettings(0.5, 0, 0.0)
    for texts in (["with you", "with me and you"], ["ok ok", "ok"], ["2024 a1b2", "2024 a1b2"]):
        assert found(vectors, texts, chosen) == []
    assert len(found(vectors, ["the RIVER.", "a river!"], chosen)) == 2


def test_a_date_header_is_no_word_in_common_and_a_key_of_its_own_is_taken_whole():
    header = "[1 May, 2023] "
    units = rows_of(
        UNITS,
        [
            {"key_text": f"{header}swim", "show_text": f"{header}swim", "header_chars": len(header)},
            {"key_text": "May plans", "show_text": f"{header}swim", "header_chars": len(header)},
            {"key_text": "no header", "show_text": "no header", "header_chars": 0},
        ],
    )
    assert texts_of(units) == ["swim", "May plans", "no header"]


def test_rows_name_both_units_and_say_where_a_word_made_the_link():
    units = rows_of(UNITS, [{"representation": "turns", "unit_id": name} for name in "ab"])
    vectors, chosen = np.array([[1, 0], [3, 4]], np.float32), LinkSettings(0.9, 0, 0.5, "near")
    rows = link_rows(units, similar_units(vectors, ["river", "river"], chosen), "near")
    assert rows.schema.equals(LINKS.schema)
    assert [row | {"weight": round(row["weight"], 6)} for row in rows.to_pylist()] == [
        {
            "corpus": "c", "conversation_id": "v", "representation": "turns", "source_unit": source,
            "target_unit": target, "relation": "near", "description": "shares a word", "weight": 0.6,
        }
        for source, target in ("ab", "ba")
    ]  # fmt: skip
    assert rows["weight"][0].as_py() == float(np.float32(0.6))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"threshold": 1.5}, "threshold=1.5"),
        ({"threshold": float("nan")}, "threshold=nan"),
        ({"k": -1}, "k=-1"),
        ({"threshold": 0.4, "shared_word_threshold": 0.5}, "shared_word_threshold=0.5"),
        ({"relation": "a:b"}, "relation='a:b'"),
        ({"relation": "../x"}, "relation='../x'"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        LinkSettings(**wrong)


def test_every_setting_is_part_of_the_hash():
    others = [{}, {"threshold": 0.6}, {"k": 9}, {"shared_word_threshold": 0.3}, {"relation": "near"}]
    assert len({LinkSettings(**other).settings_hash for other in others}) == len(others)
