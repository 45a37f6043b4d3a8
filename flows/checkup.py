"""What `memlake doctor` finds out: versions, settings, tools, the state of a lake, and what is wrong with any of them."""

import os
import platform
import shutil
import time
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from flows.adapter import configured_api
from flows.config import Configuration, Settings, unknown_variables
from schemas import ALL
from transforms.errors import LakeCorruptError, NotFoundError
from transforms.lake.connect import connect
from transforms.lake.lake import Lake, open_lake
from transforms.lake.lock import read_holder
from transforms.lake.manifest import SUFFIX, read_manifest
from transforms.lake.snapshot import Snapshot

PACKAGES = (
    "memlake", "apache-beam", "pyarrow", "deltalake", "lancedb", "pylance", "duckdb", "prefect", "bm25s", "wordllama",
    "numpy", "cyclopts", "pydantic-settings", "rich",
)  # fmt: skip
# Counting orphans opens every pinned version of every table; a lake with more snapshots is told so instead.
MAX_SNAPSHOTS_FOR_ORPHANS = 200

Facts = dict[str, object]


@dataclass(slots=True)
class Checkup:
    """Everything that was found, and the sentences that say what is wrong."""

    versions: Facts
    settings: list[Facts]
    tools: Facts
    lake: Facts
    duckdb: Facts = field(default_factory=dict)
    vectors: list[Facts] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def check(configuration: Configuration) -> Checkup:
    """Look at the installation, the settings and the configured lake; changes nothing."""
    chosen = configuration.settings
    found = Checkup(versions=_versions(), settings=configuration.rows(), tools=_tools(), lake={"uri": chosen.lake})
    found.problems += [f"{name} is no setting of memlake: misspelt?" for name in unknown_variables()]
    found.problems += [f"package {name} is not installed" for name, has in found.versions.items() if has is None]
    try:
        lake = open_lake(chosen.lake)
    except NotFoundError:
        found.lake["state"] = "there is none yet"
        return found
    _look_at(lake, found)
    if found.lake["snapshots"]:
        found.duckdb = _duckdb(lake, chosen)
    return found


def _versions() -> Facts:
    versions: Facts = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def _tools() -> Facts:
    from flows.runners import prism_location  # imports Beam: only here

    prism, api = prism_location(), configured_api()
    return {
        "cores": os.cpu_count(),
        "go": shutil.which("go"),
        "prism": str(prism) if prism else None,
        # Without user and password, should the URL hold any.
        "prefect_api": None if api is None else api.rpartition("@")[2],
    }


def _duckdb(lake: Lake, chosen: Settings) -> Facts:
    """DuckDB's settings as every query gets them, and the extensions that it has without a download."""
    with connect(
        lake, threads=chosen.threads, memory_limit=chosen.memory_limit, temp_directory=chosen.temp_directory
    ) as connection:
        names = ("threads", "memory_limit", "temp_directory", "TimeZone")
        facts: Facts = {
            name: connection.execute("select current_setting($n)", {"n": name}).fetchall()[0][0] for name in names
        }
        loaded = "select extension_name from duckdb_extensions() where loaded order by 1"
        return facts | {"extensions": [name for (name,) in connection.execute(loaded).fetchall()]}


def _look_at(lake: Lake, found: Checkup) -> None:
    snapshots = lake.snapshots()
    latest = lake.latest()
    found.lake |= {
        "state": "readable",
        "snapshots": snapshots.num_rows,
        "latest": latest.snapshot_id or None,
        "tags": sorted(lake.tags()),
        "lock": _lock(lake, found),
        "unfinished_shards": len(list(lake.staged.glob(f"*{SUFFIX}"))),
        "orphan_files": _orphans(lake, snapshots.num_rows),
    }
    for name, pin in latest.pins.items():
        try:
            rows = len(latest.files(name)) if not pin.is_lance else None
        except LakeCorruptError as error:
            found.problems.append(error.message)
            continue
        if rows is None:
            found.vectors.append(_vectors(latest, name, found))


def _lock(lake: Lake, found: Checkup) -> str:
    path = lake.root / "lock"
    holder = read_holder(path)
    if holder is None:
        return "free"
    if holder.is_dead(time.time() - path.stat().st_mtime):
        found.problems.append(f"the lock is left by a dead writer ({holder.describe()}); the next writer takes it over")
    return f"held by {holder.describe()}"


def _orphans(lake: Lake, snapshots: int) -> int | None:
    """Parquet files that no snapshot's version and no waiting manifest names; None where counting would take long."""
    if snapshots > MAX_SNAPSHOTS_FOR_ORPHANS:
        return None
    named: set[Path] = set()
    versions = set()
    for row in lake.snapshots()["snapshot_id"].to_pylist():
        snapshot = lake.snapshot(row)
        for name, pin in snapshot.pins.items():
            if not pin.is_lance and pin not in versions:
                versions.add(pin)
                named.update(snapshot.files(name))
    for path in lake.staged.glob(f"*{SUFFIX}"):
        manifest = read_manifest(lake.staged, path.name.removesuffix(SUFFIX))
        for file in manifest.files if manifest else ():
            named.add(lake.table_path(file.table) / file.path)
    pinned = [table for table in ALL if not table.journal and table.name not in ("snapshots", "tags")]
    stored = {path for table in pinned for path in lake.table_path(table.name).rglob("*.parquet")}
    return len({path for path in stored if "_delta_log" not in path.parts} - named)


def _vectors(snapshot: Snapshot, name: str, found: Checkup) -> Facts:
    stored = snapshot.lance_table(name)
    assert stored is not None
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
        "fragments": len(stored.get_fragments()),
        "versions": len(stored.versions()),
    }
