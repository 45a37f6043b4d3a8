"""Tables as a terminal shows them: ids and numbers stay whole, texts are folded, and what cannot fit stands upright."""

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# A text in a narrower column than this is a ladder of single words.
_TEXT_WIDTH = 20
_COLUMN_GAP = 2


def draw(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[bool], title: str, console: Console
) -> None:
    """Print rows of cells under their columns, or a record after another where the console is too narrow for that.

    Args:
        columns: names; all empty for a table without a header line, which is never printed upright.
        right: which columns stand on the right.
    """
    places = range(len(columns))
    cells = [[columns[place], *(row[place] for row in rows)] for place in places]
    widths = [max(map(cell_len, column)) for column in cells]
    named = any(columns)
    folds = [
        not right[place] and (_is_text(columns[place], cells[place][1:]) if named else place > 0) for place in places
    ]
    least = [
        max(cell_len(name), min(width, _TEXT_WIDTH)) if fold else width
        for name, width, fold in zip(columns, widths, folds, strict=True)
    ]
    if named and sum(least) + _COLUMN_GAP * len(columns) > console.width:
        _draw_upright(columns, rows, title, console)
        return
    _print_title(title, console)
    table = Table(
        box=box.SIMPLE_HEAD,
        header_style="bold cyan",
        show_header=named,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for place in places:
        table.add_column(
            Text(columns[place]),
            justify="right" if right[place] else "left",
            overflow="fold",
            no_wrap=not folds[place],
            min_width=least[place] if named else None,
        )
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _is_text(name: str, column: Sequence[str]) -> bool:
    """Whether a column may be folded: it holds more than one word somewhere, and is not one of ids."""
    return not name.endswith("_id") and any(" " in value for value in column)


def _print_title(title: str, console: Console) -> None:
    # Beside the table and not part of it: as a part it is folded to the table's width.
    if title:
        console.print(Text(title, style="bold"))


def _draw_upright(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, console: Console) -> None:
    _print_title(title, console)
    width = max(map(cell_len, columns))
    for place, row in enumerate(rows):
        if place:
            console.print()
        record = Table.grid(padding=(0, _COLUMN_GAP, 0, 0))
        record.add_column(no_wrap=True, min_width=width, style="bold cyan")
        record.add_column(overflow="fold")
        for name, value in zip(columns, row, strict=True):
            record.add_row(Text(name), Text(value))
        console.print(record)
