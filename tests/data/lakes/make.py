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

# Whatever has this word in it is refused by the chat model, and too long for the embedder.
REFUSED = Faults(marked=(("zeppelin", "refusal"),))
TOO_LONG = Faults(marked=(("zeppelin", "too_long"),))


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
        for name, tokens in stored.STEPS.items():
            server.set(faults=TOO_LONG if name == "vectors by a served model" else REFUSED)
            run(*tokens)
        run("embed", "--corpus", "team", "--representations", "sessions", "--embedder", "bge-m3-multi@./models/tiny")
        run("study", "run", "sources/quick.toml")
        run("forget", stored.FORGOTTEN, "--corpus", "team")
        run("snapshots", "tag", "complete")
        run(*stored.STUDY)
        run("study", "gate", "sources/study.toml")
        # A run that could not publish: whoever runs it next takes up what it staged.
        with stored.locked(here / "lake"):
            run(*stored.LATER_INGEST, "--lock-timeout", "0", code=1)


def pack(here: Path) -> None:
    """Pack the lake, with nothing of the machine in the archive's own headers."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info

    def alike(path: Path) -> tuple[str, bytes, Path]:
        """Files that say the same stand next to each other: a tenth of the archive is saved so."""
        asked = path.read_bytes().partition(b'"request": ')[2] if path.suffix == ".json" else b""
        return path.suffix, asked, path

    with tarfile.open(stored.ARCHIVE, "w:gz", compresslevel=9, format=tarfile.USTAR_FORMAT) as archive:
        for path in [here / "lake", *sorted((here / "lake").rglob("*"), key=alike)]:
            archive.add(path, str(path.relative_to(here)), recursive=False, filter=plain)


def look(here: Path) -> dict[str, Any]:
    """What must stay as it is, read from the packed lake: a value a line, so that a difference is easy to see."""
    stored.unpack(here)
    lake = memlake.open(str(here / "lake"))
    latest = memlake.at(lake).snapshot_id
    names = [row["table"] for row in stored.command("tables", "ls", at=here).document]
    tables: dict[str, Any] = {}
    for at in ("first", "complete", latest):
        pinned = memlake.at(lake, at).pins
        columns = {
            name: memlake.sql(lake, f'select * from "{name}" limit 0', snapshot=at).column_names
            for name in names
            if name in pinned or at == latest
        }
        tables |= {f"{at} {name}": told for name, told in stored.digests_of(lake, columns, at).items()}
    snapshots = memlake.table(lake, "snapshots").sort_by("sequence").to_pylist()
    return {
        "latest": latest,
        "tags": dict(stored.values_of(lake, "select tag, snapshot_id from tags order by all")),
        "snapshots": [[row["snapshot_id"], row["operation"], stored.pins_of(row)] for row in snapshots],
        "tables": tables,
        **{name: stored.values_of(lake, query) for name, query in stored.LISTED.items()},
        "cache": stored.cached(here),
        "unfinished": stored.staged(here),
        "manifests": {name: stored.staged_by(stored.STEPS[name], at=here) for name in stored.NAMED},
    }


def written(found: dict[str, Any]) -> str:
    """The JSON of it, with a line an entry of the second level."""
    blocks = []
    for name, value in found.items():
        if isinstance(value, dict):
            lines = [f"{json.dumps(key)}: {json.dumps(member, ensure_ascii=False)}" for key, member in value.items()]
            block = "{\n  " + ",\n  ".join(lines) + "\n }"
        elif isinstance(value, list):
            block = "[\n  " + ",\n  ".join(json.dumps(element, ensure_ascii=False) for element in value) + "\n ]"
        else:
            block = json.dumps(value)
        blocks.append(f" {json.dumps(name)}: {block}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


if __name__ == "__main__":
    start = Path(sys.argv[1])
    make(start / "made")
    pack(start / "made")
    stored.GOLDEN.write_text(written(look(start / "looked")), encoding="utf-8")
