"""A lake as an earlier version wrote it, the sources and commands that it was made with, and what of it must stay as it was."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import memlake

FOLDER = Path(__file__).parent.parent / "data" / "lakes"
SOURCES = FOLDER / "sources"
ARCHIVE = FOLDER / "0.1.0.tar.gz"
GOLDEN = FOLDER / "golden.json"
# Nobody listens there, and it is the host that the replies in the cache are of.
NOBODY = "http://127.0.0.1:9/v1"
# A local model of random weights made vectors of this table; it is not kept, so they cannot be made again.
UNMADE = "sessions__bge-m3-multi"
FORGOTTEN = "diary"
_MODEL = ("--model", "gpt-4o-mini", "--allow-dead-records", "1")
_PUBLISHED = "prompt=artifacts-published,second_pass=true,merge=overlap,on_cut=drop,repairs=0,max_output_tokens=1000"
# The commands that made everything but the runs of studies; the same commands again find nothing to do.
STEPS: Mapping[str, Sequence[str]] = {
    "transcripts": ("ingest", "sources/team", "--corpus", "team", "--allow-dead", "1", "--allow-dead-records", "1"),
    "units of stored conversations": (
        *("ingest", "sources/notes/notes.json", "--corpus", "team", "--allow-dead-records", "1"),
    ),
    "a benchmark under two label sets": (
        *("ingest", "sources/pairs", "--corpus", "pairs", "--corrections", "sources/corrections.json"),
        *("--representations", "chunks,turns", "--allow-dead-records", "1"),
    ),
    "one file of each other format": (
        *("ingest", "sources/shapes", "--corpus", "shapes", "--chunk-size", "80", "--overlap", "20"),
        *("--embedder", "none", "--allow-dead", "1", "--allow-dead-records", "1"),
    ),
    "representations by rule": (
        *("represent", "sentences", "sessions", "rule_summary", "rule_summary-short:least_words=2,most_words=5"),
        *("artifacts_rules", "chunks_published", "date_windows", "chunks-small:size=120,overlap=30"),
        "chunks_published-mended:folds=within_sessions,speakers=names,captions=keep,pads=drop,batch=0,header=every",
        *("date_windows-own:resolve=own,around=20,order=by_side", "--corpus", "team", "--embedder", "none"),
    ),
    "representations by a model": (
        *(
            "represent",
            "artifacts-again:seed=1",
            "artifacts-turns:granularity=turns,turns=2,context=1,second_pass=true",
        ),
        *("artifacts-quotes:show=content_quote", "artifacts-grounded:ungrounded=drop", "propositions", "summaries"),
        *(f"artifacts-published:granularity=batch,turns=3,{_PUBLISHED},temperature=0.1,order=by_side", "keyphrases"),
        *("rolling_summary", "facts", "--corpus", "team", "--embedder", "none", *_MODEL),
    ),
    "representations with vectors": ("represent", "turns", "artifacts", "--corpus", "team", *_MODEL),
    "vectors by a served model": (
        *("embed", "--corpus", "team", "--representations", "turns,my-notes", "--embedder", "openai:lab/embedder"),
    ),
    "links": ("link", "turns", "artifacts", "--corpus", "team", "--threshold", "0.3", "--k", "2"),
    "links of shared words": (
        *("link", "turns", "--corpus", "team", "--shared-word-threshold", "0.1", "--k", "0", "--relation", "words"),
    ),
}
STUDY = ("study", "run", "sources/study.toml", *_MODEL)
LATE = ("ingest", "sources/late", "--corpus", "team")
# Steps whose manifests' names are kept; a manifest's name says whether what a killed run staged is still good.
NAMED = (
    "transcripts",
    "a benchmark under two label sets",
    "representations by rule",
    "representations by a model",
    "vectors by a served model",
    "links",
)
OF_A_RUN = ("cells", "retrievals", "contexts", "answers", "judgements", "scores", "losses", "statistics")
_JOURNALS = ("runs", "calls", "dead_letters")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended: exit code, the document on stdout, and stderr."""

    code: int
    document: Any
    err: str


def command(*tokens: str, at: Path, server: str = NOBODY) -> Ran:
    """Run the command of the code under test in a folder, with no setting but these and the test server's address."""
    ours = ("MEMLAKE_", "OPENAI_", "PREFECT_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-m", "flows.cli", *tokens, "--json"],
        cwd=at,
        env=env | {"OPENAI_BASE_URL": server},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr)


def again(tokens: Sequence[str], *, at: Path) -> Ran:
    """Run one of the commands that made the lake, without any model to ask."""
    return command(*tokens, *(() if tokens[0] == "link" else ("--offline",)), at=at)


def unpack(folder: Path) -> Path:
    """Put the stored lake into a folder, beside its sources."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    shutil.copytree(SOURCES, folder / "sources")
    return folder


def golden() -> Any:
    """What was found in the stored lake by the version that wrote it."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def lines_of(
    lake: Any, table: str, *, columns: Sequence[str] = (), where: str = "true", at: str = "latest", near: bool = False
) -> list[str]:
    """Rows of a table as sorted lines of JSON with sorted keys, bit-exact.

    Args:
        columns: only these; none for all.
        near: numbers to 12 significant digits, since another processor may add up otherwise in the last ones.
    """
    chosen = ", ".join(f'"{column}"' for column in columns) or "*"
    rows = memlake.sql(lake, f'select {chosen} from "{table}" where {where}', snapshot=at).to_pylist()
    return sorted(json.dumps(_plain(row, near=near), sort_keys=True, ensure_ascii=False) for row in rows)


def digest(lines: Iterable[str]) -> str:
    """SHA-256 of lines."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def told_of(lake: Any, table: str, columns: Sequence[str], at: str) -> dict[str, object]:
    """What is kept of a table: the columns that it had, how many rows, and the digest of their contents."""
    lines = lines_of(lake, table, columns=columns, at=at)
    return {"columns": list(columns), "rows": len(lines), "digest": digest(lines)}


def lines_of_run(lake: Any, table: str, run_id: str) -> list[str]:
    """What a run of a study wrote to a table, without its own id, the snapshot that it read and the seconds it took."""
    dropped = "run_id, read_snapshot_id" if table == "cells" else "run_id"
    timed = "and statistic not like 'seconds%'" if table == "statistics" else ""
    query = f"select * exclude ({dropped}) from {table} where run_id = $run_id {timed}"
    rows = memlake.sql(lake, query, parameters={"run_id": run_id}).to_pylist()
    return sorted(json.dumps(_plain(row, near=True), sort_keys=True, ensure_ascii=False) for row in rows)


@contextmanager
def locked(lake: Path) -> Iterator[None]:
    """Hold a lake's lock as a writer on another host does: whoever runs meanwhile stages all and publishes nothing."""
    holder = {"token": "0" * 32, "host": "elsewhere", "pid": 1, "process_start": 1, "run_id": "other"}
    (lake / "lock").write_text(json.dumps(holder | {"since": time.time()}))
    try:
        yield
    finally:
        (lake / "lock").unlink()


def staged_by(tokens: Sequence[str], *, at: Path) -> list[str]:
    """The names of the manifests and notes that a command leaves which cannot publish."""
    before = set(staged(at))
    with locked(at / "lake"):
        ran = again([*tokens, "--lock-timeout", "0"], at=at)
    assert ran.document["error"]["code"] == "lake_busy", ran
    return sorted(set(staged(at)) - before)


def staged(at: Path) -> list[str]:
    """The names of the manifests and notes in a lake's staged folder."""
    return sorted(path.name for path in (at / "lake" / "staged").glob("*.json"))


def cached(at: Path) -> list[str]:
    """The hashes of requests whose replies the lake's cache holds."""
    return sorted(path.stem for path in (at / "lake" / "cache" / "llm").rglob("*.json"))


def _plain(value: Any, *, near: bool) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one, near=near) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, near=near) for one in value]
    if isinstance(value, float) and near:
        return f"{value:.12g}"
    return value if value is None or isinstance(value, str | int | float) else value.isoformat()
