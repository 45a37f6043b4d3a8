"""Where everything in a TOML text stands, by line: tomllib says what a text holds, but not where."""

import re
import tomllib
from collections.abc import Iterator

Path = tuple[str | int, ...]
_TOKEN = re.compile(
    r"""(?P<skip>\#[^\n]*|[ \t\r]+)|"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'"""
    r"""|[\[\]{},=\n]|[^\s\[\]{},="'#]+""",
    re.DOTALL,
)


def toml_lines(text: str) -> dict[Path, int]:
    """The line, from 1, on which each table, list, item and value of a TOML text begins, by its path of keys and places.

    Args:
        text: one that tomllib reads; of any other the lines mean nothing.
    """
    return _Scan(text).lines


class _Scan:
    """One pass over the tokens of a text; `lines` is what it found."""

    def __init__(self, text: str) -> None:
        self._left = list(_tokens(text))[::-1]
        self.lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}  # of the tables in each array of tables, so far
        table: Path = ()
        while self._next():
            if self._next() == "[":
                table = self._header()
            else:
                self._entry(table)

    def _next(self, *, whole_lines: bool = True) -> str:
        """The token that comes, '' at the end; line ends are passed over unless they end a value."""
        while whole_lines and self._left and self._left[-1][0] == "\n":
            self._left.pop()
        return self._left[-1][0] if self._left else ""

    def _header(self) -> Path:
        """The table that [a.b] or [[a.b]] opens: in an array of tables, its last."""
        line = self._left.pop()[1]
        if is_array := self._next() == "[":
            self._left.pop()
        *parents, name = self._key("]")
        table: Path = ()
        for part in parents:
            table = self._last((*table, part))
        table = (*table, name)
        if is_array:
            self._left.pop()
            self._counts[table] = self._counts.get(table, 0) + 1
        table = self._last(table)
        self._note(table, line)
        return table

    def _last(self, path: Path) -> Path:
        return (*path, self._counts[path] - 1) if path in self._counts else path

    def _entry(self, table: Path) -> None:
        line = self._left[-1][1]
        path = (*table, *self._key("="))
        self._note(path, line)
        self._value(path)

    def _key(self, end: str) -> list[str]:
        """The parts of a key, dotted or quoted, up to the sign that ends it, which is taken too."""
        written = ""
        while (token := self._left.pop()[0]) != end:
            written += token
        found, parts = tomllib.loads(f"{written} = 0"), list[str]()
        while isinstance(found, dict):
            ((part, found),) = found.items()
            parts.append(part)
        return parts

    def _value(self, path: Path) -> None:
        opening = self._left.pop()[0]
        if opening not in ("[", "{"):
            while self._next(whole_lines=False) not in (",", "]", "}", "\n", ""):
                self._left.pop()  # a date and its time
            return
        place = 0
        while (coming := self._next()) not in ("]", "}"):
            if coming == ",":
                self._left.pop()
            elif opening == "{":
                self._entry(path)
            else:
                self._note((*path, place), self._left[-1][1])
                self._value((*path, place))
                place += 1
        self._left.pop()

    def _note(self, path: Path, line: int) -> None:
        """The first line that speaks of a path, and of whatever it lies in."""
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for found in _TOKEN.finditer(text):
        if not found["skip"]:
            yield found[0], line
        line += found[0].count("\n")
