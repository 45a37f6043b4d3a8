"""The browser's data: for every question its gold turns, what each cell stored of them, found, showed, answered and scored.

Compact, since it goes into a page: cells, representations, metrics, turns and units are numbers that count within their
lists, units and turns within a conversation; what is empty is left out. Ranges are of Unicode code points.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.report.data.browser_rows import BrowserRows, asked_of, browser_rows
from memlake.transforms.report.data.cells import CellCard
from memlake.transforms.report.data.document import Browser, Row
from memlake.transforms.report.data.numbers import at_of
from memlake.transforms.report.data.words import Word, ranges_without, token_sets, words_of
from memlake.transforms.study.study import Study
from memlake.transforms.text.content_tokens import Language

Key = tuple[str, str]


def browser(
    connection: duckdb.DuckDBPyConnection,
    source: duckdb.DuckDBPyConnection,
    run_id: str,
    study: Study,
    cards: Sequence[CellCard],
    *,
    forgotten: Mapping[str, frozenset[str]],
    questions: int | None = None,
) -> Browser:
    """What the page browses.

    Args:
        connection: the snapshot that holds the run's rows.
        source: the snapshot that the run read.
        forgotten: by corpus, conversations whose text must not be shown, whatever snapshot holds it.
        questions: keep so many, those on which cells differ first; None keeps all.
    """
    asked = asked_of(connection, run_id)
    gone = pa.array(
        [
            conversation in forgotten.get(corpus, frozenset())
            for corpus, conversation in zip(
                asked["corpus"].to_pylist(), asked["conversation_id"].to_pylist(), strict=True
            )
        ],
        pa.bool_(),
    )
    allowed = asked.filter(pc.invert(gone))
    rows = browser_rows(connection, source, run_id, cards, allowed, study.headline)
    names = list(dict.fromkeys(card.cell for card in cards))
    book = _Book(study, cards, names, rows)
    made = [book.question(row) for row in rows.questions]
    kept = _most_telling(made, questions)
    conversations = book.conversations(rows.questions, made, kept)
    return Browser(
        questions=allowed.num_rows,
        kept=len(kept),
        forgotten=asked.num_rows - allowed.num_rows,
        at=at_of(study.headline),
        cells=[_cell(name, cards) for name in names],
        representations=book.representations,
        metrics=book.metrics,
        conversations=conversations,
    )


def _cell(name: str, cards: Sequence[CellCard]) -> Row:
    card = next(card for card in cards if card.cell == name)
    return {
        "cell": name,
        "representations": list(card.representations),
        "reader": card.reader,
        "control": card.control,
        "swapped": card.swapped,
        "cutoff_kind": card.cutoff_kind,
        "cutoff": card.cutoff,
    }


def _most_telling(made: Sequence[Row], most: int | None) -> list[int]:
    """Which questions to keep, in their order: those that some cells have right and some wrong, then wrong, then right."""
    if most is None or most >= len(made):
        return list(range(len(made)))

    def weight(place: int) -> tuple[int, int]:
        right = {cell["right"] for cell in made[place]["cells"].values() if cell.get("right") is not None}
        return (0 if len(right) > 1 else 1 if right == {False} else 2 if right == {True} else 3), place

    return sorted(sorted(range(len(made)), key=weight)[:most])


@dataclass
class _Texts:
    """The units and context lines of one conversation, each once, in the order in which they are first asked for."""

    units: dict[tuple[str, str], int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)

    def unit(self, representation: str, unit_id: str) -> int:
        return self.units.setdefault((representation, unit_id), len(self.units))

    def line(self, text: str) -> int:
        return self.lines.setdefault(text, len(self.lines))

    def turn(self, ordinal: int) -> int:
        return self.turns.setdefault(ordinal, len(self.turns))


class _Book:
    """The rows by what they are of."""

    def __init__(self, study: Study, cards: Sequence[CellCard], names: Sequence[str], rows: BrowserRows) -> None:
        self.headline = study.headline
        self.language: dict[str, Language] = {corpus.name: corpus.language for corpus in study.corpora}
        self.place = {name: place for place, name in enumerate(names)}
        self.card = {(card.cell, card.corpus): card for card in cards}
        self.representations = list(dict.fromkeys(name for card in cards for name in card.representations))
        self.metrics = sorted({row["metric"] for row in rows.scores})
        self.texts: defaultdict[Key, _Texts] = defaultdict(_Texts)
        self.units = {(row["corpus"], row["representation"], row["unit_id"]): row["show_text"] for row in rows.units}
        self.turns = {(row["corpus"], row["conversation_id"], row["ordinal"]): row for row in rows.turns}
        self.gold = _grouped(rows.gold, ("corpus", "question_id"))
        self.touching = _grouped(rows.touching, ("corpus", "conversation_id", "ordinal"))
        by_cell = ("corpus", "question_id", "cell")
        self.contexts = {tuple(row[name] for name in by_cell): row for row in rows.contexts}
        self.shown = {tuple(row[name] for name in by_cell): row for row in rows.shown}
        self.ranks = _grouped(rows.ranks, by_cell)
        self.answers = _grouped(rows.answers, by_cell)
        self.verdicts = _grouped(rows.verdicts, (*by_cell, "cutoff_kind", "cutoff", "repeat"))
        self.scores = _grouped(rows.scores, by_cell)
        self.words = self._words([(row["corpus"], row["answer"] or "") for row in rows.questions])
        self.words |= self._words([(row["corpus"], row["text"]) for row in rows.turns])
        self.tokens: dict[str, dict[str, frozenset[str]]] = {
            corpus: token_sets([text for (own, *_), text in self.units.items() if own == corpus], language=language)
            for corpus, language in self.language.items()
        }

    def _words(self, texts: Sequence[Key]) -> dict[Key, list[Word]]:
        found: dict[Key, list[Word]] = {}
        for corpus, language in self.language.items():
            own = list(dict.fromkeys(text for name, text in texts if name == corpus))
            made = words_of(own, language=language)
            found |= {(corpus, text): words for text, words in zip(own, made, strict=True)}
        return found

    def question(self, row: Row) -> Row:
        """One question; its turns, units and context lines are added to those of its conversation when it is kept."""
        cells = {str(place): cell for name, place in self.place.items() if (cell := self._cell(row, name)) is not None}
        return {
            "question_id": row["question_id"],
            "text": row["text"],
            **_filled(
                answer=row["answer"],
                also_accepted=[text for text in row["answers"] if text != row["answer"]],
                options=row["options"],
                asked_at=row["asked_at"].isoformat(timespec="minutes") if row["asked_at"] else None,
            ),
            "category": row["category"],
            "label_set": row["label_set"],
            "answerable": row["answerable"],
            "cells": cells,
        }

    def _cell(self, row: Row, name: str) -> Row | None:
        key = (row["corpus"], row["question_id"], name)
        context = self.contexts.get(key)
        if context is None:
            return None
        words = self.words[row["corpus"], row["answer"] or ""]
        lost = ranges_without(words, frozenset(context["content_tokens"])) if row["answerable"] else []
        scores = {(one["metric"], one["judge"]): one for one in self.scores.get(key, ())}
        card = self.card[name, row["corpus"]]
        judge = card.judge
        held = scores.get((self.headline.metric, judge), {}).get("value")
        return {
            "right": None if held is None else held > 0.5,
            "tokens": context["tokens"],
            **_filled(
                answer_lost=lost,
                answers=[self._answer(answer, card, row["label_set"]) for answer in self.answers.get(key, ())],
                scores=[_score(scores.get((metric, ""), scores.get((metric, judge)))) for metric in self.metrics],
            ),
        }

    def _answer(self, row: Row, card: CellCard, label_set: str) -> Row:
        """An answer with its verdicts; a cutoff or a label set is named where it is not that of the cell or the question."""
        place = tuple(row[name] for name in ("corpus", "question_id", "cell", "cutoff_kind", "cutoff", "repeat"))
        elsewhere = (row["cutoff_kind"], row["cutoff"]) != (card.cutoff_kind, card.cutoff)
        return {
            **({"cutoff_kind": row["cutoff_kind"], "cutoff": row["cutoff"]} if elsewhere else {}),
            **_filled(
                repeat=row["repeat"],
                text=row["text"],
                reason=row["reason"],
                abstained=row["abstained"],
                verdicts=[
                    {
                        "judge": one["judge"],
                        "correct": one["correct"],
                        **_filled(
                            label_set=one["label_set"] if one["label_set"] != label_set else None,
                            repeat=one["judge_repeat"],
                            reason=one["reason"],
                            reply=one["reply"],
                            loss=one["loss"],
                            disputed=one["judge_disputed"],
                        ),
                    }
                    for one in self.verdicts.get(place, ())
                ],
            ),
        }

    def conversations(self, rows: Sequence[Row], made: Sequence[Row], kept: Sequence[int]) -> list[Row]:
        """The kept questions by conversation, with the texts that they need."""
        grouped: dict[Key, list[Row]] = {}
        for place in kept:
            row, question = rows[place], made[place]
            texts = self.texts[row["corpus"], row["conversation_id"]]
            gold = self.gold.get((row["corpus"], row["question_id"]), ())
            question["turns"] = [texts.turn(one["ordinal"]) for one in gold]
            for name, cell_place in self.place.items():
                if (cell := question["cells"].get(str(cell_place))) is not None:
                    self._add_context(cell, row, name, texts)
            grouped.setdefault((row["corpus"], row["conversation_id"]), []).append(question)
        return [self._conversation(*key, questions) for key, questions in grouped.items()]

    def _add_context(self, cell: Row, row: Row, name: str, texts: _Texts) -> None:
        key = (row["corpus"], row["question_id"], name)
        card, context = self.card[name, row["corpus"]], self.contexts[key]
        shown = self.shown.get(key, {"representations": (), "unit_ids": ()})
        if not card.swapped:
            cell["units"] = [
                texts.unit(representation, unit_id)
                for representation, unit_id in zip(shown["representations"], shown["unit_ids"], strict=True)
            ]
        if context["text"] is not None:
            cell["lines"] = [texts.line(line) for line in context["text"].split("\n")]
        elif context["text_gone"]:
            cell["text_gone"] = True
        ranks = [[texts.unit(one["representation"], one["unit_id"]), one["rank"]] for one in self.ranks.get(key, ())]
        if ranks:
            cell["ranks"] = sorted(ranks, key=lambda pair: pair[1])

    def _conversation(self, corpus: str, conversation: str, questions: list[Row]) -> Row:
        texts = self.texts[corpus, conversation]
        turns = [self._turn(corpus, conversation, ordinal, texts) for ordinal in texts.turns]
        numbered = {name: place for place, name in enumerate(self.representations)}
        return {
            "corpus": corpus,
            "conversation_id": conversation,
            "questions": questions,
            "turns": turns,
            "units": {
                "representation": [numbered[name] for name, _ in texts.units],
                "unit_id": [unit_id for _, unit_id in texts.units],
                "text": [self.units.get((corpus, *unit), "") for unit in texts.units],
            },
            "lines": list(texts.lines),
        }

    def _turn(self, corpus: str, conversation: str, ordinal: int, texts: _Texts) -> Row:
        """A gold turn, and for each representation the units that touch it and its words that none of them holds."""
        row = self.turns[corpus, conversation, ordinal]
        words = self.words[corpus, row["text"]]
        touching = _grouped(self.touching.get((corpus, conversation, ordinal), ()), ("representation",))
        stored = {}
        for place, name in enumerate(self.representations):
            units = touching.get((name,), [])
            held = [self.tokens[corpus][self.units[corpus, name, unit["unit_id"]]] for unit in units]
            stored[str(place)] = _filled(
                units=sorted(texts.unit(name, unit["unit_id"]) for unit in units),
                lost=ranges_without(words, frozenset().union(*held)),
            )
        return {
            "turn_id": row["turn_id"],
            "speaker": row["speaker"],
            "text": row["text"],
            **_filled(date=_date(row)),
            "stored": stored,
        }


def _date(row: Row) -> str | None:
    """When a turn was said, as the source prints the session's date where it does."""
    if row["session_label"]:
        return str(row["session_label"])
    at = row["said_at"] or row["session_at"]
    return at.isoformat(timespec="minutes") if at else None


def _score(row: Row | None) -> float | str | None:
    """A value to three places, or why there is none; null where the cell has no such score."""
    if row is None:
        return None
    return row["reason"] if row["value"] is None else round(row["value"], 3)


def _filled(**fields: Any) -> Row:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value not in (None, [], (), 0, False, "")}


def _grouped(rows: Sequence[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    grouped: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        grouped.setdefault(tuple(row[name] for name in names), []).append(row)
    return grouped
