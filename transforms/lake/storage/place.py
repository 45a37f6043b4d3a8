"""Where a lake lies: what a path of it names is touched here and in the other files of this folder.

A file of ours is there whole or not at all, whatever stops a writer midway. The rest of the lake puts names together and
hands them to these functions, to Delta and to Lance. Another kind of store is another body of each: paths are then names
in it, `put_once` is a conditional put, and the lock a lease.
"""

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def put_once(path: Path, text: str) -> bool:
    """Write a file unless one is there; say whether it was written."""
    with _beside(path) as fresh:
        _write(fresh, text)
        try:
            os.link(fresh, path)  # unlike a rename, never replaces
        except FileExistsError:
            return False
    return True


def put_text(path: Path, text: str) -> int:
    """Write a file, in place of one that is there; its bytes. A lone surrogate is written as its escape."""
    with replacing(path) as fresh:
        return _write(fresh, text)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path to write a file at, which takes the file's place once the block has ended, and is gone if it failed."""
    with _beside(path) as fresh:
        yield fresh
        fresh.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON file of ours; None when there is none. A broken one, as a power loss leaves it, is deleted."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        path.unlink(missing_ok=True)
        return None
    return found


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    fresh = path.with_name(f".{secrets.token_hex(16)}.tmp")
    try:
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)


def _write(path: Path, text: str) -> int:
    return path.write_bytes(text.encode("utf-8", "backslashreplace"))


def size_of(path: Path) -> int | None:
    """Bytes of a file; None when it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def are_whole(sizes: Mapping[Path, int]) -> bool:
    """Whether files are all there, each with as many bytes as it should have."""
    return all(size_of(path) == size for path, size in sizes.items())


def age_s(path: Path) -> float:
    """Seconds since a file was written or a folder changed."""
    return time.time() - path.stat().st_mtime


def read_text(path: Path) -> str:
    """The text of a small file of ours.

    Raises:
        FileNotFoundError: it is not there.
    """
    return path.read_text(encoding="utf-8")


def listed(folder: Path, pattern: str) -> list[Path]:
    """What a folder holds under names like `pattern`; nothing when there is no such folder."""
    return list(folder.glob(pattern))


def make_folder(path: Path) -> None:
    """Make a folder, and those that it lies in."""
    path.mkdir(parents=True, exist_ok=True)


def remove(*paths: Path) -> None:
    """Delete files; one that is gone is no error."""
    for path in paths:
        path.unlink(missing_ok=True)


def remove_folder(path: Path) -> None:
    """Delete a folder with all that it holds."""
    shutil.rmtree(path, ignore_errors=True)


def put_aside(path: Path, name: str) -> None:
    """Give a file another name in its folder."""
    path.replace(path.with_name(name))


def row_count(path: Path) -> int:
    """How many rows a Parquet file has, by its footer.

    Raises:
        OSError, ArrowInvalid: it is not there, or cut.
    """
    return int(pq.read_metadata(path).num_rows)


def is_parquet(path: Path) -> bool:
    """Whether a file is there and ends as a Parquet file does, so is not cut."""
    try:
        row_count(path)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a Parquet file to stream its rows.

    Raises:
        FileNotFoundError: it is not there.
    """
    return pq.ParquetFile(path)


def read_parquet(
    paths: Sequence[Path],
    *,
    schema: pa.Schema | None = None,
    columns: Sequence[str] | None = None,
    where: pc.Expression | None = None,
) -> pa.Table:
    """Read some Parquet files, without what their folders' names say; at least one, or `schema` is given.

    Raises:
        FileNotFoundError: one is not there.
    """
    chosen = None if columns is None else list(columns)
    tables = [pq.read_table(path, schema=schema, columns=chosen, filters=where, partitioning=None) for path in paths]
    return pa.concat_tables(tables) if tables or schema is None else schema.empty_table()


def write_parquet(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Open a small Parquet file for writing, such as lies beside manifests."""
    return pq.ParquetWriter(path, schema, compression="zstd")
