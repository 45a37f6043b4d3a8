"""Statements with quotes: what artifacts and propositions have in common, from the settings to the units.

A unit shows the statement's `content`; what is shown as a quote is always the source's own characters, never the model's.
`key_text` is `show_text` by default, so that what is compared is what is stored; key=content_quote also indexes the words
that were said. A statement without a quote that is there is kept and flagged (attributes: grounded, grounding), and shows
its content alone; it is left out by ungrounded=drop, and where show or key is the quote alone. header=none leaves the session
date out of both texts. Statements of one piece that say the same are one; merge=overlap also leaves out those of a second
pass that share more than 0.8 of their words with one of the first. None of `show`, `key`, `ungrounded`, `header` and `merge`
is part of a request: other values of these cost no call.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from memlake.transforms.represent.by_model.asked import (
    ASKING_SETTINGS,
    PUBLISHED_SETTINGS,
    asked_of,
    check_asking_settings,
    check_published_asking,
    list_need,
    representation_of_answers,
)
from memlake.transforms.represent.by_model.extracted import Item, Tally, extracted_units
from memlake.transforms.represent.by_model.extraction import Answer, PieceRequest
from memlake.transforms.represent.by_model.folding import fold, shows_nothing
from memlake.transforms.represent.by_model.grounding import Grounded, Source, cited_turns, ground
from memlake.transforms.represent.by_model.pieces import Piece
from memlake.transforms.represent.common.checks import check_choices
from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Settings, Units
from memlake.transforms.text.dates import parse_time

Fields = Mapping[str, Mapping[str, Any]]
TEXT: dict[str, Any] = {"type": "string"}
TEXT_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
_TEXTS = ("content", "content_quote", "quote")
_UNGROUNDED = ("keep", "drop")
_HEADERS = ("every", "none")
_MERGES = ("same", "overlap")
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
_CLOCKED = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What models write when they know nothing.
_NO_YEARS = (1, 9999)
# Statements that share more of their words say the same, by merge=overlap.
_SAME = 0.8


@dataclass(frozen=True, slots=True)
class Quoted:
    """One kind of statement.

    Attributes:
        name: of the representation, its prompt, its schema, and the list in a reply.
        fields: JSON Schema of each field of a statement, in the order in which a model writes them; content, quote,
            speaker, resolved_time and turns are among them.
        kind: of every unit; '' where a statement says its own, in the field `type`.
        of_text, of_turn: how many tokens the statements of a piece need, by its text and by its turns (see `list_need`).
    """

    name: str
    fields: Fields
    kind: str
    of_text: float
    of_turn: int

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of a reply."""
        statement = object_of(self.fields)
        return object_of({self.name: {"type": "array", "items": statement}})

    def representation(self) -> Representation:
        """The representation that stores such statements."""
        settings = {"prompt": self.name, "show": "content", "key": "content", "ungrounded": "keep"}
        return representation_of_answers(
            self.name,
            {**ASKING_SETTINGS, **settings, **PUBLISHED_SETTINGS},
            check=_check,
            request=self.request,
            units=self.units,
        )

    def request(self, settings: Settings) -> PieceRequest:
        """What is asked of every piece."""
        return asked_of(
            settings,
            schema_name=self.name,
            schema=self.schema,
            items=self.name,
            need=lambda piece: list_need(piece, of_text=self.of_text, of_turn=self.of_turn),
            refused=_without_content,
        )

    def units(self, spec: RepresentationSpec, _: pa.Table, answers: Sequence[Answer]) -> Units:
        """Make statements units; those of one piece that say the same are one, with the provenance of all."""
        tallies = [Tally() for _ in answers]
        items = [
            item
            for place, answer in enumerate(answers)
            for item in _items_of(place, answer, spec.settings, self.kind, tallies[place])
        ]
        return extracted_units(spec, answers, items, tallies)


def _check(settings: Settings) -> None:
    check_asking_settings(settings)
    check_choices(settings, show=_TEXTS, key=_TEXTS, ungrounded=_UNGROUNDED, header=_HEADERS, merge=_MERGES)
    check_published_asking(settings)


def object_of(fields: Fields) -> dict[str, Any]:
    """JSON Schema of an object that has these fields and no other, as strict servers want it."""
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def partial_date(text: str | None) -> datetime | None:
    """The first instant of a date that may be partial (2023, 2023-05, 2023-05-08), or an ISO time; None for anything else.

    The calendar's first and last year are no dates: they stand for unknown ones.
    """
    moment = _moment((text or "").strip())
    return moment if moment and moment.year not in _NO_YEARS else None


def _moment(text: str) -> datetime | None:
    date = _DATE.fullmatch(text)
    if date:
        year, month, day = (int(part or 1) for part in date.groups())
        try:
            return datetime(year, month, day, tzinfo=UTC)
        except ValueError:
            return None
    parsed = parse_time(text) if _CLOCKED.match(text) else None
    return _EPOCH + timedelta(microseconds=parsed[0]) if parsed else None


def speaker_in(piece: Piece, name: str | None) -> str | None:
    """The piece's speaker that a model names, as the transcript writes them; None when there is none of that name."""
    folded = fold(name or "").text
    return next((speaker for speaker in piece.speakers if name == speaker or fold(speaker).text == folded), None)


def _without_content(item: Mapping[str, Any]) -> str:
    return "content is blank" if shows_nothing(item["content"]) else ""


def _items_of(place: int, answer: Answer, settings: Settings, kind: str, tally: Tally) -> list[Item]:
    source = Source(answer.piece)
    same: dict[tuple[str, str], list[tuple[Mapping[str, Any], Grounded]]] = {}
    for statement in _said_first(answer) if settings["merge"] == "overlap" else answer.items:
        found = ground(statement["quote"], source, statement["turns"])
        key = kind or statement["type"], fold(statement["content"]).text.rstrip(" .!")
        same.setdefault(key, []).append((statement, found))
    tally.duplicates = len(answer.items) - len(same)
    items = []
    for group in same.values():
        # The first that is grounded speaks for the others.
        said, found = next(((said, found) for said, found in group if found.grounding != "none"), group[0])
        tally.count(found.grounding)
        text, key_text = (_text(said["content"].strip(), found, str(settings[name])) for name in ("show", "key"))
        if text and key_text and (found.grounding != "none" or settings["ungrounded"] == "keep"):
            items.append(
                Item(
                    answer=place,
                    kind=kind or said["type"],
                    text=text,
                    key=key_text,
                    grounded=tuple(found for _, found in group),
                    speaker=speaker_in(answer.piece, said["speaker"]),
                    at=partial_date(said["resolved_time"]),
                    attributes=_attributes(answer.piece, said, found, len(group) - 1),
                )
            )
    return items


def _said_first(answer: Answer) -> list[Mapping[str, Any]]:
    """The items without those of a second pass that share more than 0.8 of the smaller one's words with one of the first."""
    split = len(answer.items) - answer.second
    first, second = answer.items[:split], answer.items[split:]
    words_of_first = [_words(item) for item in first]

    def is_said(item: Mapping[str, Any]) -> bool:
        words = _words(item)
        return any(_overlap(words, others) > _SAME for others in words_of_first)

    return [*first, *(item for item in second if not is_said(item))]


def _words(item: Mapping[str, Any]) -> set[str]:
    return set(fold(item["content"]).text.split())


def _overlap(words: set[str], others: set[str]) -> float:
    least = min(len(words), len(others))
    return len(words & others) / least if least else float(words == others)


def _text(content: str, found: Grounded, form: str) -> str:
    """What is shown or indexed; '' for a quote that is not there."""
    if form == "quote":
        return found.source
    if form == "content" or not found.source:
        return content
    return f'{content} "{found.source}"'


def _attributes(piece: Piece, said: Mapping[str, Any], found: Grounded, duplicates: int) -> dict[str, object]:
    cited = cited_turns(piece, said["turns"])
    as_said = ("quote", "confidence", "time_expression", "resolved_time")
    attributes: dict[str, object] = {
        **{name: said[name] for name in as_said if name in said},
        "grounded": found.grounding != "none",
        "grounding": found.grounding,
        "cited_turn_ids": [piece.turns[number].turn_id for number in cited],
    }
    beside = {
        "occurrences": found.occurrences if found.occurrences > 1 else 0,
        "score": round(found.score, 1) if found.grounding == "fuzzy" else 0,
        "duplicates": duplicates,
        "unresolved_turns": [int(number) for number in said["turns"] if number - 1 not in cited],
        "unknown_speaker": said["speaker"] if said["speaker"] and not speaker_in(piece, said["speaker"]) else "",
    }
    return attributes | {name: value for name, value in beside.items() if value}
