"""What a wish for a representation comes to, and what all representations share."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from memlake.schemas.links import LINKS
from memlake.schemas.provenance import PROVENANCE
from memlake.schemas.units import UNITS
from memlake.transforms.base.conversation import Conversation
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.ids import content_id
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.catalogue import REPRESENTATIONS, represent, spec_of

TALK = {
    "conv-1": [
        ("8 May, 2023", [("Ann", "Hi there. We met at 5 yesterday."), ("Bob", "Good!")]),
        (None, [("Ann", "Late, sorry.")]),
    ],
    "conv-2": [("9 May, 2023", [("Cy", "你好。")])],
}

BY_RULE = [name for name, representation in REPRESENTATIONS.items() if representation.build]
ASKING = [name for name, representation in REPRESENTATIONS.items() if representation.asking]


def test_a_representation_is_made_by_rule_or_with_a_model() -> None:
    assert sorted(BY_RULE + ASKING) == sorted(REPRESENTATIONS)


@pytest.mark.parametrize("kind", ASKING)
def test_one_that_asks_needs_a_model_which_is_no_setting_of_its_name(kind: str) -> None:
    with pytest.raises(UsageError, match="asks a model"):
        spec_of(kind)
    made = spec_of(kind, model="m", provider="p")
    assert (made.settings["model"], made.settings["provider"]) == ("m", "p")
    assert spec_of(f"{kind}:model=m", provider="p") == made
    assert spec_of(kind, model="n", provider="p").settings_hash != made.settings_hash


def test_a_kind_stands_for_its_defaults() -> None:
    made = spec_of("chunks")
    assert (made.name, made.kind, dict(made.settings)) == ("chunks", "chunks", {"size": 512, "overlap": 100})
    assert made.settings_hash == content_id("chunks", '{"overlap":100,"size":512}', 1)
    assert spec_of("chunks:size=512", {"overlap": 100}) == made


def test_other_settings_go_by_another_name() -> None:
    made = spec_of("chunks-o0:overlap=0,size=256")
    assert (made.name, made.kind, dict(made.settings)) == ("chunks-o0", "chunks", {"size": 256, "overlap": 0})
    assert spec_of("chunks-o0:overlap=5", {"overlap": "0", "size": 256}) == made
    assert made.settings_hash != spec_of("chunks").settings_hash


def test_a_kinds_own_name_with_other_settings_is_refused_with_a_name_that_works() -> None:
    with pytest.raises(UsageError) as refused:
        spec_of("chunks:overlap=0")
    wish = refused.value.hint.removeprefix("ask for ")
    assert spec_of(wish).settings["overlap"] == 0


@pytest.mark.parametrize("name", ["chunk", "chunksy", "observations", "x-chunks"])
def test_an_unknown_name_is_not_found(name: str) -> None:
    with pytest.raises(NotFoundError, match=re.escape(repr(name))):
        spec_of(name)


def test_a_near_miss_is_named() -> None:
    with pytest.raises(NotFoundError) as refused:
        spec_of("sentence")
    assert "sentences" in refused.value.hint


@pytest.mark.parametrize(
    "spec",
    [
        "chunks-a:width=3",
        "turns-a:size=3",
        "chunks-a:size",
        "chunks-a:size=",
        "chunks-a:=3",
        "chunks-a:size=3,size=4",
        "chunks-a:size=many",
        "chunks-a:size=3.5",
        "chunks-a:size=true",
        "chunks-../x",
        "chunks-a__b",
        "",
    ],
)
def test_a_wish_that_cannot_be_read_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        spec_of(spec)


def test_a_setting_of_another_type_is_refused() -> None:
    for value in (True, 1.5):
        with pytest.raises(UsageError, match="is not int"):
            spec_of("chunks-a", {"size": value})


@pytest.mark.parametrize("kind", BY_RULE)
def test_every_representation_keeps_to_the_tables(kind: str, turns_of: Callable[..., pa.Table]) -> None:
    for talk in (TALK, {}):
        made = represent(spec_of(kind), turns_of(talk))
        assert (made.units.schema, made.provenance.schema) == (UNITS.schema, PROVENANCE.schema)
        assert made.links.equals(LINKS.empty())
        made.units.validate(full=True)
        made.provenance.validate(full=True)


@pytest.mark.parametrize("kind", BY_RULE)
def test_identity_follows_from_content_alone(kind: str, turns_of: Callable[..., pa.Table]) -> None:
    made = spec_of(kind)
    units = represent(made, turns_of(TALK)).units
    assert units.equals(represent(made, turns_of(TALK)).units)
    assert units["unit_id"].to_pylist() == [
        content_id("c", row["conversation_id"], kind, made.settings_hash, row["ordinal"], row["show_text"])
        for row in units.to_pylist()
    ]


@pytest.mark.parametrize("kind", BY_RULE)
def test_every_unit_has_provenance_in_order(kind: str, turns_of: Callable[..., pa.Table]) -> None:
    made = represent(spec_of(kind), turns_of(TALK))
    first = [row["unit_id"] for row in made.provenance.to_pylist() if row["piece"] == 0]
    assert first == made.units["unit_id"].to_pylist()
    assert all(made.provenance[name][0].as_py() == made.units[name][0].as_py() for name in ("corpus", "representation"))


# artifacts_rules knows no sentence of the last conversation, and a unit of date_windows tells when its date is.
@pytest.mark.parametrize("kind", [kind for kind in BY_RULE if kind not in ("artifacts_rules", "date_windows")])
def test_a_unit_tells_when_its_first_turn_was_said(
    kind: str, conversations_of: Callable[[Any], list[Conversation]]
) -> None:
    said, met = datetime(2023, 5, 8, 13, 56, tzinfo=UTC), datetime(2023, 5, 9, tzinfo=UTC)
    conversations = conversations_of(TALK)
    conversations[0].said_at[0] = int(said.timestamp()) * 1_000_000
    conversations[0].sessions[0].at = conversations[1].sessions[0].at = int(met.timestamp()) * 1_000_000
    units = represent(spec_of(kind), tabulate("c", conversations, 1)["turns"]).units.to_pylist()
    assert units[0]["event_at"] == said
    assert {unit["event_at"] for unit in units if unit["session_id"] == "s1"} <= {None}
    assert {unit["event_at"] for unit in units if unit["conversation_id"] == "conv-2"} <= {met}


def test_making_of_an_unknown_kind_is_not_found(turns_of: Callable[..., pa.Table]) -> None:
    made = spec_of("chunks")
    with pytest.raises(NotFoundError):
        represent(type(made)("x", "supplied", {}, "", 1), turns_of(TALK))


@pytest.mark.parametrize("kind", REPRESENTATIONS)
def test_advice_after_an_unknown_setting_is_a_representation_that_can_be_asked_for(kind: str):
    with pytest.raises(UsageError, match="has no setting 'nonesuch'") as refused:
        spec_of(f"{kind}-x:nonesuch=1", model="m")
    assert spec_of(refused.value.hint.rpartition(" ")[2], model="m").kind == kind
