"""Tables of questions as CSV: rows of texts, read once for all the chats that they belong to."""

import io
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.csv as pacsv

from memlake.transforms.base.conversation import DeadLetter, Source
from memlake.transforms.base.sources import open_uri, source_bytes
from memlake.transforms.read.common.reader import header_of, unreadable

# A field may hold a whole list of messages, and a row must fit into one block.
_BLOCK_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows by the header's names, every value as text, and what could not be read."""

    rows: tuple[dict[str, str], ...] = ()
    letters: tuple[DeadLetter, ...] = ()


def read_table(uri: str) -> TextTable:
    """Read a CSV whole; a row of another width than the header is dropped with its number."""
    return _read_table(uri, source_bytes(Source(uri)))


# Each chat of a folder asks for the same tables; the size is part of the key, for a file may grow between two runs.
@lru_cache(maxsize=4)
def _read_table(uri: str, size: int | None) -> TextTable:  # noqa: ARG001
    letters: list[DeadLetter] = []

    def unfit(row: pacsv.InvalidRow) -> str:
        error = f"row {row.number or '?'} has {row.actual_columns} fields, the header has {row.expected_columns}"
        letters.append(DeadLetter("malformed_record", error, uri, row.number, "question"))
        return "skip"

    try:
        with open_uri(uri) as file:
            raw = file.read()
        names = dict.fromkeys(header_of(raw), pa.string())
        table = pacsv.read_csv(
            io.BytesIO(raw),
            read_options=pacsv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
            parse_options=pacsv.ParseOptions(newlines_in_values=True, invalid_row_handler=unfit),
            convert_options=pacsv.ConvertOptions(column_types=names, strings_can_be_null=False),
        )
    except OSError as error:
        return TextTable(letters=(unreadable(uri, error),))
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        says = f"not a CSV: {str(error).splitlines()[0]}"
        return TextTable(letters=(DeadLetter("malformed_table", says, uri, None, "file"),))
    return TextTable(tuple(table.to_pylist()), tuple(letters))
