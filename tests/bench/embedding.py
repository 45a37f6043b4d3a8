"""The embedding stage of the pipeline against a bare loop that calls the model with the same batches.

    python tests/bench/embedding.py [--rounds 5] [--only static minilm m3 repeats] [--profile]

The stage is Beam's `EmbedUnits` on batches of units, with all that it does around the model: distinct texts, memo, checks
of vectors, Arrow columns, parts, counters. The two sides alternate; each number is a median of rounds in one process
after a warm-up. On a machine that does other work beside it, only the share by CPU time means anything. `memlake embed` as a whole, with reading, files, audits and a commit, is measured for information, and so
are the libraries' own loops, once.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

import tiny_models
from generate import write_transcripts

from memlake.flows.embed import embed
from memlake.flows.ingest import ingest
from memlake.flows.run.jobs import runner
from memlake.flows.run.settings import EmbedSettings, IngestSettings
from memlake.schemas import UNITS
from memlake.transforms.base.batch import PARTS_SEEN, Batch
from memlake.transforms.embed import vectors
from memlake.transforms.embed.beam import EmbedUnits
from memlake.transforms.embed.catalogue import load
from memlake.transforms.embed.embedder import encode, fingerprint
from memlake.transforms.embed.memo import Memo
from memlake.transforms.lake.storage.lake import open_lake

BATCHES: list[Batch] = []


def units_of(folder: Path, megabytes: float) -> tuple[str, pa.Table]:
    """A lake of generated transcripts without vectors, and its chunks."""
    source = folder / "transcripts.jsonl"
    write_transcripts(source, megabytes)
    lake = str(folder / "lake")
    ingest(IngestSettings(lake, "bench", (str(source),), embedder="none"))
    return lake, open_lake(lake).snapshot().read("units")


def batches_of(units: pa.Table, rows: int) -> list[Batch]:
    """Units as the pipeline hands them on: some conversations a batch, with their parts."""
    batches, held, names = [], [], []
    for name in units["conversation_id"].unique().to_pylist():
        held.append(units.filter(pc.equal(units["conversation_id"], name)))
        names.append(name)
        if sum(map(len, held)) >= rows:
            batches.append(_batch(held, names))
            held, names = [], []
    return [*batches, _batch(held, names)] if held else batches


def _batch(held: list[pa.Table], names: list[str]) -> Batch:
    parts = [
        {"conversation_id": name, "part": "units:chunks", "content_hash": name, "rows": len(units), "staged": False}
        for name, units in zip(names, held, strict=True)
    ]
    table = pa.concat_tables(held).cast(UNITS.schema)
    return Batch("shard", tables={"units": table}, parts=pa.Table.from_pylist(parts, schema=PARTS_SEEN))


def stage(name: str) -> None:
    """The batches through Beam's stage, in this process as `--workers 1` runs it."""
    vectors._memo = Memo()
    with runner("fnapi", workers=1) as pipeline:
        _ = (
            pipeline
            | beam.Create(range(len(BATCHES)), reshuffle=False)
            | beam.Map(_batch_at).with_output_types(Batch)
            | EmbedUnits(name, fingerprint(load(name).card))
            | beam.Map(lambda batch: sum(table.num_rows for table in batch.vectors.values()))
        )


def _batch_at(place: int) -> Batch:
    return BATCHES[place]


def texts_of(batch: Batch) -> list[str]:
    """The distinct texts of a batch."""
    texts: list[str] = batch.tables["units"]["key_text"].unique().to_pylist()
    return texts


def bare(name: str) -> None:
    """The model on the same texts, and nothing else."""
    model = load(name)
    for texts in TEXTS:
        encode(model, texts)


TEXTS: list[list[str]] = []


def compare(
    title: str, name: str, units: pa.Table, rows: int, rounds: int, more: dict[str, Callable[[], None]]
) -> None:
    """Alternate the stage, the bare loop and what else there is; print medians and the ratio of each round."""
    BATCHES[:] = batches_of(units, rows)
    TEXTS[:] = [texts_of(batch) for batch in BATCHES]
    distinct = sum(map(len, TEXTS))
    sides = {"stage": lambda: stage(name), "bare loop": lambda: bare(name), **more}
    encode(load(name), TEXTS[0][:64])
    wall: dict[str, list[float]] = {side: [] for side in sides}
    cpu: dict[str, list[float]] = {side: [] for side in sides}
    for place in range(rounds):
        for side, call in sides.items() if place % 2 else reversed(sides.items()):
            if place and side in more:
                continue
            began, used = time.perf_counter(), time.process_time()
            call()
            wall[side].append(time.perf_counter() - began)
            cpu[side].append(time.process_time() - used)
    print(f"\n{title}: {distinct:,} distinct texts in {len(BATCHES)} batches")
    for side, found in wall.items():
        print(
            f"  {side:28} {distinct / statistics.median(found):9,.0f} texts/s, median {statistics.median(found):6.2f} s "
            f"({min(found):.2f}-{max(found):.2f}), CPU {statistics.median(cpu[side]):.2f} s"
        )
    for what, taken in (("time", wall), ("CPU", cpu)):
        shares = [theirs / mine for mine, theirs in zip(taken["stage"], taken["bare loop"], strict=True)]
        print(
            f"  stage / bare loop by {what}: median {statistics.median(shares):.1%} ({min(shares):.1%}-{max(shares):.1%})",
            flush=True,
        )


def whole(lake: str, name: str, limit: str) -> None:
    """The command, for information."""
    vectors._memo = Memo()
    began = time.perf_counter()
    embed(EmbedSettings(lake, "bench", embedder=name))
    took = time.perf_counter() - began
    rows = open_lake(lake).snapshot().vectors("chunks", name).count_rows()
    print(
        f"  memlake embed ({limit}): {rows / took:,.0f} texts/s, {took:.2f} s with files, audits and commit", flush=True
    )


def repeats(rounds: int) -> None:
    """Conversations that share sessions, as LongMemEval's haystacks do: texts seen, embedded, and the time saved."""
    import random

    rng = random.Random(7)
    sessions = [[f"session {n} says {rng.random()} " + "word " * 80 for _ in range(12)] for n in range(400)]
    rows = []
    for question in range(60):
        texts = [text for session in rng.sample(sessions, 40) for text in session]
        rows += [
            {
                "corpus": "c", "conversation_id": f"q{question}", "representation": "chunks", "unit_id": f"{question}-{n}",
                "ordinal": n, "kind": "chunk", "key_text": text, "show_text": text, "header_chars": 0,
            }
            for n, text in enumerate(texts)
        ]  # fmt: skip
    batches = batches_of(UNITS.rows(rows), 1)
    for limit, what in ((64 << 20, "memo of 64 MB"), (0, "no memo")):
        taken, embedded, seen = [], 0, 0
        for _ in range(rounds):
            memo, embedded, seen = Memo(limit), 0, 0
            began = time.perf_counter()
            for batch in batches:
                _, notes = vectors.embed_units(batch.tables["units"], load("static"), memo=memo)
                embedded, seen = embedded + notes.embedded, seen + notes.texts
            taken.append(time.perf_counter() - began)
        print(f"repeats, static, {what}: {seen:,} texts seen, {embedded:,} embedded, {statistics.median(taken):.2f} s")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=["static", "minilm", "m3", "repeats"])
    parser.add_argument("--megabytes", type=float, default=20, help="of transcripts, for static")
    parser.add_argument("--texts", type=int, default=400, help="for models of torch")
    parser.add_argument("--profile", action="store_true", help="profile the stage with static instead")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {arguments.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        lake, units = units_of(folder, arguments.megabytes)
        if arguments.profile:
            BATCHES[:] = batches_of(units, 4_000)
            _profiled(lambda: stage("static"))
            return
        if "static" in arguments.only:
            compare("static", "static", units, 4_000, arguments.rounds, {})
            whole(lake, "static", f"{arguments.megabytes:g} MB")
        few = units.slice(0, arguments.texts)
        if "minilm" in arguments.only:
            place = tiny_models.minilm()
            name = f"sentence@{place}"
            library = load(name)._model
            own = {"sentence-transformers own": lambda: [library.encode(texts) for texts in TEXTS]}
            compare("MiniLM", name, few, 100, arguments.rounds, own)
        if "m3" in arguments.only:
            place = tiny_models.bge_m3(folder / "m3", hidden=384, layers=6, positions=514)
            name = f"bge-m3@{place}"
            library = _flag(place)
            own = {
                "FlagEmbedding's own": lambda: [
                    library.encode(texts, batch_size=32, max_length=512, return_sparse=True) for texts in TEXTS
                ]
            }
            compare("bge-m3-shaped, 384 x 6, dense and sparse", name, few, 100, arguments.rounds, own)
    if "repeats" in arguments.only:
        repeats(arguments.rounds)


def _flag(place: Path):
    from FlagEmbedding import BGEM3FlagModel

    return BGEM3FlagModel(str(place), use_fp16=False, devices="cpu")


def _profiled(function: Callable[[], None]) -> None:
    import cProfile
    import pstats
    import threading

    profiler = cProfile.Profile()
    threading.setprofile(lambda *_: profiler.enable())
    profiler.enable()
    function()
    profiler.disable()
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(40)


if __name__ == "__main__":
    # Beam pickles functions of `__main__` by value, with the batches that they name; those of a module by its name.
    from embedding import main

    main()
