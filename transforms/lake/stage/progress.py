"""What a run's workers have done so far, as small files that the driver reads: no message crosses a process."""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memlake.transforms.base.batch import Batch
from memlake.transforms.lake.storage.place import age_s, listed, make_folder, put_text, read_text, remove_folder

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
    _name: str = field(default_factory=lambda: secrets.token_hex(8))
    _turns: int = 0
    _read: dict[int, int] = field(default_factory=dict)
    _finished: list[int] = field(default_factory=list)
    _written: float = 0.0

    @property
    def folder(self) -> Path:
        """Where the run's notes lie until it ends."""
        return self.staged / f"run-{self.run_id}"

    def open(self) -> None:
        """Make the folder, before any worker starts; clear away those of runs that were killed long ago."""
        for old in listed(self.staged, "run-*"):
            if age_s(old) > _ABANDONED_S:
                remove_folder(old)
        make_folder(self.folder)

    def name_shard(self, index: int, name: str, size: int | None) -> None:
        """Note the name of a shard's manifest, which only its reader knows, and the bytes of its input where it has an end."""
        self._put(f"{index}.shard", {"name": name, "size": size})

    def read(self, index: int, position: int) -> None:
        """Note how many bytes of a shard's input were read; written at most a few times a second."""
        self._read[index] = position
        self._write_at_times()

    def finish_shard(self, index: int) -> None:
        """Note that a shard was read to its end."""
        self._finished.append(index)
        self._write()

    def add(self, batch: Batch) -> None:
        """Count a batch; written at most a few times a second."""
        self.add_turns(batch.tables["turns"].num_rows if "turns" in batch.tables else 0)

    def add_turns(self, turns: int) -> None:
        """Count turns; written at most a few times a second."""
        self._turns += turns
        self._write_at_times()

    def names(self, indices: Sequence[int]) -> list[str]:
        """The names of the manifests of some shards, as their readers noted them."""
        return [json.loads(read_text(self.folder / f"{index}.shard"))["name"] for index in indices]

    def done(self, shards: int | None) -> Done:
        """How far all workers are together, of so many shards; one that nobody has begun counts as an average one.

        Args:
            shards: None where nobody knows how many there are.
        """
        named, workers = self._notes("shard"), self._notes("worker").values()
        finished = {index for worker in workers for index in worker["finished"]}
        turns = sum(worker["turns"] for worker in workers)
        if shards is None:
            return Done(len(finished), turns, None)
        sizes = {int(index): note["size"] for index, note in named.items() if note["size"] is not None}
        read = {int(index): position for worker in workers for index, position in worker["read"].items()}
        total = sum(sizes.values())
        # A shard of no bytes at all still is a shard to be done.
        share = len(finished) / shards if shards else 1.0
        if total and len(sizes) == len(named):
            bytes_read = sum(
                size if index in finished else min(read.get(index, 0), size) for index, size in sizes.items()
            )
            share = bytes_read / (total * max(shards, len(sizes)) / len(sizes))
        return Done(len(finished), turns, min(share, 1.0))

    def close(self) -> None:
        """Remove the notes."""
        remove_folder(self.folder)

    def _write(self) -> None:
        self._written = time.monotonic()
        self._put(f"{self._name}.worker", {"turns": self._turns, "read": self._read, "finished": self._finished})

    def _write_at_times(self) -> None:
        if time.monotonic() - self._written > _WRITE_EVERY_S:
            self._write()

    def _put(self, name: str, note: Mapping[str, object]) -> None:
        """Write a whole note: the driver may look at any moment."""
        put_text(self.folder / name, json.dumps(note))

    def _notes(self, suffix: str) -> dict[str, dict[str, Any]]:
        """The notes of a kind, by what they are of."""
        return {file.stem: json.loads(read_text(file)) for file in listed(self.folder, f"*.{suffix}")}
