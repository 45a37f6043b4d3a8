"""Files that a journey enters and how often it changes folders: how much of the product one has to know to follow it.

    python tests/bench/journeys.py [--root CHECKOUT] [--list] [--pairs N] [--json]

The journeys, each on one conversation of two turns with one question: `ingest`; `represent artifacts`, asking the scripted
server of tests/support; `study run`, three cells at eight budgets with one comparison, no reader; `report` of that run.

All run in one process, through the command's own entry, `--quiet`, twice over in two lakes; the second time is counted.
By then everything is imported and what a process keeps is kept, so neither imports nor first loads count.

- files: files of the product (flows, transforms, schemas, memlake) of which a function was called.
- switches: calls of a product function whose file lies in another folder than that of the product function called before
  it in the same thread. Libraries between the two are transparent; a generator counts each time that it goes on.
- switches_top: the same by folders of two levels, where transforms/read/locomo is transforms/read.
- crossings: calls from one folder into another and returns from them, so twice what is called across folders.

Below them stands how often each of COUNTED was called, in brackets for how many different things; with --list from which
other file.
Both layouts of the code are read alike: `memlake.flows.x`, by way of a folder memlake/ of links, is flows/x.py.
"""

import argparse
import importlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

TALK = {
    "conversation_id": "c0",
    "turns": [
        {"turn_id": "t0", "speaker": "Ann", "text": "I bought a silver lamp."},
        {"turn_id": "t1", "speaker": "Bob", "text": "Nice, where is it?"},
    ],
    "questions": [{"question_id": "q0", "text": "What did Ann buy?", "answer": "silver lamp", "evidence": ["t0"]}],
}
STUDY = """
name = "journey"
corpus = "c"
cutoffs = { tokens = [250, 500, 1000, 2000, 4000], k = [1, 3, 5] }
cells = [
    { name = "chunks", representations = ["chunks"], plan = "hybrid" },
    { name = "artifacts", representations = ["artifacts"], plan = "lexical" },
    { name = "both", representations = ["chunks", "artifacts"], plan = "lexical" },
]
comparisons = [{ name = "verbatim", a = "chunks", b = "artifacts" }]
"""
# What is told: the last part of a function's qualified name, its argument that says what of, and the one value wanted.
COUNTED = {
    "parts read": ("dataset", "table", "parts"),
    "tables read": ("dataset", "table", None),
    "manifests read": ("read_manifest", "shard", None),
    "manifests checked": ("is_whole", "self", None),
    "studies parsed": ("parse_study", "source", None),
    "snapshot lists read": ("snapshots", "", None),
    "connections opened": ("bare_connection", "", None),
    "views created": ("create_view", "table", None),
}
NUMBERS = ("files", "switches", "switches_top", "crossings")
PRODUCT = ("flows", "transforms", "schemas", "memlake", "memlake.py")


class Trace:
    """Follows the product's functions in this thread, and in each that starts while it is entered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names: dict[CodeType, tuple[str, str] | None] = {}
        self.local, self.lock = threading.local(), threading.Lock()
        self.entered: dict[str, None] = {}
        self.counts: Counter[str] = Counter()
        self.crossed: Counter[tuple[str, str]] = Counter()
        self.told: Counter[tuple[str, str, str]] = Counter()

    def __enter__(self) -> "Trace":
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _name(self, code: CodeType) -> tuple[str, str] | None:
        """File and name of a function; None for a module's or a class's body, and for what is not the product's."""
        path = Path(code.co_filename).resolve()
        if not code.co_flags & inspect.CO_OPTIMIZED or not path.is_relative_to(self.root):
            return None
        file = path.relative_to(self.root).as_posix()
        linked = file.removeprefix("memlake/")
        return (linked if "/" in linked else file, code.co_qualname) if file.split("/")[0] in PRODUCT else None

    def _event(self, frame: FrameType, kind: str, _: object) -> None:
        code = frame.f_code
        name = self.names[code] if code in self.names else self.names.setdefault(code, self._name(code))
        if name is None:
            return
        stack = self.local.__dict__.setdefault("stack", [])
        if kind == "call":
            with self.lock:
                self._call(name, stack, frame)
            stack.append(name)
        elif kind == "return" and stack:
            stack.pop()

    def _call(self, name: tuple[str, str], stack: list[tuple[str, str]], frame: FrameType) -> None:
        folder, last = _folder(name[0]), self.local.__dict__.get("last")
        self.local.last = folder
        self.entered.setdefault(name[0])
        if last is not None:
            self.counts["switches"] += last != folder
            self.counts["switches_top"] += _top(last) != _top(folder)
        if stack and _folder(stack[-1][0]) != folder:
            self.counts["crossings"] += 2
            self.crossed[":".join(stack[-1]), ":".join(name)] += 2
        for what, (function, argument, wanted) in COUNTED.items():
            if name[1].rpartition(".")[2] == function:
                value = frame.f_locals.get(argument)
                value = str(getattr(value, "name", getattr(value, "shard", value)))
                if wanted in (None, value):
                    by = next((caller for caller in reversed(stack) if caller[0] != name[0]), ("", "a library"))
                    self.told[what, value, ":".join(by)] += 1

    def found(self) -> dict[str, object]:
        """What there is to tell of a journey; `by` and `crossed` hold FILE:FUNCTION."""
        calls = {what: {"calls": 0, "of": 0, "by": Counter()} for what in COUNTED}
        for what, _ in {(what, value) for what, value, _ in self.told}:
            calls[what]["of"] += 1
        for (what, _, by), number in self.told.items():
            calls[what]["calls"] += number
            calls[what]["by"][by] += number
        numbers = {name: self.counts[name] for name in NUMBERS[1:]}
        crossed = [[*pair, number] for pair, number in self.crossed.most_common()]
        return {"files": len(self.entered), **numbers, "calls": calls, "crossed": crossed, "entered": [*self.entered]}


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def _top(folder: str) -> str:
    return "/".join(folder.split("/")[:2])


def traced(root: Path) -> dict[str, object]:
    """Run the journeys twice in this process and folder; what the second time took, by journey."""
    sys.path.append(str(root / "tests" / "support"))
    from openai_server import OpenAIServer

    entry = importlib.import_module("memlake.flows.cli.main" if (root / "memlake").is_dir() else "flows.cli.main")
    if not Path(str(entry.__file__)).resolve().is_relative_to(root):
        raise SystemExit(f"{entry.__file__} is not in root={root}")
    Path("talk.jsonl").write_text(json.dumps(TALK) + "\n")
    Path("study.toml").write_text(STUDY)
    found: dict[str, object] = {}
    with OpenAIServer() as server:
        asked = ["--model", "test-model", "--base-url", server.url, "--embedder", "none"]
        journeys = {
            "ingest": ["ingest", "talk.jsonl", "--corpus", "c"],
            "represent artifacts": ["represent", "artifacts", "--corpus", "c", *asked],
            "study": ["study", "run", "study.toml"],
            "report": ["report", "--out", "report.html"],
        }
        for lake in ("first", "second"):
            for journey, tokens in journeys.items():
                with Trace(root) as trace:
                    code = entry.run([*tokens, "--lake", lake, "--quiet"])
                if code:
                    raise SystemExit(f"journey={journey!r} ended with exit code {code}; its error stands above")
                found[journey] = trace.found()
    return found


def main() -> None:
    """Trace in a process that sees no other checkout and none of the user's settings, and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help="the checkout (default: this one)")
    parser.add_argument("--list", action="store_true", help="the files in the order in which they are entered")
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="the N pairs of functions that cross most")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    root = chosen.root.resolve()
    if chosen.out:
        chosen.out.write_text(json.dumps(traced(root)))
        os._exit(0)  # as the command ends: native threads may still be there
    ours = ("MEMLAKE_", "PREFECT_", "OPENAI_")
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        command = [sys.executable, "-P", str(Path(__file__).resolve()), "--root", str(root), "--out", str(out)]
        subprocess.run(command, cwd=folder, env=theirs | {"PYTHONPATH": str(root)}, stdout=sys.stderr, check=True)
        document = {"load": os.getloadavg()[0], "journeys": json.loads(out.read_text())}
    print(json.dumps(document, indent=1) if chosen.json else "\n".join(_lines(document, chosen)))


def _lines(document: dict, chosen: argparse.Namespace) -> list[str]:
    lines = [f"load average {document['load']:.2f}", f"{'journey':20}" + "".join(f"{name:>14}" for name in NUMBERS)]
    for journey, found in document["journeys"].items():
        lines.append(f"{journey:20}" + "".join(f"{found[name]:14,}" for name in NUMBERS))
    for journey, found in document["journeys"].items():
        lines += ["", journey]
        for what, told in found["calls"].items():
            lines.append(f"{told['calls']:6,} {what} ({told['of']})")
            lines += [f"{number:12,} {by}" for by, number in told["by"].items() if chosen.list]
        lines += [f"{number:6,} {caller} > {called}" for caller, called, number in found["crossed"][: chosen.pairs]]
        lines += [f"  {file}" for file in found["entered"] if chosen.list]
    return lines


if __name__ == "__main__":
    main()
