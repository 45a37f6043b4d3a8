"""What of a unit is shown, what the ranks of each question show of it, and how contexts are put together from that."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from memlake.transforms.base.arrays import Ints, runs
from memlake.transforms.retrieve.contexts.cover import Cover, atoms_kept, cover_of, first_ranks, together
from memlake.transforms.retrieve.store.store import Coded, Store, coded_tokens
from memlake.transforms.text.tokenisers import costs


@dataclass(frozen=True, slots=True)
class View:
    """How units are shown.

    Attributes:
        only_new: '' every unit whole; 'spans' of a slice what no better unit has shown; 'turns' the turns behind a unit
            that no better unit has shown.
        text: which text of a whole unit: 'show' what is shown, 'key' what is searched, 'quote' what it rests on.
        header: whether a whole unit stands behind its header.
    """

    only_new: Literal["", "spans", "turns"] = ""
    text: str = "show"
    header: bool = True


def texts_of(store: Store, view: View) -> pa.Array | pa.ChunkedArray:
    """What each unit shows when it is shown whole; a unit without a quote shows its show_text in a quote's place."""
    shown = store.units["show_text"]
    if view.text == "show" and view.header:
        return shown
    columns = (store.units[name].to_pylist() for name in ("show_text", "key_text", "header_chars", "attributes"))
    texts = []
    for show_text, key_text, header_chars, attributes in zip(*columns, strict=True):
        header, text = show_text[:header_chars], show_text[header_chars:]
        if view.text == "key":
            text = key_text.removeprefix(header)
            header = header if key_text.startswith(header) else ""
        elif view.text == "quote":
            text = _quote(attributes) or text
        texts.append(header + text if view.header else text)
    return pa.array(texts, pa.string())


def _quote(attributes: str | None) -> str:
    """The quote that a unit's attributes hold; '' for none."""
    held = json.loads(attributes) if attributes else {}
    quote = held.get("quote") if isinstance(held, dict) else None
    return quote if isinstance(quote, str) else ""


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Contexts as lists of pieces.

    Attributes:
        texts, coded: the pieces and their content tokens.
        contexts: for each cutoff offsets, shape (m + 1,), and the pieces of every question's context one after another.
    """

    texts: pa.Array | pa.ChunkedArray
    coded: Coded
    contexts: list[tuple[Ints, Ints]]


@dataclass(frozen=True, eq=False)
class Shown:
    """Pieces of each question in the order of the ranks that bring them: a context of u units is the first ends[q, u].

    Attributes:
        texts: the pieces.
        coded: what gives the content tokens of all of them. None: they are made for those that a context holds.
        piece, unit: shape (m, pieces of a question): which piece, and which unit brings it.
        ends: shape (m, n + 1): how many of them the first u units bring.
        running: shape (m, n + 1): what the first u units cost.
        when: what gives the place in time of every piece, shape as piece.
        key: shape as piece: what the pieces of a context are sorted by. None: they stay as they are.
        joins: what lays neighbouring slices out as one piece. None: nothing does.
    """

    store: Store
    texts: pa.Array | pa.ChunkedArray
    coded: Callable[[], Coded] | None
    piece: Ints
    unit: Ints
    ends: Ints
    running: Ints
    when: Callable[[], Ints]
    key: Ints | None = None
    joins: Cover | None = None

    def in_time(self) -> "Shown":
        """Contexts in the order of the source, ties by unit_id.

        Raises:
            UsageError: the store has no provenance.
        """
        return replace(self, key=self.when())

    def at_random(self, chance: npt.NDArray[Any]) -> "Shown":
        """Contexts in the order of a number for each question and unit, shape (m, n); neighbours stay apart."""
        return replace(self, key=np.take_along_axis(chance, self.unit, axis=1), joins=None)

    def lay_out(self, leading: Sequence[Ints]) -> LaidOut:
        """The contexts of every cutoff, by how many leading ranks each question's context holds."""
        if self.joins is not None and self.key is not None:
            return _joined(self.joins, leading)
        contexts = [self._taken(units) for units in leading]
        if self.coded is None:
            return _of_those_used(self.texts, contexts, self.store)
        return LaidOut(self.texts, self.coded(), contexts)

    def _taken(self, units: Ints) -> tuple[Ints, Ints]:
        count = np.take_along_axis(self.ends, units[:, None], axis=1)[:, 0]
        offsets = np.concatenate([[0], np.cumsum(count)])
        question = np.repeat(np.arange(len(count)), count)
        place = runs(0, count)
        if self.key is not None:
            # The pieces of one unit stay in their order: the sort is stable.
            place = place[np.lexsort((self.unit[question, place], self.key[question, place], question))]
        return offsets, self.piece[question, place]


def show(store: Store, view: View, order: Ints, tokeniser: str) -> Shown:
    """What each rank shows.

    Args:
        order: shape (m, n): positions of units in the store, best first.

    Raises:
        UsageError: the store lacks what the view needs.
        NotFoundError: no tokeniser has this name, or it is not here.
    """
    if view.only_new == "spans":
        return _slices(store, order, tokeniser)
    if view.only_new == "turns":
        return _turns(store, order, tokeniser)
    texts = store.once(view, lambda: texts_of(store, view))
    cost = store.once((view, tokeniser), lambda: costs(tokeniser, texts))

    def coded() -> Coded:
        if view == View():
            return store.content_tokens
        return store.once((view, "tokens"), lambda: coded_tokens(texts, store.language))

    questions, units = order.shape
    running = np.zeros((questions, units + 1), np.int64)
    np.cumsum(cost[order], axis=1, out=running[:, 1:])
    ends = np.broadcast_to(np.arange(units + 1), (questions, units + 1))
    return Shown(store, texts, coded, order, order, ends, running, lambda: store.sources.begins[order])


def width(store: Store, view: View) -> int:
    """How many numbers a question takes up while it is laid out."""
    if view.only_new == "spans":
        return max(len(store), len(atoms_kept(store).unit))
    return max(len(store), len(store.sources.unit)) if view.only_new == "turns" else len(store)


def _turns(store: Store, order: Ints, tokeniser: str) -> Shown:
    """Of the turns behind each unit those that no better one has shown, in their order."""
    texts = store.record.shown
    by_turn = np.argsort(store.sources.turn, kind="stable")
    turns, starts = np.unique(store.sources.turn[by_turn], return_index=True)
    first = first_ranks(order, store.sources.unit[by_turn], starts)
    place = np.argsort(first, axis=1, kind="stable")
    piece = turns[place]
    shown = _listed(store, texts, order, piece, np.take_along_axis(first, place, axis=1), tokeniser, "turns")
    return replace(
        shown,
        coded=lambda: store.once(("turns", "tokens"), lambda: coded_tokens(texts, store.language)),
        when=lambda: piece,
    )


def _slices(store: Store, order: Ints, tokeniser: str) -> Shown:
    """Of each slice what no better one covers, each stretch of it behind the unit's header; other units whole."""
    cover = cover_of(store, order)
    found = cover.apart()
    rank = cover.rank[found.question, found.first]
    by_rank = np.lexsort((found.first, rank, found.question))
    texts, which = cover.texts(found)
    # Lists of questions are of different lengths; what fills them up has a rank that no context reaches.
    count = np.bincount(found.question, minlength=len(order))
    row = found.question[by_rank]
    column = runs(0, count)
    shape = (len(order), int(count.max(initial=0)))
    piece, ranks = np.zeros(shape, np.int64), np.full(shape, order.shape[1], np.int64)
    piece[row, column], ranks[row, column] = which[by_rank], rank[by_rank]

    def when() -> Ints:
        places = np.zeros(shape, np.int64)
        places[row, column] = cover.when(found)[by_rank]
        return places

    return replace(_listed(store, texts, order, piece, ranks, tokeniser, None), when=when, joins=cover)


def _listed(
    store: Store, texts: pa.Array, order: Ints, piece: Ints, rank: Ints, tokeniser: str, kept: str | None
) -> Shown:
    """Pieces and the ranks that bring them, shape (m, pieces), ascending by rank; a rank of n is no piece's.

    Args:
        kept: by which name the costs of the texts are kept with the store; None where they are of these questions only.
    """
    questions, units = order.shape
    cost = costs(tokeniser, texts) if kept is None else store.once((kept, tokeniser), lambda: costs(tokeniser, texts))
    there = rank < units
    row = np.broadcast_to(np.arange(questions)[:, None], rank.shape)[there]
    brought = np.bincount(row * (units + 1) + rank[there] + 1, minlength=questions * (units + 1))
    ends = np.cumsum(brought.reshape(questions, units + 1), axis=1)
    sums = np.zeros((questions, rank.shape[1] + 1), np.int64)
    if piece.size:
        np.cumsum(np.where(there, cost[piece], 0), axis=1, out=sums[:, 1:])
    running = np.take_along_axis(sums, ends, axis=1)
    unit = np.take_along_axis(order, np.minimum(rank, max(units - 1, 0)), axis=1) if piece.size else piece
    return Shown(store, texts, None, piece, unit, ends, running, lambda: piece)


def _joined(cover: Cover, leading: Sequence[Ints]) -> LaidOut:
    """Contexts in the order of the source, neighbouring slices as one piece behind the header of the first."""
    found = [cover.joined(units) for units in leading]
    texts, which = cover.texts(together(found))
    contexts, start = [], 0
    for units, stretches in zip(leading, found, strict=True):
        count = np.bincount(stretches.question, minlength=len(units))
        in_time = np.lexsort((stretches.owner, cover.when(stretches), stretches.question))
        contexts.append((np.concatenate([[0], np.cumsum(count)]), which[start + in_time]))
        start += len(in_time)
    return LaidOut(texts, coded_tokens(texts, cover.store.language), contexts)


def _of_those_used(texts: pa.Array | pa.ChunkedArray, contexts: list[tuple[Ints, Ints]], store: Store) -> LaidOut:
    used = np.unique(np.concatenate([np.empty(0, np.int64), *(pieces for _, pieces in contexts)]))
    held = texts.take(pa.array(used))
    numbered = [(offsets, np.searchsorted(used, pieces)) for offsets, pieces in contexts]
    return LaidOut(held, coded_tokens(held, store.language), numbered)
