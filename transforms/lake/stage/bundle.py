"""What of a batch is to land, in files; what one bundle staged of a shard, and how bundles add up to its manifest."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from memlake.schemas import TABLES
from memlake.transforms.base.batch import PARTS_SEEN, Batch
from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.base.errors import LakeCorruptError
from memlake.transforms.lake.stage.manifest import Manifest, dead_rows, discard, put_manifest, write_beside
from memlake.transforms.lake.storage.files import StagedFile, StagedFragment, Stager
from memlake.transforms.lake.storage.parts import owned, owned_vectors


@dataclass(frozen=True, slots=True)
class StagedBundle:
    """Small enough to cross a shuffle: names of files, and counts."""

    shard: str
    files: tuple[StagedFile, ...]
    fragments: tuple[StagedFragment, ...]
    parts: tuple[str, ...]
    dead: tuple[str, ...]
    seen: dict[str, int]
    batches: int
    total: int
    conflicts: int


@dataclass(slots=True)
class BundleWriter:
    """Stage the batches of one shard that one bundle brings; the rows go to files, never onwards."""

    root: Path
    shard: str
    _stager: Stager = field(init=False)
    _parts: list[pa.Table] = field(default_factory=list)
    _dead: list[DeadLetter] = field(default_factory=list)
    _seen: Counter[str] = field(default_factory=Counter)
    _batches: int = 0
    _total: int = 0
    _conflicts: int = 0

    def __post_init__(self) -> None:
        self._stager = Stager(self.root)

    def write(self, batch: Batch) -> None:
        """Stage a batch, or note that the shard ends."""
        if batch.total is not None:
            self._total, self._conflicts = batch.total, batch.conflicts
            return
        batch = keep_staged(batch)
        for name, rows in batch.tables.items():
            self._stager.write(TABLES[name], rows)
        self._stager.write_vectors(batch.vectors)
        self._parts.append(batch.parts)
        self._dead.extend(batch.dead)
        self._seen.update(batch.seen)
        self._batches += 1

    def close(self) -> StagedBundle:
        """Finish the files."""
        files, fragments = self._stager.close()
        staged = self.root / "staged"
        parts = pa.concat_tables(self._parts) if self._parts else PARTS_SEEN.empty_table()
        dead = dead_rows(self._dead)
        return StagedBundle(
            self.shard,
            tuple(files),
            tuple(fragments),
            (write_beside(staged, parts, "parts"),) if parts.num_rows else (),
            (write_beside(staged, dead, "dead"),) if dead.num_rows else (),
            dict(self._seen),
            self._batches,
            self._total,
            self._conflicts,
        )


def write_manifest(root: Path, corpus: str, shard: str, bundles: Iterable[StagedBundle]) -> Manifest:
    """Put the manifest of a shard, once all of its batches have been staged.

    Raises:
        LakeCorruptError: a batch is missing: the runner lost one, or delivered one twice.
    """
    some = sorted(bundles, key=lambda bundle: [file.path for file in bundle.files])
    batches, total = sum(bundle.batches for bundle in some), sum(bundle.total for bundle in some)
    if batches != total:
        raise LakeCorruptError(f"shard={shard}: {batches} batches staged of {total}", hint="run the command again")
    seen: Counter[str] = Counter()
    for bundle in some:
        seen.update(bundle.seen)
    mine = Manifest(
        shard,
        corpus,
        tuple(file for bundle in some for file in bundle.files),
        tuple(fragment for bundle in some for fragment in bundle.fragments),
        tuple(name for bundle in some for name in bundle.parts),
        tuple(name for bundle in some for name in bundle.dead),
        dict(seen),
        sum(bundle.conflicts for bundle in some),
    )
    first = put_manifest(root / "staged", mine)
    if first != mine:
        discard(root, mine)
    return first


def keep_staged(batch: Batch) -> Batch:
    """The batch with only the rows of parts that are staged; the lake holds the others as they are."""
    staged = batch.parts.filter(batch.parts["staged"])
    tables = {name: owned(name, rows, staged) for name, rows in batch.tables.items()}
    vectors = {name: owned_vectors(name, rows, staged) for name, rows in batch.vectors.items()}
    return replace(batch, tables=tables, vectors=vectors)
