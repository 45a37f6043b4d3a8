"""keyphrases and facts: the text itself is what is shown, and what a model extracted from it is what is indexed.

A unit is a slice of the transcript (setting `value`: turn, exchange or session) behind its date header, as exact as any
other slice. Its key_text is the header and the keys of its turns (key=keys), or its show_text and the keys (key=value_keys).
A value for whose turns the model gave no key is indexed by its own text; its attribute `keys` is the empty list then. `value`
and `key` are no part of a request: other values of these cost no call.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import filterfalse
from typing import Any

import numpy as np
import pyarrow as pa

from memlake.schemas.table import settings_json
from memlake.transforms.represent.by_model.asked import (
    ASKING_SETTINGS,
    asked_of,
    check_asking_settings,
    list_need,
    representation_of_answers,
)
from memlake.transforms.represent.by_model.extracted import Tally, accounts_of
from memlake.transforms.represent.by_model.extraction import Answer, PieceRequest
from memlake.transforms.represent.by_model.folding import fold, shows_nothing
from memlake.transforms.represent.by_model.pieces import Piece, pieces_of
from memlake.transforms.represent.by_model.quoted import object_of
from memlake.transforms.represent.common.checks import check_choices
from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Settings, Units
from memlake.transforms.represent.common.units import slice_units, with_columns
from memlake.transforms.text.canonical import Transcript, spoken, transcript_of

VALUES = ("turn", "exchange", "session")
KEYS = ("value_keys", "keys")
# What stands between two keys: facts are sentences.
_BETWEEN = {"keyphrases": "; ", "facts": " "}
_SETTINGS: Settings = {name: value for name, value in ASKING_SETTINGS.items() if name != "second_pass"}
Place = tuple[str, int]


def _schema(kind: str) -> dict[str, Any]:
    """JSON Schema of a reply that gives keys turn by turn."""
    item = object_of({"turn": {"type": "integer"}, kind: {"type": "array", "items": {"type": "string"}}})
    return object_of({"turns": {"type": "array", "items": item}})


def _check(settings: Settings) -> None:
    check_asking_settings(settings)
    check_choices(settings, value=VALUES, key=KEYS)


def _units(spec: RepresentationSpec, turns: pa.Table, answers: Sequence[Answer], *, kind: str) -> Units:
    """Make each value a unit that the keys of its turns index."""
    answers, keys, merged = _keys_of(answers, kind)
    values = pieces_of(turns, granularity=str(spec.settings["value"]))
    slices = _slices(spec, transcript_of(turns), values)
    of_value = [_distinct(keys, value) for value in values]
    key_text = [
        _key_text(shown, chars, own, _BETWEEN[kind], whole=spec.settings["key"] == "value_keys")
        for shown, chars, own in zip(
            slices.units["show_text"].to_pylist(), slices.units["header_chars"].to_pylist(), of_value, strict=True
        )
    ]
    attributes = [settings_json({"keys": own}) for own in of_value]
    units = with_columns(
        slices.units, key_text=pa.array(key_text, pa.string()), attributes=pa.array(attributes, pa.string())
    )
    extractions, dead, unfinished = accounts_of(spec, answers, _tallies(answers, merged, values))
    return Units(units, slices.provenance, slices.links, extractions, dead, unfinished)


def _keys_of(answers: Sequence[Answer], kind: str) -> tuple[list[Answer], Mapping[Place, Mapping[str, str]], list[int]]:
    """The keys by turn, folded to as written; answers with items of turns that are not there dropped; keys said twice."""
    keys: defaultdict[Place, dict[str, str]] = defaultdict(dict)
    kept, merged = [], []
    for answer in answers:
        turns = answer.piece.turns
        here = [item for item in answer.items if 1 <= item["turn"] <= len(turns)]
        twice = 0
        for item in here:
            of_turn = keys[answer.piece.conversation_id, turns[int(item["turn"]) - 1].ordinal]
            for key in filterfalse(shows_nothing, map(str.strip, item[kind])):
                folded = fold(key).text
                twice += folded in of_turn
                of_turn.setdefault(folded, key)
        merged.append(twice)
        lost = len(answer.items) - len(here)
        kept.append(_without(answer, here, lost) if lost else answer)
    return kept, keys, merged


def _without(answer: Answer, here: Sequence[Mapping[str, Any]], lost: int) -> Answer:
    detail = answer.detail or f"{lost} items name a turn that is not among the {len(answer.piece.turns)} of the piece"
    outcome = answer.outcome if here else "empty"
    raw = answer.raw or settings_json({"turns": list(answer.items)})
    return replace(answer, outcome=outcome, items=tuple(here), dropped=answer.dropped + lost, detail=detail, raw=raw)


def _distinct(keys: Mapping[Place, Mapping[str, str]], value: Piece) -> list[str]:
    found: dict[str, str] = {}
    for turn in value.turns:
        for folded, key in keys.get((value.conversation_id, turn.ordinal), {}).items():
            found.setdefault(folded, key)
    return list(found.values())


def _key_text(shown: str, header_chars: int, keys: Sequence[str], between: str, *, whole: bool) -> str:
    if not keys:
        return shown
    lead = f"{shown}\n" if whole else shown[:header_chars]
    return lead + between.join(keys)


def _slices(spec: RepresentationSpec, transcript: Transcript, values: Sequence[Piece]) -> Units:
    """The values as slices: neighbouring turns without the line break after the last."""
    lengths = np.array([len(value.turns) for value in values], np.int64)
    past = np.cumsum(lengths)
    start, end = transcript.start[past - lengths], transcript.text_end[past - 1]
    return slice_units(spec, transcript, kind=str(spec.settings["value"]), start=start, end=end)


def _tallies(answers: Sequence[Answer], merged: Sequence[int], values: Sequence[Piece]) -> list[Tally]:
    """A value counts with the first answer that its first turn is of; as a slice it stands in the source exactly."""
    tallies = [Tally(duplicates=twice) for twice in merged]
    first: dict[Place, int] = {}
    for number, answer in enumerate(answers):
        for turn in answer.piece.turns:
            first.setdefault((answer.piece.conversation_id, turn.ordinal), number)
    for value in values:
        tally = tallies[first[value.conversation_id, value.turns[0].ordinal]]
        tally.units += 1
        tally.exact += 1
        tally.stored_chars += value.turns[-1].end - value.turns[0].start + len(spoken(value.turns[0].speaker))
    return tallies


def _request(settings: Settings, *, kind: str) -> PieceRequest:
    of_text = 0.5 if kind == "keyphrases" else 1.3
    return asked_of(
        settings,
        schema_name=kind,
        schema=_schema(kind),
        items="turns",
        need=lambda piece: list_need(piece, of_text=of_text, of_turn=30),
    )


def _representation(kind: str) -> Representation:
    return representation_of_answers(
        kind,
        {**_SETTINGS, "prompt": kind, "value": VALUES[0], "key": KEYS[0]},
        check=_check,
        request=partial(_request, kind=kind),
        units=partial(_units, kind=kind),
    )


KEYPHRASES = _representation("keyphrases")
FACTS = _representation("facts")
