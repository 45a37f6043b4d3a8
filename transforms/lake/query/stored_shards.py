"""Shards of what the lake holds already."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Literal

import pyarrow.compute as pc

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.sources import Shard
from memlake.transforms.lake.storage.files import StagedFile
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.lake.storage.tables import active_files


def stored_shards(
    base: Snapshot,
    table: Literal["turns", "units"],
    corpus: str,
    seed: str,
    shard_bytes: int,
    representations: Collection[str] = (),
    *,
    workers: int = 1,
) -> list[Shard]:
    """Cut a corpus's files of `turns` or `units` into shards of about `shard_bytes` of stored bytes.

    Args:
        workers: shards are smaller where they would be fewer than these, as far as there are files.

    Raises:
        NotFoundError: the snapshot holds no such corpus.
    """
    files = [
        file
        for file in active_files(table, base.delta(table)).values()
        if file.partition["corpus"] == corpus
        and (not representations or file.partition.get("representation") in representations)
    ]
    if not files:
        held = corpora(base)
        nearest = ", ".join(get_close_matches(corpus, held)) or ", ".join(held) or "none"
        raise NotFoundError(
            f"corpus={corpus!r} has no {table} in the lake; there are: {nearest}", hint="memlake tables ls"
        )
    shard_bytes = min(shard_bytes, sum(file.size for file in files) // workers)
    groups: list[list[StagedFile]] = []
    filled = shard_bytes
    for file in sorted(files, key=lambda file: file.path):
        if filled + file.size > shard_bytes:
            groups.append([])
            filled = 0
        groups[-1].append(file)
        filled += file.size
    return [_shard(table, index, seed, group) for index, group in enumerate(groups)]


def corpora(base: Snapshot) -> list[str]:
    """The corpora of a snapshot."""
    return sorted(pc.unique(base.read("conversations", columns=["corpus"])["corpus"]).to_pylist())


def check_representations(base: Snapshot, corpus: str, names: Sequence[str]) -> tuple[str, ...]:
    """The representations of a corpus, or those named.

    Raises:
        NotFoundError: one is not stored; says which are.
    """
    files = active_files("units", base.delta("units")).values()
    held = {file.partition["representation"] for file in files if file.partition["corpus"] == corpus}
    for name in names:
        if name not in held:
            raise NotFoundError(
                f"representation={name!r} is not stored for corpus={corpus!r}; there are: {', '.join(sorted(held))}",
                hint=f"memlake represent {name} --corpus {corpus}",
            )
    return tuple(names) or tuple(sorted(held))


def _shard(kind: Literal["turns", "units"], index: int, seed: str, files: Sequence[StagedFile]) -> Shard:
    paths = tuple(f"parquet/{file.table}/{file.path}" for file in files)
    return Shard(kind, index, seed, files=paths, digest=",".join(paths))
