"""What a run's workers have done so far, as small files that the driver reads: no message crosses a process."""

import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from memlake.transforms.base.batch import Batch

# A run whose folder nothing has touched for so long does not live.
_ABANDONED_S = 24 * 3600.0
_WRITE_EVERY_S = 0.3


@dataclass(frozen=True, slots=True)
class Done:
    """How far a run is: shards read to their end, turns, and the share of all input that was read (0 to 1, or None)."""

    shards: int
    turns: int
    share: float | None


@dataclass(slots=True)
class Progress:
    """One worker's view of a run; `staged` is the lake's folder of manifests."""

    staged: Path
    run_id: str
    _turns: int = 0
    _read: dict[int, int] = field(default_factory=dict)
    _written: float = 0.0

    @property
    def folder(self) -> Path:
        """Where the run's notes lie until it ends."""
        return self.staged / f"run-{self.run_id}"

    def open(self) -> None:
        """Make the folder, before any worker starts; clear away those of runs that were killed long ago."""
        for old in self.staged.glob("run-*"):
            if old.is_dir() and time.time() - old.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(old, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)

    def name_shard(self, index: int, name: str, size: int | None) -> None:
        """Note the name of a shard's manifest, which only its reader knows, and the bytes of its input where it has an end."""
        (self.folder / f"{index}.shard").write_text(name)
        if size is not None:
            self._put(f"{index}.size", str(size))

    def read(self, index: int, position: int) -> None:
        """Note how many bytes of a shard's input were read; written at most a few times a second."""
        self._read[index] = position
        self._write_at_times()

    def finish_shard(self, index: int) -> None:
        """Note that a shard was read to its end."""
        (self.folder / f"{index}.done").touch()
        self._write()

    def add(self, batch: Batch) -> None:
        """Count a batch; written at most a few times a second."""
        turns = batch.tables.get("turns")
        if turns is not None and turns.num_rows:
            self._turns += turns.num_rows
        self._write_at_times()

    def add_turns(self, turns: int) -> None:
        """Count turns that a first job gathered."""
        self._turns += turns
        self._write_at_times()

    def names(self, indices: Iterable[int]) -> list[str]:
        """The names of the manifests of some shards, as their readers noted them."""
        return [(self.folder / f"{index}.shard").read_text() for index in indices]

    def done(self, shards: int | None) -> Done:
        """How far all workers are together, of so many shards; one that nobody has begun counts as an average one.

        Args:
            shards: None where nobody knows how many there are.
        """
        sizes, read = self._numbers("size"), self._numbers("read")
        finished = {int(file.stem) for file in self.folder.glob("*.done")}
        turns = sum(int(file.read_text() or 0) for file in self.folder.glob("*.rows"))
        if shards is None:
            return Done(len(finished), turns, None)
        total = sum(sizes.values())
        # A shard of no bytes at all still is a shard to be done.
        share = len(finished) / shards if shards else 1.0
        if total and len(sizes) == len(list(self.folder.glob("*.shard"))):
            bytes_read = sum(
                size if index in finished else min(read.get(index, 0), size) for index, size in sizes.items()
            )
            share = bytes_read / (total * max(shards, len(sizes)) / len(sizes))
        return Done(len(finished), turns, min(share, 1.0))

    def close(self) -> None:
        """Remove the notes."""
        for file in self.folder.glob("*"):
            file.unlink(missing_ok=True)
        if self.folder.is_dir():
            self.folder.rmdir()

    def _write(self) -> None:
        self._written = time.monotonic()
        self._put(f"{os.getpid()}-{id(self)}.rows", str(self._turns))
        for index, position in self._read.items():
            self._put(f"{index}.read", str(position))

    def _write_at_times(self) -> None:
        if time.monotonic() - self._written > _WRITE_EVERY_S:
            self._write()

    def _put(self, name: str, text: str) -> None:
        """Write a note at once: the driver may look at any moment."""
        part = self.folder / f"{name}-{os.getpid()}-{id(self)}.tmp"
        part.write_text(text)
        part.replace(self.folder / name)

    def _numbers(self, suffix: str) -> dict[int, int]:
        return {int(file.stem): int(file.read_text()) for file in self.folder.glob(f"*.{suffix}")}
