"""What a run's workers have done so far, as small files that the driver reads: no message crosses a process."""

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from transforms.batch import Batch

# A run whose folder nothing has touched for so long does not live.
_ABANDONED_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Done:
    """How far a run is."""

    shards: int
    turns: int
    characters: int


@dataclass(slots=True)
class Progress:
    """One worker's view of a run; `staged` is the lake's folder of manifests."""

    staged: Path
    run_id: str
    _turns: int = 0
    _characters: int = 0
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

    def name_shard(self, index: int, name: str) -> None:
        """Note the name of a shard's manifest, which only its reader knows."""
        (self.folder / f"{index}.shard").write_text(name)

    def finish_shard(self, index: int) -> None:
        """Note that a shard was read to its end."""
        (self.folder / f"{index}.done").touch()
        self._write()

    def add(self, batch: Batch) -> None:
        """Count a batch; written at most a few times a second."""
        turns = batch.tables.get("turns")
        if turns is not None and turns.num_rows:
            self._turns += turns.num_rows
            self._characters += pc.sum(pc.subtract(turns["char_end"], turns["char_start"])).as_py()
        if time.monotonic() - self._written > 0.3:
            self._write()

    def add_turns(self, turns: int) -> None:
        """Count turns that a first job gathered."""
        self._turns += turns

    def names(self, shards: int) -> list[str]:
        """The manifest names of shards 0 to n - 1, as their readers noted them."""
        return [(self.folder / f"{index}.shard").read_text() for index in range(shards)]

    def done(self) -> Done:
        """How far all workers are together."""
        turns = characters = 0
        for file in self.folder.glob("*.rows"):
            first, second = (file.read_text().split() or ["0", "0"])[:2]
            turns, characters = turns + int(first), characters + int(second)
        return Done(len(list(self.folder.glob("*.done"))), turns, characters)

    def close(self) -> None:
        """Remove the notes."""
        for file in self.folder.glob("*"):
            file.unlink(missing_ok=True)
        if self.folder.is_dir():
            self.folder.rmdir()

    def _write(self) -> None:
        self._written = time.monotonic()
        file = self.folder / f"{os.getpid()}-{id(self)}.rows"
        part = file.with_suffix(".tmp")
        part.write_text(f"{self._turns} {self._characters}")
        part.replace(file)
