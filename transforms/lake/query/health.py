"""How a lake is: its state, its lock, its orphans, the files and vectors that it lacks. Nothing is changed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from deltalake.exceptions import DeltaError

from memlake.schemas import ALL
from memlake.transforms.base.errors import LakeCorruptError, NotFoundError
from memlake.transforms.lake.stage.manifest import SUFFIX, read_manifest
from memlake.transforms.lake.storage.lake import UNPINNED, Lake, open_lake
from memlake.transforms.lake.storage.lock import read_holder
from memlake.transforms.lake.storage.place import age_s, listed, size_of
from memlake.transforms.lake.storage.snapshot import Pin, Snapshot

# Counting orphans opens every pinned version of every table; a lake with more snapshots is told so instead.
MAX_SNAPSHOTS_FOR_ORPHANS = 200
# What the libraries raise when files of theirs are gone or broken.
_UNREADABLE = (OSError, ValueError, RuntimeError, DeltaError, pa.ArrowException)

Facts = dict[str, object]


@dataclass(slots=True)
class LakeHealth:
    """What was found out about a lake, a row for each table of vectors, and the sentences that say what is wrong."""

    facts: Facts
    vectors: list[Facts] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def lake_health(uri: str, folder: Path) -> LakeHealth:
    """Look at a lake, which may be broken or not there.

    Args:
        folder: the folder that the URI names.
    """
    found = LakeHealth({"uri": uri, "state": "broken"})
    try:
        lake = open_lake(uri)
    except NotFoundError:
        if listed(folder / "parquet", "*/_delta_log"):
            found.problems.append("the lake has tables and no snapshots: parquet/snapshots is missing or its log is")
        else:
            found.facts["state"] = "there is none yet"
        return found
    except LakeCorruptError as error:
        found.problems.append(error.message)
        return found
    try:
        _look_at(lake, found)
    except _UNREADABLE as error:
        found.problems.append(f"the lake's own books cannot be read: {_one_line(error)}")
    return found


def _look_at(lake: Lake, found: LakeHealth) -> None:
    snapshots = lake.snapshots()
    latest = lake.latest()
    found.facts |= {
        "state": "readable",
        "snapshots": snapshots.num_rows,
        "latest": latest.snapshot_id or None,
        "tags": sorted(lake.tags()),
        "lock": _lock(lake, found),
        "unfinished_shards": len(listed(lake.staged, f"*{SUFFIX}")),
        "orphan_files": _orphans(lake, snapshots.num_rows, found),
    }
    for table in ALL:
        with _problems(f"table={table.name}", found):
            _miss(f"table={table.name}", lake.files(table, latest), found)
    for name in latest.lance_tables():
        with _problems(f"vectors={name}", found):
            found.vectors.append(_vectors(latest, name, found))


@contextmanager
def _problems(what: str, found: LakeHealth) -> Iterator[None]:
    """Note what cannot be read as a problem and go on: a doctor who faints at the sight of blood helps nobody."""
    try:
        yield
    except LakeCorruptError as error:
        found.problems.append(error.message)
    except _UNREADABLE as error:
        found.problems.append(f"{what} cannot be read: {_one_line(error)}")


def _miss(what: str, files: Sequence[Path], found: LakeHealth) -> None:
    missing = [file for file in files if size_of(file) is None]
    if missing:
        found.problems.append(f"{what} misses {len(missing)} of {len(files)} data files, first: {missing[0]}")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _lock(lake: Lake, found: LakeHealth) -> str:
    path = lake.root / "lock"
    holder = read_holder(path)
    if holder is None:
        return "free"
    if holder.is_dead(age_s(path)):
        found.problems.append(f"the lock is left by a dead writer ({holder.describe()}); the next writer takes it over")
    return f"held by {holder.describe()}"


def _orphans(lake: Lake, snapshots: int, found: LakeHealth) -> int | None:
    """Parquet files that no snapshot's version and no waiting manifest names.

    None where counting would take long, or where a version cannot be read, so that nobody knows what it names.
    """
    if snapshots > MAX_SNAPSHOTS_FOR_ORPHANS:
        return None
    named: set[Path] = set()
    versions: set[Pin] = set()
    read: set[Pin] = set()
    for row in lake.snapshots()["snapshot_id"].to_pylist():
        snapshot = lake.snapshot(row)
        for name, pin in snapshot.pins.items():
            if not pin.is_lance and pin not in versions:
                versions.add(pin)
                with _problems(f"table={name} of snapshot={row}", found):
                    named.update(snapshot.files(name))
                    read.add(pin)
    if versions != read:
        return None
    for path in listed(lake.staged, f"*{SUFFIX}"):
        manifest = read_manifest(lake.staged, path.name.removesuffix(SUFFIX))
        for file in manifest.files if manifest else ():
            named.add(file.path_in(lake.root))
    pinned = [lake.table_path(table.name) for table in ALL if table not in UNPINNED]
    stored = {path for folder in pinned for path in listed(folder, "**/*.parquet")}
    return len({path for path in stored if "_delta_log" not in path.parts} - named)


def _vectors(snapshot: Snapshot, name: str, found: LakeHealth) -> Facts:
    stored = snapshot.lance_table(name)
    assert stored is not None
    fragments = stored.get_fragments()
    folder = snapshot.root / snapshot.pins[name].location / "data"
    _miss(f"vectors={name}", [folder / file.path for part in fragments for file in part.data_files()], found)
    made_by = {key.decode(): value.decode() for key, value in (stored.schema.metadata or {}).items()}
    key = any(
        label.startswith(b"lance-schema:unenforced-primary-key")
        for label in stored.schema.field("unit_id").metadata or {}
    )
    if not key:
        found.problems.append(f"vectors={name} declares no key: two writers could store a row twice")
    return {
        "table": name,
        "rows": stored.count_rows(),
        "dimension": made_by.get("memlake:dimension"),
        "model": made_by.get("memlake:model"),
        "key_declared": key,
        "fragments": len(fragments),
        "versions": len(stored.versions()),
    }
