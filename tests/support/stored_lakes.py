"""A lake as an earlier version wrote it, the sources and commands that it was made with, and what of it must stay as it was."""

import hashlib
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import warm_python

import memlake

FOLDER = Path(__file__).parent.parent / "data" / "lakes"
SOURCES = FOLDER / "sources"
ARCHIVE = FOLDER / "0.1.0.tar.gz"
GOLDEN = FOLDER / "golden.json"
# Nobody listens there, and it is the host that the replies in the cache are of.
NO_SERVER = "http://127.0.0.1:9/v1"
# A local model of random weights made vectors of this table; it is not kept, so they cannot be made again.
VECTORS_NOT_KEPT = "sessions__bge-m3-multi"
FORGOTTEN = "diary"
_MODEL = "--model gpt-4o-mini --allow-dead-records 1"
_MENDED = "folds=within_sessions,speakers=names,captions=keep,pads=drop,batch=0,header=every"
_PUBLISHED = (
    "granularity=batch,turns=3,prompt=artifacts-published,second_pass=true,merge=overlap,on_cut=drop,repairs=0,"
    "max_output_tokens=1000,temperature=0.1,order=by_side"
)
_STEPS = {
    "transcripts": "ingest sources/team --corpus team --allow-dead 1 --allow-dead-records 1",
    "units of stored conversations": "ingest sources/notes/notes.json --corpus team --allow-dead-records 1",
    "a benchmark under two label sets": (
        "ingest sources/pairs --corpus pairs --corrections sources/corrections.json --representations chunks,turns "
        "--allow-dead-records 1"
    ),
    "one file of each other format": (
        "ingest sources/shapes --corpus shapes --chunk-size 80 --overlap 20 --embedder none --allow-dead 1 "
        "--allow-dead-records 1"
    ),
    "representations by rule": (
        "represent sentences sessions rule_summary rule_summary-short:least_words=2,most_words=5 artifacts_rules "
        f"chunks_published date_windows chunks-small:size=120,overlap=30 chunks_published-mended:{_MENDED} "
        "date_windows-own:resolve=own,around=20,order=by_side --corpus team --embedder none"
    ),
    "representations by a model": (
        "represent artifacts-again:seed=1 artifacts-turns:granularity=turns,turns=2,context=1,second_pass=true "
        "artifacts-quotes:show=content_quote artifacts-grounded:ungrounded=drop propositions summaries "
        f"artifacts-published:{_PUBLISHED} keyphrases rolling_summary facts --corpus team --embedder none {_MODEL}"
    ),
    "representations with vectors": f"represent turns artifacts --corpus team {_MODEL}",
    "vectors by a served model": "embed --corpus team --representations turns,my-notes --embedder openai:lab/embedder",
    "links": "link turns artifacts --corpus team --threshold 0.3 --k 2",
    "links of shared words": "link turns --corpus team --shared-word-threshold 0.1 --k 0 --relation words",
}
# The commands that made everything but the runs of studies; the same commands again find nothing to do.
STEPS = {name: line.split() for name, line in _STEPS.items()}
STUDY = f"study run sources/study.toml {_MODEL}".split()
LATER_INGEST = ["ingest", "sources/late", "--corpus", "team"]
# Steps whose manifests' names are kept; a manifest's name says whether what a killed run staged is still good.
NAMED = (
    "transcripts",
    "a benchmark under two label sets",
    "representations by rule",
    "representations by a model",
    "vectors by a served model",
    "links",
)
# Hashes and ids one by one, so that a test says which of them moved; the digests of whole tables say it of all the rest.
LISTED = {
    "representations": (
        "select representation, kind, settings, settings_hash, revision, code_version from representations order by all"
    ),
    "parts": "select corpus, conversation_id, part, content_hash, rows from parts order by all",
    "units": "select corpus, representation, list(unit_id order by unit_id) from units group by all order by all",
    "cells": "select study, cell, corpus, settings_hash, settings from cells order by all",
    "requests of answers": "select distinct request_hash from answers where request_hash is not null order by all",
    "requests of judgements": "select distinct request_hash from judgements where request_hash is not null order by all",
    "requests of extractions": "select distinct request_hash from extractions where request_hash is not null order by all",
    "requests of calls": "select distinct stage, request_hash from calls order by all",
    "runs": "select flow, event, settings_hash from runs order by logged_at",
}
RUN_TABLES = ("cells", "retrievals", "contexts", "answers", "judgements", "scores", "losses", "statistics")
_KINDS = ("code", "out", "err")
# Files take what each command prints, and its exit code; the folder for them is the argument.
_DRIVER = """
import json, os, sys
from pathlib import Path
from memlake.flows.cli.main import run

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for place, tokens in enumerate(json.loads((folder / "commands.json").read_text())):
        for number, kind in ((1, "out"), (2, "err")):
            file = os.open(folder / f"{place}.{kind}", os.O_WRONLY | os.O_CREAT)
            os.dup2(file, number)
            os.close(file)
        code = run(tokens)
        sys.stdout.flush()
        sys.stderr.flush()
        (folder / f"{place}.code").write_text(str(code))
    os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended: exit code, the document on stdout, and stderr."""

    code: int
    document: Any
    err: str


def commands(*several: Sequence[str], at: Path, server: str = NO_SERVER) -> list[CommandResult]:
    """Run commands one after the other in one process, in a folder, with no setting but the server's address.

    Nothing but `_DRIVER` knows how they are called.
    """
    ours = ("MEMLAKE_", "OPENAI_", "PREFECT_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "commands.json").write_text(json.dumps([[*tokens, "--json"] for tokens in several]))
        env |= {"OPENAI_BASE_URL": server} if server else {}
        warm_python.run("-c", _DRIVER, folder, cwd=at, env=env).check_returncode()
        made = [Path(folder, f"{place}.{kind}").read_text() for place in range(len(several)) for kind in _KINDS]
    ended = zip(made[::3], made[1::3], made[2::3], strict=True)
    return [CommandResult(int(code), json.loads(out) if out else None, err) for code, out, err in ended]


def command(*tokens: str, at: Path, server: str = NO_SERVER) -> CommandResult:
    """Run one command."""
    return commands(tokens, at=at, server=server)[0]


def offline(tokens: Sequence[str]) -> Sequence[str]:
    """A command that asks no model; `link` never does."""
    return tokens if tokens[0] == "link" else (*tokens, "--offline")


def unpack(folder: Path) -> Path:
    """Put the stored lake into a folder, beside its sources."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    shutil.copytree(SOURCES, folder / "sources")
    return folder


def golden() -> Any:
    """What was found in the stored lake by the version that wrote it."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def lines_of(lake: Any, queries: Mapping[str, str], *, at: str = "latest", near: bool = False) -> dict[str, list[str]]:
    """The rows of each query as sorted lines of JSON with sorted keys, bit-exact; all queries in one, for speed.

    Args:
        near: numbers to 12 significant digits, since another processor may add up otherwise in the last ones.
    """
    held = ", ".join(f'(select list(x) from ({query}) as x) as "{name}"' for name, query in queries.items())
    (row,) = memlake.sql(lake, f"select {held}", snapshot=at).to_pylist()
    return {
        name: sorted(json.dumps(_plain(record, near=near), sort_keys=True, ensure_ascii=False) for record in rows or ())
        for name, rows in row.items()
    }


def digests_of(lake: Any, columns: Mapping[str, Sequence[str]], at: str) -> dict[str, dict[str, object]]:
    """What is kept of tables: the columns that each had, how many rows, and the SHA-256 of their lines."""
    lines = lines_of(lake, {table: f'select {listed(names)} from "{table}"' for table, names in columns.items()}, at=at)
    return {
        table: {
            "columns": list(names),
            "rows": len(lines[table]),
            "digest": hashlib.sha256("\n".join(lines[table]).encode("utf-8", "surrogatepass")).hexdigest(),
        }
        for table, names in columns.items()
    }


def listed(columns: Sequence[str]) -> str:
    """Columns for a select."""
    return ", ".join(f'"{column}"' for column in columns)


def lines_of_run(lake: Any, run_id: str, columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """What a run of a study wrote, by table, without its own id, the snapshot that it read and the seconds it took."""
    timed = {"statistics": "and statistic not like 'seconds%'"}
    queries = {
        table: f"select {listed([name for name in names if name not in ('run_id', 'read_snapshot_id')])} from {table} "
        f"where run_id = '{run_id}' {timed.get(table, '')}"
        for table, names in columns.items()
    }
    return lines_of(lake, queries, near=True)


def values_of(lake: Any, query: str) -> list[Any]:
    """The rows of a query as lists of values; a single column's as values."""
    rows = [list(row.values()) for row in memlake.sql(lake, query).to_pylist()]
    return [row[0] if len(row) == 1 else row for row in rows]


def pins_of(row: Mapping[str, Any]) -> dict[str, int]:
    """The version of each location that a snapshot's row pins."""
    return {pin["location"]: pin["version"] for pin in sorted(row["pins"], key=lambda pin: pin["location"])}


@contextmanager
def locked(lake: Path) -> Iterator[None]:
    """Hold a lake's lock as a writer on another host does: whoever runs meanwhile stages all and publishes nothing."""
    holder = {"token": "0" * 32, "host": "elsewhere", "pid": 1, "process_start": 1, "run_id": "other"}
    (lake / "lock").write_text(json.dumps(holder | {"since": time.time()}))
    # A heartbeat that does not grow old, however slow the machine is.
    os.utime(lake / "lock", times=(time.time() + 86_400,) * 2)
    try:
        yield
    finally:
        (lake / "lock").unlink()


def staged_by(*several: Sequence[str], at: Path) -> list[str]:
    """The names of the manifests and notes that commands leave which cannot publish."""
    before = set(staged(at))
    with locked(at / "lake"):
        ended = commands(*([*offline(tokens), "--lock-timeout", "0"] for tokens in several), at=at)
    assert [ran.document["error"]["code"] for ran in ended] == ["lake_busy"] * len(several)
    return sorted(set(staged(at)) - before)


def staged(at: Path) -> list[str]:
    """The names of the manifests and notes in a lake's staged folder."""
    return sorted(path.name for path in (at / "lake" / "staged").glob("*.json"))


def cached(at: Path) -> list[str]:
    """The hashes of requests whose replies the lake's cache holds."""
    return sorted(path.stem for path in (at / "lake" / "cache" / "llm").rglob("*.json"))


def _plain(value: Any, *, near: bool) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item, near=near) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, near=near) for item in value]
    if isinstance(value, float) and near:
        return f"{value:.12g}"
    return value if value is None or isinstance(value, str | int | float) else value.isoformat()
