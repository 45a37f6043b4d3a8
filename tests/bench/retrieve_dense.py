"""Exact top-k of 1,000 questions among random unit vectors: sizes are UNITSxDIMENSION."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

SIZES, QUICK = ("100000x1024", "1000000x256"), ("20000x1024", "50000x256")
QUESTIONS = 1000
# Fewer for peers that answer one at a time, and so take minutes for all.
FEW = {"usearch exact": 250, "numpy, one by one": 100, "LanceDB flat, one by one": 10, "LanceDB flat, batch": 100}
SIDES = (
    "matrix product alone",
    "memlake",
    "memlake, a stream",
    "faiss IndexFlatIP",
    "usearch exact",
    "LanceDB flat, batch",
    "LanceDB flat, one by one",
    "numpy, one by one",
)


def generate(size: str, folder: Path) -> None:
    """Write units.npy, questions.npy and a LanceDB table, seeded."""
    import lancedb
    import pyarrow as pa

    units, dimension = map(int, size.split("x"))
    for name, rows, seed in (("units", units, 1), ("questions", QUESTIONS, 2)):
        generator = np.random.default_rng(seed)
        made = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float32, (rows, dimension))
        for low in range(0, rows, 50_000):
            some = generator.standard_normal((min(50_000, rows - low), dimension), dtype=np.float32)
            made[low : low + len(some)] = some / np.linalg.norm(some, axis=1, keepdims=True)
        made.flush()
    stored = np.load(folder / "units.npy", mmap_mode="r")

    def batches():
        for low in range(0, units, 50_000):
            some = np.ascontiguousarray(stored[low : low + 50_000])
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(some.reshape(-1)), dimension)
            yield pa.record_batch({"row": pa.array(np.arange(low, low + len(some))), "vector": vectors})

    schema = pa.schema({"row": pa.int64(), "vector": pa.list_(pa.float32(), dimension)})
    lancedb.connect(folder / "lancedb").create_table("units", batches(), schema=schema)


def prepare(side: str, size: str, folder: Path, k: int) -> tuple[Callable[[], object], Callable[[object], dict]]:
    """What is timed, after a warm-up, and what is said of its answer."""
    questions = np.load(folder / "questions.npy")[: FEW.get(side, QUESTIONS)]
    # Not read where the side reads its own.
    units = np.load(folder / "units.npy", mmap_mode="r" if side.startswith("LanceDB") else None)
    call = {
        "matrix product alone": _product,
        "memlake": _ours,
        "memlake, a stream": _ours_streamed,
        "faiss IndexFlatIP": _faiss,
        "usearch exact": _usearch,
        "LanceDB flat, batch": _lance_batch,
        "LanceDB flat, one by one": _lance,
        "numpy, one by one": _numpy,
    }[side](questions, units, folder, k)

    def check(found: object) -> dict[str, object]:
        said: dict[str, object] = {"questions": len(questions)}
        if found is not None:
            said["said"] = agreement(questions, units, found, k, exact=side.startswith("memlake"))
        return said

    return call, check


def agreement(questions, units, found, k: int, *, exact: bool) -> str:
    """Compare some answers with float64 cosines; ends the process where one is wrong by more than float32 can be."""
    some = np.linspace(0, len(questions) - 1, min(len(questions), 20)).astype(int)
    asked = questions[some].astype(np.float64)
    true = np.concatenate(
        [asked @ units[low : low + 100_000].T.astype(np.float64) for low in range(0, len(units), 100_000)], axis=1
    )
    same = 0
    for row, scores in zip(np.asarray(found)[some], true, strict=True):
        best = np.argsort(-scores, kind="stable")[:k]
        kth = scores[best[-1]]
        if len(set(row)) != min(k, len(scores)) or (scores[row] < kth - 2e-6).any():
            sys.exit(f"a wrong answer: {sorted(set(best) - set(row))[:3]} are missing")
        # Neighbours whose cosines differ by less than the grid and float32 can tell may change places.
        if exact and (np.diff(scores[row]) > 3e-8).any():
            sys.exit("ranks out of order")
        same += len(set(best) & set(row))
    return f"ids agree with float64: {same / (len(some) * k):.3%}"


def _product(questions, units, folder, k):
    across = np.ascontiguousarray(questions.T)
    room = np.empty((2048, len(questions)), np.float32)

    def call():
        for low in range(0, len(units), 2048):
            block = units[low : low + 2048]
            np.matmul(block, across, out=room[: len(block)])

    np.matmul(units[:2048], across, out=room[: len(units[:2048])])
    return call


def _ours(questions, units, folder, k):
    from memlake.transforms.retrieve.indexes.topk import top_k

    top_k(questions, units[:5000], k)
    return lambda: top_k(questions, units, k).index


def _ours_streamed(questions, units, folder, k):
    from memlake.transforms.retrieve.indexes.topk import top_k

    top_k(questions, iter([units[:5000]]), k)
    return lambda: top_k(questions, (units[low : low + 10_000] for low in range(0, len(units), 10_000)), k).index


def _faiss(questions, units, folder, k):
    import faiss

    index = faiss.IndexFlatIP(units.shape[1])
    index.add(units)
    index.search(questions[:2], k)
    return lambda: index.search(questions, k)[1]


def _usearch(questions, units, folder, k):
    from usearch.index import MetricKind, search

    search(units[:5000], questions[:20], k, MetricKind.IP, exact=True)
    return lambda: search(units, questions, k, MetricKind.IP, exact=True).keys.astype(np.int64)


def _table(folder):
    import lancedb

    return lancedb.connect(folder / "lancedb").open_table("units")


def _lance(questions, units, folder, k):
    table = _table(folder)

    def ask(question):
        found = table.search(question).distance_type("dot").limit(k).select(["row", "_distance"]).to_arrow()
        return found["row"].to_numpy()

    ask(questions[0])
    return lambda: [ask(question) for question in questions]


def _lance_batch(questions, units, folder, k):
    table = _table(folder)

    def ask(some):
        found = table.search(list(some)).distance_type("dot").limit(k).select(["row", "_distance"]).to_arrow()
        order = np.argsort(found["query_index"].to_numpy(), kind="stable")
        return found["row"].to_numpy()[order].reshape(len(some), k)

    ask(questions[:2])
    return lambda: ask(questions)


def _numpy(questions, units, folder, k):
    def ask(question):
        scores = units @ question
        best = np.argpartition(scores, len(scores) - k)[-k:]
        return best[np.argsort(-scores[best], kind="stable")]

    ask(questions[0])
    return lambda: [ask(question) for question in questions]
