"""Exact top-k, word search and metrics in SQL against the libraries that people reach for, on generated data.

    python tests/bench/retrieve.py [--quick] [--rounds 3] [--only dense words sql] [--k 100]

Each measurement is a process of its own, after imports, loading and a warm-up; the sides of a table alternate round by
round, so that what else the machine does falls on all of them. Every side's answer is checked before its time is printed:
against float64 cosines for vectors, against bm25s for words. Peers that answer one question at a time are asked fewer, and
the table says how many. The rate of matrix products is that of numpy's own float32 product of the same shapes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import retrieve_dense
import retrieve_sql
import retrieve_words

PARTS = {"dense": retrieve_dense, "words": retrieve_words, "sql": retrieve_sql}


def cell(part: str, side: str, size: str, folder: Path, k: int) -> dict[str, object]:
    """One measurement in this process."""
    call, check = PARTS[part].prepare(side, size, folder, k)
    began, used = time.perf_counter(), time.process_time()
    made = call()
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    return {"seconds": seconds, "cpu": cpu, "peak_mb": _peak_mb(), **check(made)}


def _peak_mb() -> float:
    """The largest resident set of this program; what getrusage says is also its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measured(part: str, side: str, size: str, folder: Path, k: int) -> dict[str, object]:
    """One measurement in a new process."""
    command = [sys.executable, __file__, "--cell", part, side, size, str(folder), "--k", str(k)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def table(part: str, size: str, folder: Path, rounds: int, k: int) -> None:
    """All sides of one size, round by round, and their medians."""
    module = PARTS[part]
    module.generate(size, folder)
    sides = module.SIDES
    runs: dict[str, list[dict[str, object]]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, found in runs.items():
            if not found or "failed" not in found[-1]:
                found.append(measured(part, side, size, folder, k))
    print(f"\n{part} {size}, k={k}: median of {rounds} rounds (lowest-highest)", flush=True)
    base, base_cpu = (_median(runs[sides[0]], name) for name in ("seconds", "cpu"))
    for side, found in runs.items():
        if "failed" in found[-1]:
            print(f"  {side:24} failed: {found[-1]['failed']}")
            continue
        seconds = [float(run["seconds"]) for run in found]
        asked = int(found[0].get("questions", 0))
        rate = f"{asked / statistics.median(seconds):9,.0f} questions/s of {asked:5,}" if asked else " " * 29
        share = ""
        if part == "dense" and asked == module.QUESTIONS:
            by_cpu = base_cpu / _median(found, "cpu")
            share = f", {base / statistics.median(seconds):.0%} of the product's rate ({by_cpu:.0%} by CPU time)"
        notes = "; ".join(str(found[-1][name]) for name in ("said",) if name in found[-1])
        print(
            f"  {side:24} {rate}  {statistics.median(seconds):8.3f} s ({min(seconds):.3f}-{max(seconds):.3f}), "
            f"CPU {_median(found, 'cpu'):7.3f} s, peak {_median(found, 'peak_mb'):6,.0f} MB{share}  {notes}",
            flush=True,
        )


def _median(found: list[dict[str, object]], name: str) -> float:
    return statistics.median(float(run[name]) for run in found) if "failed" not in found[-1] else float("nan")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--cell", nargs=4, metavar=("PART", "SIDE", "SIZE", "FOLDER"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.cell:
        part, side, size, folder = chosen.cell
        print(json.dumps(cell(part, side, size, Path(folder), chosen.k)))
        return
    print(f"{os.cpu_count()} cores, {chosen.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    for part in chosen.only:
        for size in PARTS[part].QUICK if chosen.quick else PARTS[part].SIZES:
            with tempfile.TemporaryDirectory() as folder:
                table(part, size, Path(folder), chosen.rounds, chosen.k)


if __name__ == "__main__":
    main()
