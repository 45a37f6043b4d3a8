"""Two checkouts of memlake side by side: whether a change made ingest, retrieval or the command slower.

    python tests/bench/versions.py --before CHECKOUT [--rounds 5] [--megabytes 20] [--only ingest retrieve command]

Each measurement is a process of its own that runs a checkout's own script of tests/bench, or its own command; the two sides
alternate round by round. Both use the environment of this Python. Printed are medians, and the ratio after / before of
each round's pair: its median, least and most.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from generate import write_transcripts

AFTER = Path(__file__).parents[2]
Command = list[str]
BENCH = "tests/bench"


def commands(parts: list[str], folder: Path, megabytes: float) -> Iterator[tuple[str, Command]]:
    """What is measured: a name, and a command line below a checkout's root that prints {"seconds": ...} last or nothing."""
    if "ingest" in parts:
        source = folder / "transcripts.jsonl"
        write_transcripts(source, megabytes)
        cell = [f"{BENCH}/ingest.py", "--cell", "memlake", "--source", str(source)]
        yield f"ingest {megabytes:g} MB with embedding", [*cell, "--embed"]
        yield f"ingest {megabytes:g} MB", cell
    if "retrieve" in parts:
        import retrieve

        for part, side in (("dense", "memlake"), ("words", "memlake top"), ("sql", "evaluate")):
            for size in retrieve.PARTS[part].QUICK:
                place = folder / f"{part}-{size}"
                place.mkdir()
                retrieve.PARTS[part].generate(size, place)
                cell = [f"{BENCH}/retrieve.py", "--cell", part, side, size, str(place), "--k", "100"]
                yield f"retrieve {part} {size}", cell
    if "command" in parts:
        yield "memlake --help", ["-m", "CLI", "--help"]


def measured(root: Path, command: Command) -> float:
    """Seconds that a side says it took; of a command that says nothing, of its whole process."""
    cli = "memlake.flows.cli" if (root / "memlake").is_dir() else "flows.cli"
    line = [cli if part == "CLI" else str(root / part) if part.startswith(BENCH) else part for part in command]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *line], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    whole = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stderr)
    last = done.stdout.splitlines()[-1]
    return float(json.loads(last)["seconds"]) if last.startswith("{") else whole


def main() -> None:
    """Measure both sides, and print them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--only", nargs="+", default=["ingest", "retrieve", "command"])
    arguments = parser.parse_args()
    sides = {"before": arguments.before.resolve(), "after": AFTER}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(arguments.only, Path(folder), arguments.megabytes):
            runs: dict[str, list[float]] = {side: [] for side in sides}
            for number in range(arguments.rounds + 1):
                for side in sorted(sides, reverse=number % 2 == 1):
                    seconds = measured(sides[side], command)
                    if number:  # the first round warms the disk
                        runs[side].append(seconds)
            ratios = [after / before for after, before in zip(runs["after"], runs["before"], strict=True)]
            print(
                f"{name:40} before {statistics.median(runs['before']):7.3f} s, after {statistics.median(runs['after']):7.3f} s, "
                f"ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}); load {os.getloadavg()[0]:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
