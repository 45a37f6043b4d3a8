"""One small conversation with units of every sort: slices anywhere in its text, and notes that only cite turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from small_tables import rows_of

from memlake.schemas import EVIDENCE, LINKS, PROVENANCE, QUESTIONS, UNITS
from memlake.transforms.retrieve.cell import Cell, Found, run_cell
from memlake.transforms.retrieve.plan import parse_plan
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.retrieve.store.store import Store, open_store


@dataclass
class Memory:
    """Units of a conversation as they are made one by one."""

    turns: pa.Table
    text: str
    units: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)

    def slice(self, name: str, start: int, end: int, *, lead: str = "[day] ", **more: Any) -> None:
        """A unit that shows its lead and text[start:end], with exact provenance."""
        show_text = lead + self.text[start:end]
        self.units.append(
            {"unit_id": name, "representation": "r", "kind": "chunk", "key_text": show_text, "show_text": show_text}
            | {"header_chars": len(lead), "span_start": start, "span_end": end}
            | more
        )
        for turn in self.turns.to_pylist():
            first, last = max(start, turn["char_start"]), min(end, turn["char_end"])
            text_start = turn["char_start"] + len(turn["speaker"]) + 2
            if first < last:
                touches = max(first, text_start) < min(last, text_start + len(turn["text"]))
                self._piece(name, turn["ordinal"], touches, char_start=first, char_end=last)

    def note(self, name: str, text: str, ordinals: Sequence[int], **more: Any) -> None:
        """A unit of another text, of which only the turns are known."""
        made = {"unit_id": name, "representation": "r", "kind": "note", "key_text": text, "show_text": text}
        self.units.append(made | more)
        for ordinal in ordinals:
            self._piece(name, ordinal, True)

    def link(self, source: str, target: str, *, weight: float = 1.0, relation: str = "similar") -> None:
        self.links.append({"source_unit": source, "target_unit": target, "weight": weight, "relation": relation})

    def _piece(self, name: str, ordinal: int, touches: bool, **more: Any) -> None:
        place = sum(piece["unit_id"] == name for piece in self.pieces)
        made = {"unit_id": name, "piece": place, "ordinal": ordinal, "touches_text": touches}
        self.pieces.append(made | more)

    def store(self, **more: Any) -> Store:
        beside = {
            "provenance": rows_of(PROVENANCE, self.pieces),
            "turns": self.turns,
            "links": rows_of(LINKS, self.links),
        }
        return open_store(rows_of(UNITS, self.units), **{k: v for k, v in (beside | more).items() if v is not None})


@pytest.fixture(scope="session")
def memory_of(turns_of, canonical) -> Callable[[Any], Memory]:
    """A memory of sessions [(label, [(speaker, text), ...]), ...], without units yet."""

    def made(sessions: Any) -> Memory:
        turns = turns_of({"v": sessions})
        return Memory(turns, canonical(turns)["v"])

    return made


@pytest.fixture(scope="session")
def asked() -> Callable[..., pa.Table]:
    """Questions q0, q1, ... of these texts."""

    def questions(*texts: str, **more: Any) -> pa.Table:
        return rows_of(QUESTIONS, [{"question_id": f"q{n}", "text": text} | more for n, text in enumerate(texts)])

    return questions


@pytest.fixture(scope="session")
def gold() -> Callable[..., pa.Table]:
    """Evidence (question, ordinal), official and valid unless it says otherwise."""

    def evidence(*rows: tuple[str, int], **more: Any) -> pa.Table:
        made = [
            {"question_id": question, "position": place, "ordinal": ordinal, "label_set": "official", "status": "valid"}
            | more
            for place, (question, ordinal) in enumerate(rows)
        ]
        return rows_of(EVIDENCE, made)

    return evidence


@pytest.fixture(scope="session")
def searched() -> Callable[..., Found]:
    """What a plan finds; every ranked candidate is kept, and the text of every context."""

    def search(
        steps: Sequence[dict[str, Any]], store: Store, questions: pa.Table, *, tokens=(), k=(100,), **more: Any
    ) -> Found:
        cutoffs = Cutoffs(tuple(tokens), tuple(k))
        tokeniser = more.pop("tokeniser", "chars4")
        cell = Cell("r", "c", parse_plan("p", steps), tokeniser, cutoffs, depth=1000, texts=frozenset(cutoffs.pairs))
        if (evidence := more.pop("evidence", None)) is not None:
            store = replace(store, beside={**store.beside, "evidence": evidence})
        return run_cell(cell, store=store, questions=questions, **more)

    return search


@pytest.fixture(scope="session")
def ranks() -> Callable[..., list[str]]:
    """The units of a question, best first."""

    def of(found: Found, question: str = "q0") -> list[str]:
        return [row["unit_id"] for row in found.retrievals.to_pylist() if row["question_id"] == question]

    return of
