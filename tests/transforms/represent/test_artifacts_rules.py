"""artifacts_rules: which sentences are memories, of which kind, and that each is a slice with exact provenance."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.base.conversation import Conversation, Source
from memlake.transforms.read.catalogue import read_source
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.by_rule.artifact_patterns import KINDS, RULES, kinds_of
from memlake.transforms.represent.by_rule.artifacts_rules import build_artifacts_rules
from memlake.transforms.represent.catalogue import represent, spec_of

Make = Callable[..., pa.Table]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("reminder", "Can you remind me to call the bank?"),
        ("reminder", "Don’t let us forget the keys."),
        ("reminder", "Please remember to lock the shed."),
        ("reminder", "Ana set an alarm."),
        ("todo", "I still need to renew the lease."),
        ("todo", "Ana has to pay the deposit."),
        ("todo", "Gotta pack."),
        ("todo", "We're planning to repaint it."),
        ("todo", "She must return the van."),
        ("todo", "It is on my to-do list."),
        ("decision", "We finally decided to stay."),
        ("decision", "Ana chose the blue one."),
        ("decision", "I've made up my mind."),
        ("decision", "Let's go with the early train."),
        ("decision", "Decided on oak."),
        ("preference", "I really like old maps."),
        ("preference", "Ana can't stand noise."),
        ("preference", "Figs are my favourite."),
        ("preference", "He'd rather walk."),
        ("preference", "They don't like olives."),
        ("preference", "I'm a huge fan of polka."),
        ("event", "Ana gave a talk yesterday."),
        ("event", "We moved three weeks ago."),
        ("event", "The fair is on May 3."),
        ("event", "The fair is on the 3rd of May."),
        ("event", "They met in 2019."),
        ("person_attribute", "I work as a welder."),
        ("person_attribute", "She's from Lima."),
        ("person_attribute", "I'm allergic to nuts."),
        ("person_attribute", "Bo grew up here."),
        ("relationship", "My little sister sings."),
        ("relationship", "Ana's cat is ill."),
        ("relationship", "He is engaged to Bo."),
        ("key_fact", "It costs $40."),
        ("key_fact", "The dog is called Rex."),
        ("key_fact", "We read “Dune”."),
    ],
)
def test_a_sentence_has_the_kind_that_a_reader_would_give_it(kind: str, sentence: str) -> None:
    assert kinds_of(sentence)[:1] == [kind]


@pytest.mark.parametrize(
    "sentence",
    [
        "Do you like figs?",
        'Did she say "Who has to pay?"',
        "Did you go last week? [shares a photo of a lake]",
        "I love that!",
        "I'd like to hear more.",
        "Sounds like a plan.",
        "It must be hard.",
        "I have to say, well done.",
        "You need to relax.",
        "It reminds me of the sea.",
        "They may march in step.",
        "Wow, nice.",
        "我喜欢无花果。",
        "👍",
        "",
    ],
)
def test_what_is_no_memory_by_any_rule_is_left_out(sentence: str) -> None:
    assert kinds_of(sentence) == []


def test_every_kind_has_one_rule() -> None:
    assert len(set(KINDS)) == len(RULES) == 8


@pytest.mark.timeout(60)
def test_no_pattern_backtracks_over_a_hostile_sentence() -> None:
    for piece in ("a", "I ", "I’ve ", " ", "\t", "A", "My a ", '"A', "1.", "(", "really ", "last ", "?)", "[shares "):
        # One that backtracks would take days over this.
        kinds_of(piece * (100_000 // len(piece)))


def test_units_are_slices_that_name_their_speaker_and_quote_the_sentence(
    turns_of: Make, check_slices: Callable[[pa.Table, pa.Table], None]
) -> None:
    turns = turns_of(
        {
            "conv-1": [
                ("8 May, 2023", [("Ana", "Hi! I love jazz. My sister moved to Oslo last week."), ("Bo", "Nice.")]),
                (None, [("李", "  We decided to stay…  ")]),
            ],
            "conv-2": [(None, [("Cy", "Hm")])],
        }
    )
    made = represent(spec_of("artifacts_rules"), turns)
    check_slices(turns, made.units)
    rows = made.units.to_pylist()
    assert [(row["show_text"], row["kind"], row["speaker"], row["session_id"]) for row in rows] == [
        ("[8 May, 2023] Ana: I love jazz.", "preference", "Ana", "s0"),
        ("[8 May, 2023] Ana: My sister moved to Oslo last week.", "event", "Ana", "s0"),
        ("李: We decided to stay…", "decision", "李", "s1"),
    ]
    assert [json.loads(row["attributes"]) for row in rows] == [
        {"grounded": True, "grounding": "exact", "kinds": kinds, "quote": row["show_text"][row["header_chars"] :]}
        for kinds, row in zip([["preference"], ["event", "relationship"], ["decision"]], rows, strict=True)
    ]
    assert [row["ordinal"] for row in rows] == [0, 1, 2]
    pieces = made.provenance.to_pylist()
    assert [(row["turn_id"], row["grounding"], row["touches_text"]) for row in pieces] == [
        ("D0:0", "exact", True),
        ("D0:0", "exact", True),
        ("D1:2", "exact", True),
    ]
    assert [(row["char_start"], row["char_end"]) for row in pieces] == [
        (row["span_start"], row["span_end"]) for row in rows
    ]


@given(data=st.data())
def test_odd_texts_give_slices_only_and_the_same_ones_again(
    data: st.DataObject,
    odd_talks: Any,
    turns_of: Make,
    check_slices: Callable[[pa.Table, pa.Table], None],
) -> None:
    turns = turns_of(data.draw(odd_talks))
    made = represent(spec_of("artifacts_rules"), turns)
    check_slices(turns, made.units)
    again = represent(spec_of("artifacts_rules"), turns)
    assert made.units.equals(again.units)
    assert made.provenance.equals(again.provenance)


def test_locomo_has_memories_of_every_kind_within_a_small_share_of_its_turns(shared_data: Path) -> None:
    items = read_source(Source(str(shared_data / "locomo/locomo10.json")))
    turns = tabulate("c", [item for item in items if isinstance(item, Conversation)], 1)["turns"]
    made = build_artifacts_rules(spec_of("artifacts_rules"), turns)
    assert set(made.units["kind"].to_pylist()) == set(KINDS)
    assert 800 < made.units.num_rows < 3000
