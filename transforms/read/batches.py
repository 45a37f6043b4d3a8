"""Read one shard as batches of whole conversations, a few megabytes of text at a time."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas import TABLES, TURNS, UNITS
from memlake.schemas.table import STRING, Table
from memlake.transforms.base.batch import PARTS_SEEN, Batch, Held
from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions
from memlake.transforms.base.sources import Shard
from memlake.transforms.lake.storage.parts import TURNS_PART, UNITS_PART, BaseParts, by_conversation, seen
from memlake.transforms.lake.storage.place import open_parquet, read_parquet, size_of
from memlake.transforms.read.catalogue import REVISIONS, OnRead, ignore, read_sources
from memlake.transforms.read.formats.memlake_jsonl import units as memlake_units
from memlake.transforms.read.gather import PARTIAL, gather
from memlake.transforms.read.stored_turns import stored_batch, turn_counts
from memlake.transforms.read.tabulate import tabulate

# Enough text that Arrow's overhead vanishes, little enough that memory does not depend on the shard.
BATCH_CHARS = 4 << 20
BATCH_CONVERSATIONS = 4096
Make = Callable[[list[Conversation], list[DeadLetter], str, BaseParts], Batch]
UNITS_FORMAT = memlake_units.READER.name


class BucketGoneError(Exception):
    """A run over the same files has cleared away what was gathered; the commit finds the manifest missing."""


def read_batches(
    shard: Shard, name: str, base_parts: BaseParts, options: ReadOptions, on_read: OnRead = ignore
) -> Iterator[Batch]:
    """Yield a shard's batches and last a closing one, which says how many came before it.

    A conversation that stands twice in a shard in different versions is yielded again under a shard name of its own
    (`NAME-1`, ...), so that the commit sees two manifests and can choose; the closing batch says how many there are.

    Args:
        name: the shard's name, from `shard.name()`.
        on_read: called with how many bytes of the shard's input were read.
    """
    conflicts: list[Batch] = []
    count = 0
    for batch in _batches(shard, name, base_parts, options, on_read):
        if batch.shard == name:
            count += 1
            yield batch
        else:
            conflicts.append(batch)
    for batch in conflicts:
        yield batch
        yield Batch(batch.shard, total=1)
    yield Batch(name, total=count, conflicts=len(conflicts))


def _batches(shard: Shard, name: str, base_parts: BaseParts, options: ReadOptions, on_read: OnRead) -> Iterator[Batch]:
    root = Path(base_parts.lake)
    if shard.kind == "source":
        make = stored_batch if shard.format == UNITS_FORMAT else _batch
        yield from _cut(read_sources(shard, options, on_read), name, base_parts, make)
    elif shard.kind == "bucket":
        try:
            rows = read_parquet([root / file for file in shard.files], schema=PARTIAL)
        except FileNotFoundError as error:
            raise BucketGoneError(shard.index) from error
        yield from _cut(gather(rows), name, base_parts, _batch)
    else:
        table = TURNS if shard.kind == "turns" else UNITS
        done = 0
        for file in shard.files:
            for rows in _whole_conversations(root / file, table):
                stored = base_parts.parts(pc.unique(rows["conversation_id"]))
                parts = _stored_parts(rows, table, stored)
                counts = turn_counts(rows) if table is TURNS else {"units": rows.num_rows}
                yield Batch(name, tables={table.name: rows}, parts=parts, held=stored, seen=counts)
            done += size_of(root / file) or 0
            on_read(done)


def _cut(items: Iterable[Conversation | DeadLetter], name: str, base_parts: BaseParts, make: Make) -> Iterator[Batch]:
    """Batches of conversations that are all different; further versions of one come last, a batch each."""
    held: list[Conversation] = []
    dead: list[DeadLetter] = []
    again: list[Conversation] = []
    hashes: dict[str, set[str]] = {}
    chars = 0
    for item in items:
        if isinstance(item, DeadLetter):
            dead.append(item)
            continue
        if item.conversation_id in hashes:
            again.append(item)
            continue
        hashes[item.conversation_id] = set()
        held.append(item)
        chars += sum(map(len, item.text)) + sum(len(unit.text) for unit in item.supplied)
        if chars >= BATCH_CHARS or len(held) >= BATCH_CONVERSATIONS:
            yield _noted(make(held, dead, name, base_parts), hashes)
            held, dead, chars = [], [], 0
    if held or dead:
        yield _noted(make(held, dead, name, base_parts), hashes)
    conflicts = 0
    for conversation in again:
        batch = make([conversation], [], f"{name}-{conflicts + 1}", base_parts)
        # Supplied units have no hash before they are made, so a version that brings some counts as another.
        if (
            _versions(batch).get(conversation.conversation_id, set()) <= hashes[conversation.conversation_id]
            and not conversation.supplied
        ):
            yield Batch(name, dead=(_repeated(conversation),))
            continue
        conflicts += 1
        yield _noted(batch, hashes)


def _noted(batch: Batch, hashes: dict[str, set[str]]) -> Batch:
    """Remember the versions that were read; only their hashes stay in memory."""
    for name, parts in _versions(batch).items():
        hashes[name] |= parts
    return batch


def _versions(batch: Batch) -> dict[str, set[str]]:
    """Of each conversation its parts with their hashes."""
    found: dict[str, set[str]] = {}
    columns = (batch.parts[name].to_pylist() for name in ("conversation_id", "part", "content_hash"))
    for name, part, value in zip(*columns, strict=True):
        found.setdefault(name, set()).add(f"{part}={value}")
    return found


def _repeated(conversation: Conversation) -> DeadLetter:
    return DeadLetter(
        "repeated_conversation",
        f"conversation {conversation.conversation_id!r} was read before, all the same",
        conversation.source_uri,
        None,
        "conversation",
        "skipped",
    )


def _batch(held: list[Conversation], dead: list[DeadLetter], name: str, base_parts: BaseParts) -> Batch:
    tables = tabulate(base_parts.corpus, held, REVISIONS)
    parts = tables.pop("parts")
    stored = base_parts.parts(tables["conversations"]["conversation_id"].combine_chunks())
    marked = [
        seen(stored, part, by_conversation(rows, "content_hash"), by_conversation(rows, "rows"))
        for part in pc.unique(parts["part"]).to_pylist()
        for rows in [parts.filter(pc.equal(parts["part"], part))]
    ]
    return Batch(
        name,
        conversations=tuple(held),
        tables=tables,
        parts=pa.concat_tables(marked) if marked else PARTS_SEEN.empty_table(),
        held=stored,
        dead=tuple(dead),
        seen=_count(tables),
    )


def _count(tables: dict[str, pa.Table]) -> dict[str, int]:
    """What was read, whether or not the lake holds it already; questions once, whatever their label sets.

    Evidence counts by a question's official labels, by whichever there are where it has no official ones.
    """
    questions, evidence = tables["questions"], tables["evidence"]
    official = questions.filter(pc.equal(questions["label_set"], "official"))["question_id"]
    counted = pc.or_(
        pc.equal(evidence["label_set"], "official"), pc.invert(pc.is_in(evidence["question_id"], value_set=official))
    )
    evidence = evidence.filter(counted)
    gold = evidence.filter(pc.is_in(evidence["status"], value_set=pa.array(["valid", "normalised"], STRING)))
    counts = {
        "conversations": tables["conversations"].num_rows,
        "sessions": pc.sum(tables["conversations"]["sessions"]).as_py() or 0,
        "turns": tables["turns"].num_rows,
        "questions": pc.count_distinct(questions["question_id"]).as_py(),
        "questions_with_gold": pc.count_distinct(gold["question_id"]).as_py(),
    }
    for status in ("malformed", "dangling"):
        counts[f"evidence_{status}"] = pc.sum(pc.equal(evidence["status"], status)).as_py() or 0
    return counts


def _whole_conversations(file: Path, table: Table) -> Iterator[pa.Table]:
    """Stream one file of a table, cut where the conversation changes; a conversation never spans two files."""
    partition = dict(part.split("=", 1) for part in file.parts if "=" in part)
    rest = table.stored_schema.empty_table()
    with open_parquet(file) as opened:
        for batch in opened.iter_batches(batch_size=16_384, columns=table.stored_schema.names):
            rows = pa.concat_tables([rest, pa.table(batch).cast(table.stored_schema)])
            last = rows["conversation_id"][rows.num_rows - 1]
            whole = pc.index(rows["conversation_id"], last).as_py()
            if whole:
                yield _with_partition(rows.slice(0, whole), table, partition)
            rest = rows.slice(whole)
    if rest.num_rows:
        yield _with_partition(rest, table, partition)


def _with_partition(rows: pa.Table, table: Table, partition: dict[str, str]) -> pa.Table:
    columns = [
        pa.repeat(pa.scalar(partition[field.name], pa.string()), rows.num_rows)
        if field.name in table.partition_by
        else rows[field.name]
        for field in TABLES[table.name].schema
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _stored_parts(rows: pa.Table, table: Table, held: Held) -> pa.Table:
    """The parts of stored rows, as the lake holds them: nothing of them is to land again."""
    part = TURNS_PART.name if table is TURNS else UNITS_PART.named(rows["representation"][0].as_py())
    names = pc.unique(rows["conversation_id"]).to_pylist()
    return seen(held, part, {name: held[name, part][0] for name in names if (name, part) in held}, {})
