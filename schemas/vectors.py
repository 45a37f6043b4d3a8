"""Lance tables: one a representation and embedder, derived from units and rebuilt from them at will."""

import pyarrow as pa

from schemas.table import STRING, column

# Declares the key, without which two handles that upsert the same row leave it twice (lancedb#3377).
_KEY = {"lance-schema:unenforced-primary-key": "true"}


def vectors_schema(*, embedder: str, model: str, revision: str, dimension: int, normalised: bool) -> pa.Schema:
    """Lance schema of unit vectors, shape (n, dimension) float32; what made them stands in its metadata."""
    fields = [
        column("unit_id", STRING, "the unit").with_metadata({"description": "the unit", **_KEY}),
        column("corpus", STRING, "the corpus of the unit"),
        column("conversation_id", STRING, "the conversation of the unit"),
        column("key_text", STRING, "what was embedded"),
        column(
            "vector", pa.list_(pa.float32(), dimension), "its vector; null when it could not be embedded", null=True
        ),
    ]
    made_by = {
        "memlake:embedder": embedder,
        "memlake:model": model,
        "memlake:revision": revision,
        "memlake:dimension": str(dimension),
        "memlake:normalised": str(normalised).lower(),
    }
    return pa.schema(fields, metadata=made_by)


def made_by(schema: pa.Schema) -> dict[str, str]:
    """What made the vectors of a table: the entries that `vectors_schema` put into its metadata."""
    return {
        key.decode(): value.decode() for key, value in (schema.metadata or {}).items() if key.startswith(b"memlake:")
    }


def vectors_table(representation: str, embedder: str) -> str:
    """Name of the Lance table that holds a representation's vectors by one embedder."""
    return f"{representation}__{embedder.replace(':', '-').replace('/', '-')}"
