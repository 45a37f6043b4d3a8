"""Print a table: drawn by rich on a terminal, aligned plain text everywhere else."""

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from memlake.flows.cli.printing.output import printable, say
from memlake.transforms.base.jsonable import jsonable

if TYPE_CHECKING:
    import pyarrow as pa

# A cell longer than this is folded by a terminal into a column of fragments that nobody reads.
MAX_CELL = 200
_PERCENTAGE = re.compile(r"\d+ ?%")


def on_terminal() -> bool:
    """Whether a person looks at stdout."""
    return sys.stdout.isatty()


def show_rows(rows: Sequence[Mapping[str, object]], *, title: str = "", max_cell: int | None = None) -> None:
    """Print rows that all have the same names; nothing but the title when there are none."""
    columns = list(rows[0]) if rows else []
    show(columns, [list(row.values()) for row in rows], title=title, max_cell=max_cell)


def show_arrow(rows: "pa.Table") -> None:
    """Print an Arrow table; two columns of one name stay two."""
    columns = [column.to_pylist(maps_as_pydicts="lossy") for column in rows.columns]
    show(rows.column_names, list(zip(*columns, strict=True)))


def show(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "", max_cell: int | None = None
) -> None:
    """Print rows under their column names; numbers stand on the right, and nothing in a cell is ever markup.

    Args:
        max_cell: where longer cells are cut; by default a terminal's are and a pipe's are not.
    """
    right = [_stands_right([row[place] for row in rows]) for place in range(len(columns))]
    terminal = on_terminal()
    limit = max_cell or (MAX_CELL if terminal else None)
    texts = [[_cut(cell(value), limit) for value in row] for row in rows]
    if terminal:
        _draw(columns, texts, title, right)
        return
    if title:
        say(title)
    for line in aligned(columns, texts, right=right):
        print(line)


def cell(value: object) -> str:
    """A value as it stands in a table: null for nothing, three digits, seconds for times, JSON for nested values."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}" if math.isfinite(value) else "null"
    if isinstance(value, datetime):
        return str(jsonable(value.replace(microsecond=0)))
    if isinstance(value, Mapping | list | tuple):
        return printable(json.dumps(jsonable(value), ensure_ascii=False))
    return printable(str(jsonable(value)))


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[bool]) -> list[str]:
    """A table as lines of aligned text, two spaces between columns, for pipes and files."""
    header = [list(columns)] if any(columns) else []
    texts = [*header, *rows]
    widths = [max((len(text[place]) for text in texts), default=0) for place in range(len(columns))]
    return [
        "  ".join(
            text.rjust(width) if on_right else text.ljust(width)
            for text, width, on_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in texts
    ]


def _stands_right(column: Sequence[object]) -> bool:
    """Whether a column holds numbers alone, nulls aside."""
    return any(map(_is_number, column)) and all(_is_number(value) or value is None for value in column)


def _is_number(value: object) -> bool:
    """Whether a value is a number; a share printed as a percentage is too."""
    if isinstance(value, str):
        return _PERCENTAGE.fullmatch(value) is not None
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _cut(text: str, limit: int | None) -> str:
    return text if limit is None or len(text) <= limit else f"{text[: limit - 3]}..."


def _draw(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, right: Sequence[bool]) -> None:
    from rich.console import Console

    from memlake.flows.cli.printing.drawn import draw

    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    draw(columns, rows, right=right, title=title, console=console)
