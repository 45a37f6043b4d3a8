"""memlake against a plain Python loop on the same transcripts: time, peak memory, and where the time goes.

    python tests/bench/ingest.py [--megabytes 40] [--rounds 5] [--profile]

Each cell is a process of its own; the two sides alternate. Time is taken in the process after imports and model loading,
and around the whole process. Peak memory is the process's largest resident set.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generate import write_transcripts


def cell(side: str, source: Path, *, embed: bool, profile: bool) -> dict[str, float]:
    """Run one side once in this process; seconds after imports, and peak memory in MB."""
    with tempfile.TemporaryDirectory() as folder:
        if side == "plain":
            import plain_loop

            model = plain_loop.load_model() if embed else None
            began = time.perf_counter()
            plain_loop.run(source, Path(folder), model)
        else:
            from memlake.flows.ingest import ingest
            from memlake.flows.run.settings import IngestSettings
            from memlake.transforms.embed.catalogue import load

            if embed:
                load("static")
            settings = IngestSettings(
                lake=f"{folder}/lake", corpus="bench", sources=(str(source),), embedder="static" if embed else "none"
            )
            began = time.perf_counter()
            if profile:
                _profiled(ingest, settings)
            else:
                ingest(settings)
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _profiled(function, settings) -> None:
    import cProfile
    import pstats
    import threading

    profiler = cProfile.Profile()
    threading.setprofile_all_threads(None) if hasattr(threading, "setprofile_all_threads") else None
    profiler.enable()
    function(settings)
    profiler.disable()
    pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(40)


def measured(side: str, source: Path, *, embed: bool) -> dict[str, float]:
    """Run one cell in a new process."""
    command = [sys.executable, __file__, "--cell", side, "--source", str(source), *(["--embed"] if embed else [])]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    whole = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stderr)
    return {**json.loads(done.stdout.splitlines()[-1]), "whole": whole}


def main() -> None:
    """Compare, and print medians and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=float, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--factor", type=int, default=10, help="how much larger the input of the memory row is")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--cell", choices=["plain", "memlake"])
    parser.add_argument("--source", type=Path)
    parser.add_argument("--embed", action="store_true")
    arguments = parser.parse_args()
    if arguments.cell:
        print(json.dumps(cell(arguments.cell, arguments.source, embed=arguments.embed, profile=arguments.profile)))
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "transcripts.jsonl"
        write_transcripts(source, arguments.megabytes)
        size = source.stat().st_size / 1e6
        print(f"input {size:.1f} MB, {arguments.rounds} rounds, {os.cpu_count()} cores")
        for embed in (True, False):
            runs = {"memlake": [], "plain": []}
            for _ in range(arguments.rounds):
                for side, found in runs.items():
                    found.append(measured(side, source, embed=embed))
            _print(runs, size, "with embedding" if embed else "without embedding")
        large = Path(folder) / "large.jsonl"
        write_transcripts(large, arguments.megabytes * arguments.factor)
        for embed in (True, False):
            peaks = [measured("memlake", path, embed=embed)["peak_mb"] for path in (source, large)]
            what = "with" if embed else "without"
            print(
                f"peak memory {what} embedding: 1x {peaks[0]:.0f} MB, {arguments.factor}x {peaks[1]:.0f} MB, "
                f"ratio {peaks[1] / peaks[0]:.2f}"
            )


def _print(runs: dict[str, list[dict[str, float]]], size: float, title: str) -> None:
    print(f"\n{title}")
    for side, found in runs.items():
        seconds, whole, peak = ([run[key] for run in found] for key in ("seconds", "whole", "peak_mb"))
        print(
            f"  {side:8} in process median {statistics.median(seconds):6.2f} s ({min(seconds):.2f}-{max(seconds):.2f}), "
            f"{size / statistics.median(seconds):5.1f} MB/s; whole process {statistics.median(whole):6.2f} s; "
            f"peak {statistics.median(peak):.0f} MB"
        )
    for key in ("seconds", "whole"):
        ratios = [mine[key] / theirs[key] for mine, theirs in zip(runs["memlake"], runs["plain"], strict=True)]
        print(
            f"  ratio memlake / plain ({key}): median {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
