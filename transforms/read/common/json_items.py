"""Items of a JSON file that is one list, read one at a time: memory holds one item, not the file."""

import codecs
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Source
from memlake.transforms.base.sources import open_uri
from memlake.transforms.read.common.reader import unreadable
from memlake.transforms.text.clean import mend, mended_letters

_STEP = 4 * 1024 * 1024
_BLANK = " \t\r\n"


@dataclass(slots=True)
class Item:
    """An item of the list, `index` from 0; a file that is no list is one item, `index` None."""

    index: int | None
    value: object


def read_items(uri: str) -> Iterator[Item | DeadLetter]:
    """Yield the items before the first byte that is not UTF-8 or not JSON, then a dead letter that says where it is."""
    try:
        with open_uri(uri) as file:
            yield from _Items(file, uri).read()
    except OSError as error:
        yield unreadable(uri, error)


def items_of(uri: str, letters: list[DeadLetter]) -> Iterator[Item]:
    """Yield the items alone, and add the dead letters to those that are given."""
    for item in read_items(uri):
        if isinstance(item, DeadLetter):
            letters.append(item)
        else:
            yield item


def each_item(
    read_item: Callable[[object, int | None, str], Iterator[Conversation | DeadLetter]],
) -> Callable[[Source, ReadOptions], Iterator[Conversation | DeadLetter]]:
    """The `read` of a format whose files are lists of conversations: `read_item` is given an item, its index and the URI."""

    def read(source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG001
        for item in read_items(source.uri):
            if isinstance(item, DeadLetter):
                yield item
            else:
                yield from read_item(item.value, item.index, source.uri)

    return read


class _Items:
    def __init__(self, file: IO[bytes], uri: str) -> None:
        self.file, self.uri = file, uri
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.at, self.lines = "", 0, 1
        self.ended = False
        self.fault: DeadLetter | None = None
        self.step = _STEP

    def read(self) -> Iterator[Item | DeadLetter]:
        if self._next() != "[":
            yield from self._value(None)
            if self.fault is None and self._next():
                self.fault = self._broken("more follows the one JSON value", self.at)
        else:
            self.at += 1
            yield from self._list()
        if self.fault is not None:
            yield self.fault

    def _list(self) -> Iterator[Item | DeadLetter]:
        index = 0
        while (sign := self._next()) != "]" or index:
            yield from self._value(index)
            if self.fault is not None:
                return
            index, sign = index + 1, self._next()
            if sign == "]":
                break
            if sign != ",":
                self.fault = self.fault or self._broken("',' or ']' is expected after an item", self.at)
                return
            self.at += 1
        self.at += 1
        if self._next():
            self.fault = self._broken("more follows the list", self.at)

    def _next(self) -> str:
        """The next sign that is not blank; '' at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _BLANK:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self._more()

    def _value(self, index: int | None) -> Iterator[Item | DeadLetter]:
        self._next()
        self.step = _STEP
        while True:
            try:
                value, end = json.JSONDecoder().raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if not self.ended:
                    self._more()
                    continue
                self.fault = self.fault or self._broken(error.msg, error.pos)
                return
            except (ValueError, RecursionError) as error:
                self.fault = self._broken(str(error), self.at)
                return
            if end == len(self.text) and not self.ended:
                # A number may go on in the next piece.
                self._more()
                continue
            break
        if self.text.find("\\ud", self.at, end) >= 0 or self.text.find("\\uD", self.at, end) >= 0:
            try:
                value, paths = mend(value)
            except RecursionError as error:
                self.fault = self._broken(str(error), self.at)
                return
            yield from mended_letters(paths, self.uri, index)
        self.at = end
        yield Item(index, value)

    def _more(self) -> None:
        self.lines += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :], 0
        raw = self.file.read(self.step)
        # Doubling keeps the work linear in the length of a long item.
        self.step *= 2
        self.ended = not raw
        try:
            self.text += self.decoder.decode(raw, final=self.ended)
        except UnicodeDecodeError as error:
            self.text += error.object[: error.start].decode()
            self.ended = True
            line = self.lines + self.text.count("\n")
            self.fault = DeadLetter("wrong_encoding", f"not UTF-8: {error.reason}", self.uri, line, "file")

    def _broken(self, says: str, at: int) -> DeadLetter:
        line = self.lines + self.text.count("\n", 0, at)
        return DeadLetter("truncated_json", f"not JSON: {says}", self.uri, line, "file")
