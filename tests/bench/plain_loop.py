"""The honest floor: one plain Python loop that writes the same tables, without commits, audits or recovery."""

import json
from hashlib import blake2b
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from memlake.schemas import CONVERSATIONS, PARTS, PROVENANCE, TURNS, UNITS
from memlake.schemas.vectors import vectors_schema

SIZE, OVERLAP = 512, 100
EMBED_ROWS = 20_000


def load_model():
    """wordllama as its users load it."""
    import wordllama

    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


def run(source: Path, out: Path, model) -> None:
    """Read conversations, cut chunks, embed them, write Parquet and Lance."""
    columns = {
        table.name: {name: [] for name in table.schema.names}
        for table in (CONVERSATIONS, TURNS, UNITS, PROVENANCE, PARTS)
    }

    def add(table: str, *values: object) -> None:
        for column, value in zip(columns[table].values(), values, strict=True):
            column.append(value)

    with source.open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            name = record["conversation_id"]
            position, starts, pieces, sessions = 0, [], [], []
            for ordinal, turn in enumerate(record["turns"]):
                text, speaker = turn["text"], turn["speaker"]
                piece = f"{speaker}: {text}" + ("\n" if ordinal + 1 < len(record["turns"]) else "")
                if not sessions or sessions[-1][0] != turn["session_id"]:
                    sessions.append((turn["session_id"], turn["session_at"], position))
                label = turn["session_at"][:16]
                add(
                    "turns", "bench", name, ordinal, turn["session_id"], len(sessions) - 1, None, label, True, str(ordinal),
                    speaker, turn["role"], "message", text, len(text), None, position, position + len(piece),
                )  # fmt: skip
                starts.append((position, position + len(piece), ordinal, len(speaker) + 2))
                pieces.append(piece)
                position += len(piece)
            canonical = "".join(pieces)
            digest = blake2b(canonical.encode(), digest_size=16).hexdigest()
            number, turn_index = 0, 0
            for place, (session, at, begin) in enumerate(sessions):
                end = sessions[place + 1][2] if place + 1 < len(sessions) else len(canonical)
                start = begin
                while True:
                    stop = min(start + SIZE, end)
                    header = f"[{at[:16]}] "
                    shown = header + canonical[start:stop]
                    unit = blake2b(f"bench{name}chunks{number}{shown}".encode(), digest_size=16).hexdigest()
                    add(
                        "units", "bench", name, "chunks", unit, number, "chunk", session, shown, shown, len(header),
                        start, stop, None, None, None,
                    )  # fmt: skip
                    while turn_index and starts[turn_index][0] > start:
                        turn_index -= 1
                    while starts[turn_index][1] <= start:
                        turn_index += 1
                    touched = turn_index
                    part = 0
                    while touched < len(starts) and starts[touched][0] < stop:
                        low, high, ordinal, prefix = starts[touched]
                        first, last = max(low, start), min(high, stop)
                        add(
                            "provenance", "bench", name, "chunks", unit, part, str(ordinal), ordinal, first, last, "exact",
                            last > low + prefix,
                        )  # fmt: skip
                        part += 1
                        touched += 1
                    number += 1
                    if stop == end:
                        break
                    start = stop - OVERLAP
            add(
                "conversations",
                "bench",
                name,
                str(source),
                "plain",
                len(sessions),
                len(starts),
                len(canonical),
                digest,
                None,
                None,
            )
            add("parts", "bench", name, "turns", digest, len(starts))
            add("parts", "bench", name, "units:chunks", digest, number)
    for table in (CONVERSATIONS, TURNS, UNITS, PROVENANCE, PARTS):
        pq.write_table(
            pa.table(columns[table.name], schema=table.schema), out / f"{table.name}.parquet", compression="zstd"
        )
    schema = vectors_schema(embedder="static", model="wordllama", revision="0", dimension=256, normalised=True)
    units = columns["units"]

    def batches():
        for first in range(0, len(units["unit_id"]), EMBED_ROWS):
            rows = slice(first, first + EMBED_ROWS)
            vectors = model.embed(units["key_text"][rows], norm=True).astype(np.float32)
            yield pa.record_batch(
                [
                    pa.array(units["unit_id"][rows]), pa.array(units["corpus"][rows]),
                    pa.array(units["conversation_id"][rows]), pa.array(units["key_text"][rows]),
                    pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 256),
                ],
                schema=schema,
            )  # fmt: skip

    if model is not None:
        lance.write_dataset(batches(), str(out / "chunks.lance"), schema=schema)
