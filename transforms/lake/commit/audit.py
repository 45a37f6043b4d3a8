"""Run sql/audits, on what a commit lands or on a whole snapshot: each returns the rows that offend; no row means pass."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import TABLES
from memlake.schemas.vectors import representation_of
from memlake.transforms.base.errors import LakeCorruptError
from memlake.transforms.base.sql import SqlFile, sql_files
from memlake.transforms.lake.query.connect import bare_connection, create_view
from memlake.transforms.lake.storage.files import StagedFile
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.parts import part_names
from memlake.transforms.lake.storage.place import read_parquet, row_count
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.lake.storage.tables import active_files

# An audit's message shows some offending rows, not all.
SHOWN_ROWS = 100
# Text audited at one time: peak memory depends on this, not on how much a run brought.
GROUP_CHARS = 16 << 20
# What DuckDB may hold for a group before it spills; one conversation alone may be larger than a group.
_MEMORY_MB = 512
_MEMORY_BYTES_A_CHAR = 32
# Audits that hold a few bytes a unit, and so look at all conversations at once.
_AT_ONCE = ("vectors",)
# What they look at, beside vectors.
_TABLES = (
    "conversations", "turns", "units", "provenance", "links", "extractions", "questions", "evidence", "parts",
    "representations",
)  # fmt: skip


def run_audits(lake: Lake, snapshot: Snapshot, audited: pa.Table) -> dict[str, pa.Table]:
    """Offending rows by audit, for some conversations (corpus, conversation_id) of a snapshot."""
    if not audited.num_rows:
        return {}
    files = {name: list(active_files(name, snapshot.delta(name)).values()) for name in _TABLES}
    found: dict[str, pa.Table] = {}
    every = sql_files("audits")
    by_group = [file for file in every if file.name not in _AT_ONCE]
    at_once = [file for file in every if file.name in _AT_ONCE]
    rounds = [(group, chars, by_group) for group, chars in _groups(lake, files["turns"], audited)]
    # As usual, all conversations are one group: one connection serves.
    rounds = [(*rounds[0][:2], [*by_group, *at_once])] if len(rounds) == 1 else [*rounds, (audited, 0, at_once)]
    for some, chars, audits in rounds:
        with _connection(lake, files, some, chars) as connection:
            if at_once[0] in audits:
                _create_vectors(connection, snapshot)
            _run(connection, audits, found)
    return found


def _run(connection: duckdb.DuckDBPyConnection, audits: list[SqlFile], found: dict[str, pa.Table]) -> None:
    for file in audits:
        offending = connection.sql(file.text).limit(SHOWN_ROWS).to_arrow_table()
        if offending.num_rows:
            found[file.name] = pa.concat_tables([found[file.name], offending]) if file.name in found else offending


def _connection(
    lake: Lake, files: Mapping[str, list[StagedFile]], audited: pa.Table, chars: int
) -> duckdb.DuckDBPyConnection:
    """The audited tables, over the files alone that may hold one of the conversations; and `audited` itself."""
    bounds = pc.min_max(audited["conversation_id"])
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    corpora = {None, *pc.unique(audited["corpus"]).to_pylist()}
    connection = bare_connection(memory_limit=f"{max(_MEMORY_MB, _MEMORY_BYTES_A_CHAR * chars >> 20)}MB")
    chosen: dict[str, list[Path]] = {name: [] for name in files}
    for name, of_table in files.items():
        for file in of_table:
            if file.partition.get("corpus") in corpora and file.may_hold(low, high):
                chosen[name].append(file.path_in(lake.root))
    for name, paths in chosen.items():
        create_view(connection, TABLES[name], paths)
    connection.register(
        "part_names", part_names(connection.sql("select distinct part from parts").to_arrow_table()["part"])
    )
    connection.register("audited_rows", audited)
    connection.execute("create temp table audited as select corpus, conversation_id from audited_rows")
    return connection


def _create_vectors(connection: duckdb.DuckDBPyConnection, snapshot: Snapshot) -> None:
    """The view `vectors`: the rows of every Lance table with the table's name and its representation."""
    empty = "select '' as vector_table, '' as representation, '' as corpus, '' as conversation_id, '' as unit_id where false"
    selects = [empty]
    for name in snapshot.lance_tables():
        connection.register(name, snapshot.lance_table(name))
        # Names of ours, checked when the representation and the embedder were named.
        columns = f"'{name}' as vector_table, '{representation_of(name)}' as representation"
        selects.append(f'select {columns}, corpus, conversation_id, unit_id from "{name}"')  # noqa: S608
    connection.execute(f"create view vectors as {' union all '.join(selects)}")


def _groups(lake: Lake, turns: list[StagedFile], audited: pa.Table) -> Iterator[tuple[pa.Table, int]]:
    """Cut the audited conversations so that each group lies in one file of turns and has about GROUP_CHARS of text.

    Yields each group with its characters.

    Going file by file keeps each table read a fixed number of times, however large the lake.
    """
    for corpus in pc.unique(audited["corpus"]).to_pylist():
        mine = audited.filter(pc.equal(audited["corpus"], corpus))
        wanted = set(mine["conversation_id"].to_pylist())
        for file in turns:
            if file.partition["corpus"] != corpus:
                continue
            for names, chars in _cut(file.path_in(lake.root), wanted):
                yield _audited(corpus, names), chars
        # Conversations without a turn in the snapshot: forgotten ones, or ones whose turns a fault has lost.
        if wanted:
            yield _audited(corpus, sorted(wanted)), 0


def _cut(file: Path, wanted: set[str]) -> Iterator[tuple[list[str], int]]:
    """The wanted conversations of one file of turns, in groups; takes them off the wanted."""
    rows = read_parquet([file], columns=["conversation_id", "char_end"])
    sizes = rows.group_by("conversation_id", use_threads=False).aggregate([("char_end", "max")])
    group: list[str] = []
    chars = 0
    for name, size in sorted(zip(sizes["conversation_id"].to_pylist(), sizes["char_end_max"].to_pylist(), strict=True)):
        if name not in wanted:
            continue
        wanted.discard(name)
        group.append(name)
        chars += size
        if chars >= GROUP_CHARS:
            yield group, chars
            group, chars = [], 0
    if group:
        yield group, chars


def _audited(corpus: str, names: list[str]) -> pa.Table:
    return pa.table(
        {"corpus": pa.array([corpus] * len(names), pa.string()), "conversation_id": pa.array(names, pa.string())}
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one audit: how many rows offend (at most 100 are counted), and the first of them."""

    audit: str
    rows: int
    first: str = ""


def verify(lake: Lake, at: str = "latest") -> list[Finding]:
    """Every audit over every conversation of a snapshot; one finding each, also for those that pass.

    Raises:
        NotFoundError: there is no such snapshot.
    """
    snapshot = lake.snapshot(at)
    missing = _missing_files(snapshot)
    files = [Finding("files", len(missing), missing[0] if missing else "")]
    if missing:
        return files  # what cannot be read cannot be audited
    everything = snapshot.read("conversations", columns=["corpus", "conversation_id"])
    offending = run_audits(lake, snapshot, everything)
    names = [file.name for file in sql_files("audits")]
    passed = [Finding(name, 0) for name in names if name not in offending]
    failed = [Finding(name, rows.num_rows, str(rows.slice(0, 1).to_pylist()[0])) for name, rows in offending.items()]
    return [*files, *passed, *failed]


def _missing_files(snapshot: Snapshot) -> list[str]:
    """Tables whose pinned version cannot be opened, and files that are missing or not Parquet."""
    missing: list[str] = []
    for name, pin in sorted(snapshot.pins.items()):
        try:
            if pin.is_lance:
                table = snapshot.lance_table(name)
                if table is not None:
                    table.validate()  # type: ignore[no-untyped-call]
                continue
            for file in snapshot.files(name):
                row_count(file)
        except (LakeCorruptError, OSError, ValueError, pa.ArrowInvalid) as error:
            missing.append(f"{name}: {error}")
    return missing
