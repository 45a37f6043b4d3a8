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

from memlake.transforms.answer.matching import Tokens
from memlake.transforms.report.data.browser_rows import ASKED, Word, browser_rows, ranges_without, words_of
from memlake.transforms.report.data.cells import CellCard, at_of
from memlake.transforms.report.data.document import Browser, Row
from memlake.transforms.study.study import Study
from memlake.transforms.text.content_tokens import Language

Key = tuple[str, str]
_UNIT = ("corpus", "representation", "unit_id")
_TURN = ("corpus", "conversation_id", "ordinal")
_ANSWER = ("corpus", "question_id", "cell", "cutoff_kind", "cutoff", "repeat")
# What a page says of a cell.
_OF_CELLS = ("cell", "representations", "reader", "control", "swapped", "cutoff_kind", "cutoff")


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
    asked = connection.sql(ASKED, params={"run_id": run_id}).to_arrow_table()
    places = zip(asked["corpus"].to_pylist(), asked["conversation_id"].to_pylist(), strict=True)
    allowed = asked.filter(pa.array([name not in forgotten.get(corpus, ()) for corpus, name in places], pa.bool_()))
    rows = browser_rows(connection, source, run_id, cards, allowed, study.headline)
    first = {card.cell: card for card in reversed(cards)}
    names = list(dict.fromkeys(card.cell for card in cards))
    index = _RowIndex(study, cards, names, rows)
    made = [index.question(row) for row in index.questions]
    kept = _most_telling(made, questions)
    return Browser(
        questions=allowed.num_rows,
        kept=len(kept),
        forgotten=asked.num_rows - allowed.num_rows,
        at=at_of(study.headline),
        cells=[first[cell].row(*_OF_CELLS) for cell in names],
        representations=list(index.representations),
        metrics=index.metrics,
        conversations=index.conversations(made, kept),
    )


def _most_telling(made: Sequence[Row], most: int | None) -> list[int]:
    """Which questions to keep, in their order: those that some cells have right and some wrong, then wrong, then right."""
    if most is None or most >= len(made):
        return list(range(len(made)))

    def weight(place: int) -> tuple[int, int]:
        right = {cell["right"] for cell in made[place]["cells"].values() if cell.get("right") is not None}
        return (0 if len(right) > 1 else 1 if right == {False} else 2 if right == {True} else 3), place

    return sorted(sorted(range(len(made)), key=weight)[:most])


class _Places(dict[Any, int]):
    """Of each thing its place in the order in which they are first asked for."""

    def __missing__(self, thing: Any) -> int:
        return self.setdefault(thing, len(self))


@dataclass
class _Texts:
    """What the questions of a conversation need: units as (representation, unit_id), context lines, turns' ordinals."""

    units: _Places = field(default_factory=_Places)
    lines: _Places = field(default_factory=_Places)
    turns: _Places = field(default_factory=_Places)


class _RowIndex:
    """The rows of the browser by the keys that they are looked up by."""

    def __init__(
        self, study: Study, cards: Sequence[CellCard], names: Sequence[str], rows: Mapping[str, list[Row]]
    ) -> None:
        def grouped(table: str, *keys: str) -> dict[tuple[Any, ...], list[Row]]:
            return _grouped(rows[f"browsed_{table}"], keys)

        by_cell = ("corpus", "question_id", "cell")
        self.headline = study.headline
        self.language: dict[str, Language] = {corpus.name: corpus.language for corpus in study.corpora}
        self.place = {name: place for place, name in enumerate(names)}
        self.card = {(card.cell, card.corpus): card for card in cards}
        self.representations = _Places()
        for card in cards:
            for name in card.representations:
                self.representations[name]
        self.questions = rows["browsed_questions"]
        self.metrics = sorted({row["metric"] for row in rows["browsed_scores"]})
        self.texts: defaultdict[Key, _Texts] = defaultdict(_Texts)
        self.units = {key: row["show_text"] for key, [row] in grouped("units", *_UNIT).items()}
        self.turns = {key: row for key, [row] in grouped("turns", *_TURN).items()}
        self.contexts = {key: row for key, [row] in grouped("contexts", *by_cell).items()}
        self.shown = {key: row for key, [row] in grouped("shown", *by_cell).items()}
        self.gold = grouped("gold", "corpus", "question_id")
        self.touching = grouped("touching", *_TURN)
        self.ranks = grouped("ranks", *by_cell)
        self.answers = grouped("answers", *by_cell)
        self.verdicts = grouped("verdicts", *_ANSWER)
        self.scores = grouped("scores", *by_cell)
        self.words = self._words([(row["corpus"], row["answer"] or "") for row in self.questions])
        self.words |= self._words([(row["corpus"], row["text"]) for row in self.turns.values()])
        self.tokens = {
            corpus: Tokens([text for (own, *_), text in self.units.items() if own == corpus], language)
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
        scores = {(score["metric"], score["judge"]): score for score in self.scores.get(key, ())}
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
        place = tuple(row[name] for name in _ANSWER)
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
                        "judge": verdict["judge"],
                        "correct": verdict["correct"],
                        **_filled(
                            label_set=verdict["label_set"] if verdict["label_set"] != label_set else None,
                            repeat=verdict["judge_repeat"],
                            reason=verdict["reason"],
                            reply=verdict["reply"],
                            loss=verdict["loss"],
                            disputed=verdict["judge_disputed"],
                        ),
                    }
                    for verdict in self.verdicts.get(place, ())
                ],
            ),
        }

    def conversations(self, made: Sequence[Row], kept: Sequence[int]) -> list[Row]:
        """The kept questions by conversation, with the texts that they need."""
        grouped: dict[Key, list[Row]] = {}
        for place in kept:
            row, question = self.questions[place], made[place]
            texts = self.texts[row["corpus"], row["conversation_id"]]
            gold = self.gold.get((row["corpus"], row["question_id"]), ())
            question["turns"] = [texts.turns[turn["ordinal"]] for turn in gold]
            for name, cell_place in self.place.items():
                if (cell := question["cells"].get(str(cell_place))) is not None:
                    self._add_context(cell, row, name, texts)
            grouped.setdefault((row["corpus"], row["conversation_id"]), []).append(question)
        return [self._conversation(*key, questions) for key, questions in grouped.items()]

    def _add_context(self, cell: Row, row: Row, name: str, texts: _Texts) -> None:
        key = (row["corpus"], row["question_id"], name)
        shown, context = self.shown.get(key, {"representations": (), "unit_ids": ()}), self.contexts[key]
        if not self.card[name, row["corpus"]].swapped:
            units = zip(shown["representations"], shown["unit_ids"], strict=True)
            cell["units"] = [texts.units[unit] for unit in units]
        if context["text"] is not None:
            cell["lines"] = [texts.lines[line] for line in context["text"].split("\n")]
        elif context["text_gone"]:
            cell["text_gone"] = True
        ranks = self.ranks.get(key, ())
        cell |= _filled(ranks=[[texts.units[unit["representation"], unit["unit_id"]], unit["rank"]] for unit in ranks])

    def _conversation(self, corpus: str, conversation: str, questions: list[Row]) -> Row:
        texts = self.texts[corpus, conversation]
        turns = [self._turn(corpus, conversation, ordinal, texts) for ordinal in texts.turns]
        return {
            "corpus": corpus,
            "conversation_id": conversation,
            "questions": questions,
            "turns": turns,
            "units": {
                "representation": [self.representations[name] for name, _ in texts.units],
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
        for name, place in self.representations.items():
            units = touching.get((name,), [])
            held = [self.tokens[corpus][self.units[corpus, name, unit["unit_id"]]] for unit in units]
            stored[str(place)] = _filled(
                units=sorted(texts.units[name, unit["unit_id"]] for unit in units),
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
