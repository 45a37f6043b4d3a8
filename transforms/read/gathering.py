"""The first of two jobs for formats that spread a conversation: turns into staged files, a bucket of conversations each."""

import json
import secrets
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetWriter

from memlake.transforms.base.atomic_files import put_once, read_json
from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions
from memlake.transforms.base.shard import Shard
from memlake.transforms.lake.stage.manifest import DEAD_SEEN, dead_rows, read_beside, write_beside
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.lake.storage.place import is_parquet, remove, write_parquet
from memlake.transforms.read.gather import PARTIAL, bucket_of, partial_rows
from memlake.transforms.read.shard_sources import read_sources

SUFFIX = ".gathered.json"
# Turns of many conversations become Arrow rows together: a conversation at a time would cost a millisecond each.
_HELD_TURNS = 32_768


@dataclass(frozen=True, slots=True)
class Gathered:
    """What one shard contributed: file names by bucket, and its dead letters, all in the lake's staged folder."""

    shard: str
    files: dict[int, str]
    dead: tuple[str, ...]

    def is_whole(self, staged: Path) -> bool:
        """Whether every file that it names is there and is whole."""
        return all(is_parquet(staged / name) for name in (*self.files.values(), *self.dead))

    def read_dead(self, staged: Path) -> pa.Table:
        """DEAD_SEEN rows of the shard."""
        return read_beside(staged, self.dead, DEAD_SEEN)


def gather_shard(shard: Shard, *, lake: str, options: ReadOptions, buckets: int, run_id: str) -> str:
    """Split the turns of a shard by bucket into staged files; return the shard's name. Done shards are left alone."""
    staged = Path(lake) / "staged"
    progress = Progress(staged, run_id)
    name = shard.name()
    progress.name_shard(shard.index, name, shard.size(Path(lake)))
    found = read_gathered(staged, name)
    if found is not None and not found.is_whole(staged):
        drop_gathered(staged, found)
        found = None
    if found is None:
        _gather(shard, name, staged, options, buckets, progress)
    progress.finish_shard(shard.index)
    return name


def _gather(shard: Shard, name: str, staged: Path, options: ReadOptions, buckets: int, progress: Progress) -> None:
    files = _BucketFiles(staged, buckets)
    dead: list[DeadLetter] = []
    held: list[Conversation] = []
    turns = 0
    for item in read_sources(shard, options, partial(progress.read, shard.index)):
        if isinstance(item, DeadLetter):
            dead.append(item)
            continue
        held.append(item)
        turns += len(item.text)
        if turns >= _HELD_TURNS:
            files.write(partial_rows(held))
            progress.add_turns(turns)
            held, turns = [], 0
    files.write(partial_rows(held))
    progress.add_turns(turns)
    files.close()
    beside = (write_beside(staged, dead_rows(dead), "dead"),) if dead else ()
    note = {"shard": name, "files": {str(number): file for number, file in files.names.items()}, "dead": beside}
    mine = Gathered(name, files.names, beside)
    if not put_once(staged / f"{name}{SUFFIX}", json.dumps(note)):
        drop_files(staged, mine)  # another run over the same files was faster; its files count


@dataclass(slots=True)
class _BucketFiles:
    """One open file a bucket."""

    staged: Path
    buckets: int
    names: dict[int, str] = field(default_factory=dict)
    _writers: dict[int, ParquetWriter] = field(default_factory=dict)

    def write(self, rows: pa.Table) -> None:
        """Append rows to the files of their conversations' buckets."""
        bucket = bucket_of(rows["conversation_id"], self.buckets)
        for number in pc.unique(bucket).to_pylist():
            if number not in self._writers:
                self.names[number] = f"{secrets.token_hex(16)}.bucket.parquet"
                self._writers[number] = write_parquet(self.staged / self.names[number], PARTIAL)
            self._writers[number].write_table(rows.filter(pc.equal(bucket, number)))

    def close(self) -> None:
        """Finish every file."""
        for writer in self._writers.values():
            writer.close()


def read_gathered(staged: Path, name: str) -> Gathered | None:
    """What a shard contributed; None when it is not finished."""
    note = read_json(staged / f"{name}{SUFFIX}")
    if note is None:
        return None
    files = {int(number): file for number, file in note["files"].items()}
    return Gathered(note["shard"], files, tuple(note["dead"]))


def drop_gathered(staged: Path, gathered: Gathered) -> None:
    """Delete a shard's contribution: the conversations are in the lake now, or its files are broken."""
    remove(staged / f"{gathered.shard}{SUFFIX}")
    drop_files(staged, gathered)


def drop_files(staged: Path, gathered: Gathered) -> None:
    """Delete the files of a contribution that nothing names."""
    remove(*(staged / name for name in (*gathered.files.values(), *gathered.dead)))
