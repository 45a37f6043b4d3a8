"""From turns spread over files, byte ranges and exports to whole conversations, the same in whatever order they come.

Two jobs: the first writes turns into staged files, a bucket of conversations each; the second reads whole buckets.

A conversation may be exported again, whole or grown: of two sources whose turns are equal, or where one's are the first
of the other's, the longer counts once. Apart from that, a turn that has an id or a time counts once, however many sources
hold it; a turn that has neither is distinguished from its like by its place alone, so it stays.
"""

import json
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetWriter

from memlake.schemas.table import BOOL, INT, STRING
from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions
from memlake.transforms.base.sources import Shard
from memlake.transforms.lake.stage.manifest import DEAD_SEEN, dead_rows, read_beside, write_beside
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.lake.storage.place import is_parquet, put_once, read_json, remove, write_parquet
from memlake.transforms.read.catalogue import read_sources
from memlake.transforms.read.common.arrange import Columns, arrange

# One row a turn, as its source gives it; position orders the turns of one source, times are UTC microseconds.
PARTIAL = pa.schema(
    [
        pa.field("conversation_id", STRING, nullable=False),
        pa.field("source_uri", STRING, nullable=False),
        pa.field("format", STRING, nullable=False),
        pa.field("position", INT, nullable=False),
        pa.field("session_id", STRING),
        pa.field("session_label", STRING),
        pa.field("session_at", INT),
        pa.field("zone_known", BOOL, nullable=False),
        pa.field("turn_id", STRING),
        pa.field("speaker", STRING, nullable=False),
        pa.field("role", STRING, nullable=False),
        pa.field("kind", STRING, nullable=False),
        pa.field("text", STRING, nullable=False),
        pa.field("source_chars", INT, nullable=False),
        pa.field("said_at", INT),
    ]
)
_Row = tuple[object, ...]


def partial_rows(partials: Iterable[Conversation]) -> pa.Table:
    """Rows of partial conversations, in the schema PARTIAL.

    The position of a turn is the partial's byte offset plus the turn's place in it: lines have at least two bytes, so
    this rises along a source.
    """
    parts = [part for part in partials if part.text]
    counts = np.array([len(part.text) for part in parts], np.int64)
    offsets = np.repeat(np.array([part.position for part in parts], np.int64), counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    owner = pa.array(np.repeat(np.arange(len(parts)), counts))
    bases = np.cumsum([0, *(len(part.sessions) for part in parts)])[:-1]
    session = pa.array(np.fromiter(chain.from_iterable(p.session for p in parts), np.int64) + np.repeat(bases, counts))
    sessions = [held for part in parts for held in part.sessions]

    def by_part(values: list[str]) -> pa.Array:
        return pa.array(values, STRING).take(owner)

    def by_session(values: list[object], kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind).take(session)

    def flat(name: str, kind: pa.DataType = STRING) -> pa.Array:
        return pa.array(list(chain.from_iterable(getattr(part, name) for part in parts)), kind)

    turn_id = flat("turn_id")
    return pa.Table.from_arrays(
        [
            by_part([part.conversation_id for part in parts]),
            by_part([part.source_uri for part in parts]),
            by_part([part.format for part in parts]),
            pa.array(offsets + places),
            by_session([held.session_id or None for held in sessions], STRING),
            by_session([held.label for held in sessions], STRING),
            by_session([held.at for held in sessions], INT),
            by_session([held.zone_known for held in sessions], BOOL),
            pc.if_else(pc.equal(turn_id, ""), pa.scalar(None, STRING), turn_id),
            *(flat(name) for name in ("speaker", "role", "kind", "text")),
            flat("source_chars", INT),
            flat("said_at", INT),
        ],
        schema=PARTIAL,
    )


def bucket_of(conversation_ids: pa.Array | pa.ChunkedArray, buckets: int) -> pa.Array:
    """The bucket (int32, from 0) of each conversation, the same in every process; each distinct id is hashed once."""
    if isinstance(conversation_ids, pa.ChunkedArray):
        conversation_ids = conversation_ids.combine_chunks()
    encoded = pc.dictionary_encode(conversation_ids)
    hashed = [
        int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") % buckets
        for name in encoded.dictionary.to_pylist()
    ]
    return pa.array(hashed, pa.int32()).take(encoded.indices)


def gather(table: pa.Table) -> Iterator[Conversation | DeadLetter]:
    """Yield the whole conversations of a bucket of PARTIAL rows, in any order, by conversation id."""
    if not table.num_rows:
        return
    order = pc.sort_indices(table, [(name, "ascending") for name in ("conversation_id", "source_uri", "position")])
    table = table.take(order).combine_chunks()
    names = table["conversation_id"].to_pylist()
    starts = [row for row, name in enumerate(names) if not row or name != names[row - 1]]
    for start, end in zip(starts, [*starts[1:], len(names)], strict=True):
        yield from _conversation(table.slice(start, end - start))


def _conversation(rows: pa.Table) -> Iterator[Conversation | DeadLetter]:
    conversation_id, uri, format_name = (rows[name][0].as_py() for name in ("conversation_id", "source_uri", "format"))
    if rows["source_uri"][-1].as_py() != uri:
        keep, letters = _merge(rows, conversation_id)
        yield from letters
        rows = rows.take(keep)
        uri = rows["source_uri"][0].as_py()
    columns = Columns(
        **{name: rows[name].to_pylist() for name in ("text", "speaker", "role", "kind", "source_chars", "turn_id")},
        **{name: rows[name].to_pylist() for name in ("said_at", "session_id", "session_label", "session_at")},
        zone=rows["zone_known"].to_pylist(),
    )
    made, letters = arrange(columns, conversation_id, uri, format_name)
    yield from letters
    yield made


def _merge(rows: pa.Table, conversation_id: str) -> tuple[list[int], list[DeadLetter]]:
    """The rows that count where several sources hold turns of one conversation."""
    content = rows.drop_columns(["conversation_id", "source_uri", "format", "position"])
    values = list(zip(*(column.to_pylist() for column in content.columns), strict=True))
    dated = [turn_id is not None or at is not None for turn_id, at in zip(
        rows["turn_id"].to_pylist(), rows["said_at"].to_pylist(), strict=True
    )]  # fmt: skip
    sources: dict[str, list[int]] = {}
    for row, uri in enumerate(rows["source_uri"].to_pylist()):
        sources.setdefault(uri, []).append(row)
    letters: list[DeadLetter] = []
    keep: list[int] = []
    seen: dict[_Row, int] = {}
    for uri, held in _longest(sources, values).items():
        if held is None:
            error = f"conversation {conversation_id!r} stands in another source too, as far as this one goes"
            letters.append(DeadLetter("repeated_export", error, uri, None, "conversation", "skipped"))
            continue
        # The second 'ok' of one minute in this source is the second one of that minute in the other.
        counts: dict[_Row, int] = {}
        fresh = []
        for row in held:
            counts[values[row]] = counts.get(values[row], 0) + 1
            if not dated[row] or counts[values[row]] > seen.get(values[row], 0):
                fresh.append(row)
        if len(fresh) < len(held):
            error = f"{len(held) - len(fresh)} turns of conversation {conversation_id!r} stand in another source too"
            letters.append(DeadLetter("repeated_turns", error, uri, None, "conversation", "skipped"))
        for value, count in counts.items():
            seen[value] = max(count, seen.get(value, 0))
        keep += fresh
    return keep, letters


def _longest(sources: dict[str, list[int]], values: list[_Row]) -> dict[str, list[int] | None]:
    """Per source its rows, or None where another source begins with all of them (of equal ones the first stays)."""
    result: dict[str, list[int] | None] = dict(sources)
    for uri, rows in sources.items():
        mine = [values[row] for row in rows]
        for other, others in sources.items():
            if values[others[0]] != mine[0]:
                continue
            longer = len(others) > len(rows) or (len(others) == len(rows) and other < uri)
            if longer and [values[row] for row in others[: len(rows)]] == mine:
                result[uri] = None
                break
    return result


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
        drop_files(staged, mine)  # another run over the same files was faster: the note that it put names its own


@dataclass(slots=True)
class _BucketFiles:
    """The Parquet files that a shard's turns are written to: one open file a bucket."""

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
