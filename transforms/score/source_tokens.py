"""What a conversation says at all: its content tokens, by which a loss tells what no representation could have kept."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.text.content_tokens import Language, content_tokens_of

SOURCE_TOKENS = pa.schema(
    [
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("conversation_id", pa.string(), nullable=False),
        pa.field("token", pa.string(), nullable=False),
    ]
)
# Turns whose words are in memory at one time.
_BLOCK = 50_000


def source_tokens_of(
    snapshot: Snapshot, corpus: str, conversations: pa.Array | pa.ChunkedArray, language: Language
) -> pa.Table:
    """SOURCE_TOKENS of some conversations of a corpus, read from a snapshot a block of turns at a time."""
    where = (pc.field("corpus") == corpus) & pc.field("conversation_id").isin(conversations)
    columns = ["corpus", "conversation_id", "text", "speaker", "session_label"]
    return source_tokens(snapshot.batches("turns", columns=columns, where=where), language)


def source_tokens(turns: pa.Table | Iterable[pa.RecordBatch], language: Language) -> pa.Table:
    """SOURCE_TOKENS of turns: each content token of a conversation's texts, speakers and session labels, once.

    Labels are there since every unit's header shows one, so that a date can be an answer.
    """
    batches = turns.to_batches(max_chunksize=_BLOCK) if isinstance(turns, pa.Table) else turns
    found = [SOURCE_TOKENS.empty_table()]
    for batch in batches:
        block = pa.Table.from_batches([batch])
        for name in ("text", "speaker", "session_label"):
            # The same speaker and label stand on many turns.
            pairs = block.group_by(["corpus", "conversation_id", name]).aggregate([])
            found.append(_tokens(pairs, name, language))
    return _once(pa.concat_tables(found))


def _tokens(texts: pa.Table, name: str, language: Language) -> pa.Table:
    lists = content_tokens_of(pc.fill_null(texts[name], ""), language=language, distinct=True)
    of_text = texts.select(["corpus", "conversation_id"]).take(pc.list_parent_indices(lists))
    return _once(of_text.append_column("token", pc.list_flatten(lists)).cast(SOURCE_TOKENS))


def _once(tokens: pa.Table) -> pa.Table:
    return tokens.group_by(SOURCE_TOKENS.names, use_threads=False).aggregate([]).cast(SOURCE_TOKENS)
