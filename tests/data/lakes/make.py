"""Make 0.1.0.tar.gz and golden.json. This was run once, with memlake 0.1.0, and is kept to say what is in the lake:

    PYTHONPATH=REPOSITORY-AT-0.1.0 python make.py EMPTY_FOLDER

A lake of another version is another archive beside this one; this one stays as it is.
"""

import json
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).parents[2] / "support"
sys.path.insert(0, str(SUPPORT))

import stored_lakes as stored  # noqa: E402
from openai_server import Faults, OpenAIServer  # noqa: E402
from tiny_models import bge_m3  # noqa: E402

import memlake  # noqa: E402

# Every word of a piece, a context or an answer with this word in it is refused by the model.
REFUSED = Faults(marked=(("zeppelin", "refusal"),))


def make(here: Path) -> None:
    """Run the commands in a folder."""
    shutil.copytree(stored.SOURCES, here / "sources")
    bge_m3(here / "models" / "tiny", hidden=8, layers=1)
    with OpenAIServer(script="openai_readers:says") as server:

        def run(*tokens: str, code: int = 0) -> Any:
            ran = stored.command(*tokens, at=here, server=server.url)
            print(ran.code, *tokens, json.dumps(ran.document)[:1000], ran.err[-300:])
            assert ran.code == code, ran
            return ran.document

        # A conversation that grows later, a snapshot with a name, a mistake and the way back.
        run("ingest", "sources/before/kitchen.jsonl", "--corpus", "team")
        run("snapshots", "tag", "first")
        run("ingest", "sources/late", "--corpus", "mistake", "--embedder", "none")
        run("snapshots", "restore", "first")
        server.set(faults=REFUSED)
        for name, tokens in stored.STEPS.items():
            if name == "vectors by a served model":
                server.set(faults=Faults())
            run(*tokens)
        run("embed", "--corpus", "team", "--representations", "sessions", "--embedder", "bge-m3-multi@./models/tiny")
        run("study", "run", "sources/quick.toml")
        run("forget", stored.FORGOTTEN, "--corpus", "team")
        run("snapshots", "tag", "complete")
        server.set(faults=REFUSED)
        run(*stored.STUDY)
        run("study", "gate", "sources/study.toml")
        # A run that could not publish: whoever runs it next takes up what it staged.
        with stored.locked(here / "lake"):
            run(*stored.LATE, "--lock-timeout", "0", code=1)


def pack(here: Path) -> None:
    """Pack the lake, with nothing of the machine in the archive's own headers."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info

    paths = sorted((here / "lake").rglob("*"))
    with tarfile.open(stored.ARCHIVE, "w:gz", compresslevel=9, format=tarfile.USTAR_FORMAT) as archive:
        for path in [here / "lake", *paths]:
            archive.add(path, str(path.relative_to(here)), recursive=False, filter=plain)


def look(here: Path) -> dict[str, Any]:
    """What must stay as it is, read from the packed lake."""
    stored.unpack(here)
    lake = memlake.open(str(here / "lake"))
    latest = memlake.at(lake)

    def rows(query: str) -> list[dict[str, Any]]:
        return memlake.sql(lake, query).to_pylist()

    def distinct(table: str, column: str = "request_hash") -> list[str]:
        return [row["h"] for row in rows(f"select distinct {column} as h from {table} where h is not null order by h")]

    names = [row["name"] for row in rows("select view_name as name from duckdb_views() where not internal order by 1")]
    found: dict[str, Any] = {"version": "0.1.0", "latest": latest.snapshot_id, "tables": {}}
    listed = [row["table"] for row in stored.command("tables", "ls", at=here).document]
    for at in ("first", "complete", latest.snapshot_id):
        pinned = memlake.at(lake, at).pins
        found["tables"][at] = {
            name: stored.told_of(lake, name, memlake.sql(lake, f'select * from "{name}"', snapshot=at).column_names, at)
            for name in listed
            if name in pinned or (at == latest.snapshot_id and name in names)
        }
    found["snapshots"] = [
        {key: row[key] for key in ("snapshot_id", "sequence", "base_snapshot_id", "operation", "pins")}
        for row in memlake.table(lake, "snapshots").sort_by("sequence").to_pylist()
    ]
    found["tags"] = {row["tag"]: row["snapshot_id"] for row in rows("select tag, snapshot_id from tags order by tag")}
    found["representations"] = memlake.table(lake, "representations").sort_by("representation").to_pylist()
    found["parts"] = rows("select * from parts order by corpus, conversation_id, part")
    found["cells"] = rows("select study, cell, corpus, settings, settings_hash from cells order by all")
    found["units"] = {
        f"{row['corpus']}/{row['representation']}": row["ids"]
        for row in rows(
            "select corpus, representation, list(unit_id order by unit_id) as ids from units group by all order by all"
        )
    }
    tables = ("answers", "judgements", "extractions", "calls")
    found["requests"] = {table: distinct(table) for table in tables if "request_hash" in _columns(lake, table)}
    found["cache"] = stored.cached(here)
    found["unfinished"] = stored.staged(here)
    found["manifests"] = {name: stored.staged_by(stored.STEPS[name], at=here) for name in stored.NAMED}
    return found


def _columns(lake: Any, table: str) -> list[str]:
    return memlake.table(lake, table).column_names


if __name__ == "__main__":
    start = Path(sys.argv[1])
    make(start / "made")
    pack(start / "made")
    text = json.dumps(look(start / "looked"), indent=1, sort_keys=True, ensure_ascii=False, default=str)
    stored.GOLDEN.write_text(text + "\n", encoding="utf-8")
