"""Calls a second of an extraction against a server that takes half a second, and how near that comes to the ideal.

    python tests/bench/concurrency.py [--calls 2560] [--in-flight 64] [--latency 0.5] [--workers 1 2]

Throughput is the server's: answers, over the time from the first request to the last answer. The ideal is calls in flight
over latency. `inner` leaves out the first and the last tenth, where the pipeline fills and drains.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from openai_server import OpenAIServer
from sample_chats import conversation, write_conversations

TURNS_A_PIECE = 4
PIECES_A_CONVERSATION = 10


def main() -> None:
    """Measure each number of workers once and print a line for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2560)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    chosen = parser.parse_args()
    ideal = chosen.in_flight / chosen.latency
    print(
        f"{chosen.calls} calls of {chosen.latency} s, at most {chosen.in_flight} in flight: ideal {ideal:.0f} a second"
    )
    for workers in chosen.workers:
        print(measured(workers, chosen, ideal), flush=True)


def measured(workers: int, chosen: argparse.Namespace, ideal: float) -> str:
    """One extraction in a lake of its own."""
    from memlake.flows.ingest import ingest
    from memlake.flows.represent import represent
    from memlake.flows.run.settings import IngestSettings, RepresentSettings
    from memlake.transforms.llm.settings import ModelSettings

    conversations = -(-chosen.calls // PIECES_A_CONVERSATION)
    with tempfile.TemporaryDirectory() as folder, OpenAIServer(latency_s=chosen.latency) as server:
        talks = [conversation(f"c{n}", TURNS_A_PIECE * PIECES_A_CONVERSATION) for n in range(conversations)]
        source = write_conversations(Path(folder) / "talks.jsonl", talks)
        lake = f"{folder}/lake"
        ingest(IngestSettings(lake, "bench", (str(source),), embedder="none"))
        models = ModelSettings(model="test-model", base_url=server.url, max_in_flight=chosen.in_flight)
        name = f"artifacts-bench:granularity=turns,turns={TURNS_A_PIECE}"
        # A shard for each worker at least, and several so that none waits for the other at the end.
        shard_bytes = max(1, source.stat().st_size // (8 * workers))
        settings = RepresentSettings(
            lake, "bench", (name,), models=models, embedder="none", workers=workers, shard_bytes=shard_bytes
        )
        began, cpu = time.monotonic(), _cpu_s()
        represent(settings)
        wall_s, cpu_s = time.monotonic() - began, _cpu_s() - cpu
        stats = server.stats()
    tenth = len(stats.arrivals) // 10
    inner = (len(stats.arrivals) - 2 * tenth) / (stats.arrivals[-tenth] - stats.arrivals[tenth])
    rate = stats.calls / (stats.last_at - stats.first_at)
    return (
        f"workers={workers}: {rate:.1f} a second ({rate / ideal:.1%} of ideal), inner {inner:.1f} ({inner / ideal:.1%}), "
        f"most in flight {stats.most_in_flight}, {stats.calls} calls in {wall_s:.1f} s, "
        f"{1000 * cpu_s / stats.calls:.2f} ms of CPU a call on {os.cpu_count()} cores"
    )


def _cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    main()
