"""Read one shard as batches of whole conversations, a few megabytes of text at a time."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas import TABLES, TURNS, UNITS
from schemas.table import Table
from transforms.batch import PARTS_SEEN, Batch
from transforms.lake.known import Known, seen
from transforms.read.conversation import Conversation, DeadLetter, ReadOptions
from transforms.read.formats import REVISIONS, read_source
from transforms.read.gather import PARTIAL, gather
from transforms.read.tabulate import tabulate, turns_hash
from transforms.shard import Shard

# Enough text that Arrow's overhead vanishes, little enough that memory does not depend on the shard.
BATCH_CHARS = 4 << 20
BATCH_CONVERSATIONS = 4096


def read_batches(shard: Shard, name: str, known: Known, options: ReadOptions) -> Iterator[Batch]:
    """Yield a shard's batches and last a closing one, which says how many came before it.

    A conversation that stands twice in a shard in different versions is yielded again under a shard name of its own
    (`NAME-1`, ...), so that the commit sees two manifests and can choose; the closing batch says how many there are.

    Args:
        name: the shard's name, from `shard.name()`.
    """
    rivals: list[Batch] = []
    count = 0
    for batch in _batches(shard, name, known, options):
        if batch.shard == name:
            count += 1
            yield batch
        else:
            rivals.append(batch)
    for batch in rivals:
        yield batch
        yield Batch(batch.shard, total=1)
    yield Batch(name, total=count, rivals=len(rivals))


def _batches(shard: Shard, name: str, known: Known, options: ReadOptions) -> Iterator[Batch]:
    root = Path(known.lake)
    if shard.kind == "source":
        items = (item for source in shard.sources for item in read_source(source, shard.format, options))
        yield from _cut(items, name, known)
    elif shard.kind == "bucket":
        rows = pa.concat_tables([pq.read_table(root / file, schema=PARTIAL) for file in shard.files])
        yield from _cut(gather(rows), name, known)
    else:
        table = TURNS if shard.kind == "turns" else UNITS
        for file in shard.files:
            for rows in _whole_conversations(root / file, table):
                parts = _stored_parts(rows, table, known)
                yield Batch(name, tables={table.name: rows}, parts=parts, seen=_count_stored(rows, table))


def _cut(items: Iterable[Conversation | DeadLetter], name: str, known: Known) -> Iterator[Batch]:
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
        chars += sum(map(len, item.text))
        if chars >= BATCH_CHARS or len(held) >= BATCH_CONVERSATIONS:
            yield _noted(_batch(held, dead, name, known), hashes)
            held, dead, chars = [], [], 0
    if held or dead:
        yield _noted(_batch(held, dead, name, known), hashes)
    rivals = 0
    for conversation in again:
        value = turns_hash(conversation, REVISIONS[conversation.format])
        if value in hashes[conversation.conversation_id]:
            yield Batch(name, dead=(_repeated(conversation),))
            continue
        rivals += 1
        yield _noted(_batch([conversation], [], f"{name}-{rivals}", known), hashes)


def _noted(batch: Batch, hashes: dict[str, set[str]]) -> Batch:
    """Remember the versions that were read; only their hashes stay in memory."""
    turns = batch.parts.filter(pc.equal(batch.parts["part"], "turns"))
    for name, value in _hashes(turns).items():
        hashes[name].add(value)
    return batch


def _repeated(conversation: Conversation) -> DeadLetter:
    return DeadLetter(
        "repeated_conversation",
        f"conversation {conversation.conversation_id!r} was read before with the same turns",
        conversation.source_uri,
        None,
        "conversation",
        "skipped",
    )


def _batch(held: list[Conversation], dead: list[DeadLetter], name: str, known: Known) -> Batch:
    tables = tabulate(known.corpus, held, REVISIONS)
    parts = tables.pop("parts")
    stored = known.parts(tables["conversations"]["conversation_id"].combine_chunks())
    marked = [
        seen(stored, part, _hashes(rows), _rows(rows))
        for part in pc.unique(parts["part"]).to_pylist()
        for rows in [parts.filter(pc.equal(parts["part"], part))]
    ]
    return Batch(
        name,
        conversations=tuple(held),
        tables=tables,
        parts=pa.concat_tables(marked) if marked else PARTS_SEEN.empty_table(),
        dead=tuple(dead),
        seen=_count(tables),
    )


def _count(tables: dict[str, pa.Table]) -> dict[str, int]:
    """What was read, whether or not the lake holds it already; questions once, whatever their label sets."""
    evidence = tables["evidence"]
    valid = evidence.filter(pc.is_valid(evidence["turn_id"]))
    counts = {
        "conversations": tables["conversations"].num_rows,
        "sessions": pc.sum(tables["conversations"]["sessions"]).as_py() or 0,
        "turns": tables["turns"].num_rows,
        "questions": pc.count_distinct(tables["questions"]["question_id"]).as_py(),
        "questions_with_gold": pc.count_distinct(
            valid.filter(pc.equal(valid["label_set"], "official"))["question_id"]
        ).as_py(),
    }
    for status in ("malformed", "dangling"):
        hit = pc.and_(pc.equal(evidence["status"], status), pc.equal(evidence["label_set"], "official"))
        counts[f"evidence_{status}"] = pc.sum(hit).as_py() or 0
    return counts


def _count_stored(rows: pa.Table, table: Table) -> dict[str, int]:
    conversations = pc.count_distinct(rows["conversation_id"]).as_py()
    if table is not TURNS:
        return {"units": rows.num_rows}
    sessions = rows.select(["conversation_id", "session_id"]).group_by(["conversation_id", "session_id"]).aggregate([])
    return {"conversations": conversations, "sessions": sessions.num_rows, "turns": rows.num_rows}


def _whole_conversations(file: Path, table: Table) -> Iterator[pa.Table]:
    """Stream one file of a table, cut where the conversation changes; a conversation never spans two files."""
    partition = dict(part.split("=", 1) for part in file.parts if "=" in part)
    rest = table.stored_schema.empty_table()
    with pq.ParquetFile(file) as opened:
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


def _stored_parts(rows: pa.Table, table: Table, known: Known) -> pa.Table:
    """The parts of stored rows, as the lake holds them: nothing of them is to land again."""
    names = pc.unique(rows["conversation_id"])
    held = known.parts(names)
    part = "turns" if table is TURNS else f"units:{rows['representation'][0].as_py()}"
    hashes = {name: held[name, part][0] for name in names.to_pylist() if (name, part) in held}
    return seen(held, part, hashes, {})


def _hashes(parts: pa.Table) -> dict[str, str]:
    return dict(zip(parts["conversation_id"].to_pylist(), parts["content_hash"].to_pylist(), strict=True))


def _rows(parts: pa.Table) -> dict[str, int]:
    return dict(zip(parts["conversation_id"].to_pylist(), parts["rows"].to_pylist(), strict=True))
