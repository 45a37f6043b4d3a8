"""The journal of calls: workers write segment files of their own, the driver appends them to the table `calls`.

A segment is a file of JSON lines in the lake's `staged/calls`, locked by its writer while it is open, so that whoever
sweeps can tell a worker that lives from one that was killed. A line that a kill cut short is left out.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from memlake.schemas.calls import CALLS
from memlake.transforms.lake.storage.lake import Lake

_SUFFIX = ".jsonl"
_LOCK = "sweep.lock"
_KEY = ["call_id", "attempt"]
# What a server said of its failure may be a page of HTML.
_DETAIL_CHARS = 2000
_ROWS_AT_A_TIME = 16_384
_COLUMNS = set(CALLS.schema.names)
# What a row says that does not say otherwise: no cell, no mode, and nulls.
_UNSAID: dict[str, object] = {
    **{field.name: None for field in CALLS.schema if field.nullable},
    "cell": "",
    "mode": "",
    "from_cache": False,
}


def new_call_id() -> str:
    """128 random bits for one ask, whatever its attempts and whether the cache answers it."""
    return secrets.token_hex(16)


class CallLog:
    """One worker's segment of the journal; a row is on its way to the disk when `add` returns.

    The file is made with the first row. One thread at a time may use it.
    """

    def __init__(self, root: Path, run_id: str) -> None:
        self._folder = root / "staged" / "calls"
        self._run_id = run_id
        self._file: int | None = None

    def add(self, *, detail: str | None = None, **columns: object) -> None:
        """Append one attempt: a row of `calls`, whose columns the arguments are.

        Raises:
            TypeError: a column that there is not, or one without a value.
        """
        row = {**_UNSAID, **columns, "run_id": self._run_id, "logged_at": datetime.now(UTC).isoformat()}
        row["detail"] = detail[:_DETAIL_CHARS] if detail else None
        if row.keys() != _COLUMNS:
            raise TypeError(f"a row of calls has other columns: {sorted(row.keys() ^ _COLUMNS)}")
        if self._file is None:
            self._file = self._open()
        # A lone surrogate is no text that a table can hold.
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        while line:
            line = line[os.write(self._file, line) :]

    def close(self) -> None:
        """Let go of the segment: whoever sweeps next may take it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{self._run_id}.{os.getpid()}.{secrets.token_hex(8)}{_SUFFIX}"
        fresh = path.with_suffix(".new")
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o644)
        fcntl.flock(file, fcntl.LOCK_EX)
        fresh.rename(path)  # only now can a sweeper see it, and it is locked
        return file


def sweep(lake: Lake, *, run_id: str = "") -> int:
    """Move segments into the journal: those that nobody holds, of this run and of killed ones; return the rows added.

    A kill between the append and the deletion doubles nothing: rows that the journal has are not added again.

    Args:
        run_id: this run's segments are appended even while a worker holds them, and then left for a later sweep.
    """
    folder = lake.staged / "calls"
    if not folder.is_dir():
        return 0
    with _only_sweeper(folder):
        done: list[tuple[Path, int]] = []
        try:
            rows = pa.concat_tables([CALLS.empty(), *_segments(folder, run_id, done)])
            new = _without_swept(lake, rows)
            lake.journal(CALLS, new)
            for path, _ in done:
                path.unlink()
        finally:
            for _, file in done:
                os.close(file)
    return new.num_rows


def paid(lake: Lake, run_id: str) -> dict[str, object]:
    """What a run asked and paid, by its rows in `calls`: attempts, replies from the cache, tokens, US dollars.

    `price_usd` is null when the price of one of its models is not known; `price_unknown` counts these attempts.
    """
    rows = _stored(
        lake, pc.field("run_id") == run_id, ["from_cache", "tokens_in", "tokens_out", "price_usd", "outcome"]
    )
    made = rows.filter(pc.invert(rows["from_cache"]))
    sent = made.filter(pc.not_equal(made["outcome"], "missing"))
    answered = sent.filter(pc.invert(pc.is_in(sent["outcome"], value_set=pa.array(["transient", "fatal"]))))
    unknown = answered["price_usd"].null_count
    outcomes = rows.group_by("outcome").aggregate([([], "count_all")]).sort_by("outcome")
    return {
        "calls": sent.num_rows,
        "cached": rows.num_rows - made.num_rows,
        "tokens_in": pc.sum(sent["tokens_in"]).as_py() or 0,
        "tokens_out": pc.sum(sent["tokens_out"]).as_py() or 0,
        "price_usd": None if unknown else round(pc.sum(sent["price_usd"]).as_py() or 0.0, 6),
        "price_unknown": unknown,
        "outcomes": dict(zip(outcomes["outcome"].to_pylist(), outcomes["count_all"].to_pylist(), strict=True)),
    }


@contextmanager
def _only_sweeper(folder: Path) -> Iterator[None]:
    """Let one process sweep at a time; the kernel frees the lock of a killed one."""
    with (folder / _LOCK).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _segments(folder: Path, run_id: str, done: list[tuple[Path, int]]) -> Iterator[pa.Table]:
    """Rows of the segments that are to be swept; those that are ended are added to `done`, locked."""
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        file = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if path.name.startswith(f"{run_id}.") and run_id:
                yield from _tables(path)
            os.close(file)
            continue
        done.append((path, file))
        yield from _tables(path)


def _tables(path: Path) -> Iterator[pa.Table]:
    """A segment's whole lines as tables of some thousand rows."""
    rows: list[dict[str, object]] = []
    with path.open("rb") as lines:
        for line in lines:
            row = _row(line)
            if row is not None:
                rows.append(row)
            if len(rows) >= _ROWS_AT_A_TIME:
                yield CALLS.rows(rows)
                rows = []
    yield CALLS.rows(rows)


def _row(line: bytes) -> dict[str, object] | None:
    """One line as a row; None when a kill or a power loss left a part of it."""
    try:
        row: Any = json.loads(line) if line.endswith(b"\n") else None
        if isinstance(row, dict) and row.keys() >= _COLUMNS:
            return {**row, "logged_at": datetime.fromisoformat(row["logged_at"])}
    except (ValueError, TypeError, RecursionError):
        return None
    return None


def _without_swept(lake: Lake, rows: pa.Table) -> pa.Table:
    """The rows that neither the journal has, nor another row before them."""
    if not rows.num_rows:
        return rows
    # The time prunes: what was swept already was logged no earlier than the first of these.
    same = (pc.field("logged_at") >= pc.min(rows["logged_at"])) & pc.field("call_id").isin(pc.unique(rows["call_id"]))
    stored = _stored(lake, same, _KEY)
    seen = set(zip(*(stored[name].to_pylist() for name in _KEY), strict=True))
    kept = []
    for key in zip(*(rows[name].to_pylist() for name in _KEY), strict=True):
        kept.append(key not in seen)
        seen.add(key)
    return rows.filter(pa.array(kept, pa.bool_()))


def _stored(lake: Lake, where: pc.Expression, columns: list[str]) -> pa.Table:
    files = list(map(str, lake.newest_files(CALLS)))
    if not files:
        return CALLS.empty().select(columns)
    return pads.dataset(files, schema=CALLS.schema, format="parquet").to_table(columns=columns, filter=where)
