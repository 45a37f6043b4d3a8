"""What this process embedded already: a text that comes again, in another batch, is not embedded again."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from memlake.transforms.embed.embedder import Embedder, Encoded, Ragged, encode, ragged

MEMO_BYTES = 64 << 20
# What a text costs beside its outputs and its characters: objects and its place.
_KEY_BYTES = 250
# Texts are remembered and let go some together: a copy and an object for each text would take longer than static does.
_PAGE_BYTES = 1 << 20
_MOST_ROWS = 1 << 24
Rows = tuple[npt.NDArray[Any], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Page:
    """The outputs of some texts, in arrays of their own."""

    number: int
    made: Encoded
    texts: Sequence[str]
    size: int


class Memo:
    """Outputs by text, those not asked for longest going first; texts that failed are not remembered."""

    def __init__(self, limit_bytes: int = MEMO_BYTES) -> None:
        self._limit, self._bytes = limit_bytes, 0
        # By the text itself: a digest of it would take longer to make, and be no smaller than half a chunk.
        # To the page's number and the row in it as one number: a tuple for each text would wake the garbage collector.
        self._held: dict[str, int] = {}
        self._pages: OrderedDict[int, _Page] = OrderedDict()
        self._made_pages = 0
        self._embedder: Embedder | None = None
        self._lock = Lock()

    def encode(self, embedder: Embedder, texts: Sequence[str]) -> tuple[Encoded, int]:
        """All outputs of some different texts, and how many of them the embedder was asked for.

        What another embedder made is let go: a process embeds by one.
        """
        with self._lock:
            self._begin(embedder)
            found: dict[int, tuple[_Page, int]] = {}
            if not self._held.keys().isdisjoint(texts):
                found = {place: self._found(text) for place, text in enumerate(texts) if text in self._held}
            for number in {page.number for page, _ in found.values()}:
                self._pages.move_to_end(number)
        missing = [place for place in range(len(texts)) if place not in found] if found else range(len(texts))
        asked = [texts[place] for place in missing] if found else texts
        made = encode(embedder, asked)
        if len(made.dense) != len(missing):
            return made, len(missing)  # the caller refuses it
        with self._lock:
            if embedder is self._embedder:
                self._keep(made, asked)
        return (_merged(embedder, made, missing, found) if found else made), len(missing)

    def _begin(self, embedder: Embedder) -> None:
        if embedder is not self._embedder:
            self._embedder, self._bytes = embedder, 0
            self._held.clear()
            self._pages.clear()

    def _found(self, text: str) -> tuple[_Page, int]:
        number, row = divmod(self._held[text], _MOST_ROWS)
        return self._pages[number], row

    def _keep(self, made: Encoded, texts: Sequence[str]) -> None:
        for first, last in _cuts(made, len(texts)):
            part, own = _part(made, first, last), texts[first:last]
            size = _bytes_of(part) + _KEY_BYTES * len(own) + sum(map(len, own))
            if size > self._limit // 4:
                continue
            self._made_pages += 1
            page = _Page(self._made_pages, part, own, size)
            # Where two threads made the same, the later page has it; the earlier one's rows go with that page.
            start = page.number * _MOST_ROWS
            self._held.update(zip(own, range(start, start + len(own)), strict=True))
            for row in part.failed:
                del self._held[own[row]]
            self._pages[page.number] = page
            self._bytes += page.size
        while self._bytes > self._limit:
            _, gone = self._pages.popitem(last=False)
            self._bytes -= gone.size
            for text in gone.texts:
                if text in self._held and self._held[text] // _MOST_ROWS == gone.number:
                    del self._held[text]


def _cuts(made: Encoded, texts: int) -> Iterator[tuple[int, int]]:
    """Ranges of texts of about a page each."""
    a_text = max(_bytes_of(made) // max(texts, 1), 1)
    step = min(max(_PAGE_BYTES // a_text, 1), _MOST_ROWS)
    for first in range(0, texts, step):
        yield first, min(first + step, texts)


def _part(made: Encoded, first: int, last: int) -> Encoded:
    """Outputs of a range of texts, copied: a view would keep all of them in memory."""

    def inside(notes: Mapping[int, Any]) -> dict[int, Any]:
        return {place - first: what for place, what in notes.items() if first <= place < last}

    rows = np.arange(first, last)
    return Encoded(
        made.dense[first:last].copy(),
        made.sparse and made.sparse.take(rows),
        made.multi and made.multi.take(rows),
        inside(made.cut),
        inside(made.failed),
    )


def _bytes_of(made: Encoded) -> int:
    ragged_bytes = sum(array.nbytes for part in made.of_tokens for array in (part.offsets, *part.values))
    return made.dense.nbytes + ragged_bytes


def _merged(
    embedder: Embedder, made: Encoded, missing: Sequence[int], found: Mapping[int, tuple[_Page, int]]
) -> Encoded:
    """Outputs of all texts, in order, from those just made and those remembered."""
    card, texts = embedder.card, len(missing) + len(found)
    dense = np.empty((texts, card.dimension), np.float32)
    dense[list(missing)] = made.dense
    sources: list[tuple[Encoded, int]] = [(made, 0)] * texts
    for number, place in enumerate(missing):
        sources[place] = (made, number)
    for place, (page, row) in found.items():
        dense[place] = page.made.dense[row]
        sources[place] = (page.made, row)
    return Encoded(
        dense,
        ragged([_of(source.sparse, row) for source, row in sources], (np.empty(0, np.int32), np.empty(0, np.float32)))
        if card.sparse
        else None,
        ragged([_of(source.multi, row) for source, row in sources], (np.empty((0, card.multi), np.float32),))
        if card.multi
        else None,
        {place: source.cut[row] for place, (source, row) in enumerate(sources) if row in source.cut},
        {missing[number]: failure for number, failure in made.failed.items()},
    )


def _of(part: Ragged | None, row: int) -> Rows:
    return part.of(row) if part is not None else ()
