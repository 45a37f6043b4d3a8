"""The canonical text of conversations, written out plainly: what spans and chunks are checked against."""

import pyarrow as pa


def canonical_texts(turns: pa.Table) -> list[str]:
    """The canonical text of each conversation in rows of whole conversations, sorted by (conversation_id, ordinal)."""
    texts: list[list[str]] = []
    for row in turns.select(["ordinal", "speaker", "text"]).to_pylist():
        if row["ordinal"] == 0:
            texts.append([])
        texts[-1].append(f"{row['speaker']}: {row['text']}")
    return ["\n".join(lines) for lines in texts]
