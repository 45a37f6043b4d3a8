"""Lance tables: one a representation and embedder, derived from units and rebuilt from them at will."""

import re
from hashlib import blake2b

import pyarrow as pa

from memlake.schemas.table import STRING, column

# Declares the key, without which two handles that upsert the same row leave it twice (lancedb#3377).
_KEY = {"lance-schema:unenforced-primary-key": "true"}
# Kinds that stand for no model of their own: whose checkpoint it is belongs to the name.
_ANY_CHECKPOINT = ("flag", "sentence")
_OPTIONS = re.compile(r"(,[a-z_]+=[A-Za-z0-9.]+)+$")
_LONGEST_NAME = 60
# Between representation and embedder in a table's name; no name of either holds it.
_BETWEEN = "__"


def vectors_schema(
    *, embedder: str, model: str, revision: str, dimension: int, normalised: bool, sparse: bool = False, multi: int = 0
) -> pa.Schema:
    """Lance schema of unit vectors, shape (n, dimension) float32; what made them stands in its metadata.

    Args:
        sparse: whether it has weights of tokens beside each vector.
        multi: dimension of its vectors of tokens; 0 where it has none.
    """
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
    if sparse:
        fields += [
            column(
                "sparse_ids", pa.list_(pa.int32()), "tokens of the text, ascending; null like the vector", null=True
            ),
            column("sparse_weights", pa.list_(pa.float32()), "the weight of each of these tokens", null=True),
        ]
        made_by["memlake:sparse"] = "true"
    if multi:
        fields.append(
            column(
                "multi", pa.list_(pa.list_(pa.float32(), multi)), "a vector a token; null like the vector", null=True
            )
        )
        made_by["memlake:multi"] = str(multi)
    return pa.schema(fields, metadata=made_by)


def made_by(schema: pa.Schema) -> dict[str, str]:
    """What made the vectors of a table: the entries that `vectors_schema` put into its metadata."""
    return {
        key.decode(): value.decode() for key, value in (schema.metadata or {}).items() if key.startswith(b"memlake:")
    }


def embedder_name(embedder: str) -> str:
    """The name of an embedder in tables and metadata: letters, digits, '.', '_' and '-', never '__'.

    'sentence@./models/minilm' is 'sentence-minilm', 'bge-m3@./m3' is 'bge-m3', 'openai:a/b' is 'openai-a-b'. Two
    checkpoints may come to one name: what made a table's vectors stands in its metadata, and others are refused.
    """
    plain = _OPTIONS.sub("", embedder)
    kind, mark, model = plain.partition(":")
    if not (mark and kind == "openai"):
        kind, _, checkpoint = plain.partition("@")
        is_path = checkpoint.startswith(("/", ".", "~"))
        place = checkpoint if is_path else checkpoint.partition("#")[0]
        model = place.rstrip("/").rpartition("/")[2] if kind in _ANY_CHECKPOINT else ""
    if not model:
        return _safe(kind)
    # A model whose name has no sign that may stand in a path is known by a digest of it.
    digest = blake2b(model.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return _safe(f"{kind}-{_safe(model) or digest}")


def vectors_table(representation: str, embedder: str) -> str:
    """Name of the Lance table that holds a representation's vectors by one embedder."""
    return f"{representation}{_BETWEEN}{embedder_name(embedder)}"


def representation_of(table: str) -> str:
    """The representation whose vectors a Lance table holds."""
    return table.partition(_BETWEEN)[0]


def _safe(name: str) -> str:
    return re.sub("_{2,}", "_", re.sub(r"[^A-Za-z0-9._-]+", "-", name)).strip("-._")[:_LONGEST_NAME].rstrip("-._")
