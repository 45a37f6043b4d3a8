"""Vectors of units: each distinct text embedded once a batch, each vector checked before it lands."""

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas.vectors import vectors_schema
from transforms.embed.embedder import Embedder, EmbedderCard
from transforms.errors import EmbedderMismatchError


def embed_units(units: pa.Table, embedder: Embedder) -> tuple[pa.Table, list[tuple[str, str]]]:
    """Vectors of units in the Lance schema, one row a unit in the same order, and the units that have none, with why.

    A unit whose text is blank, or whose vector holds NaN or infinity or is zero, keeps its row with a null vector; the
    reasons are blank_text, bad_vector_nan, bad_vector_inf and bad_vector_zero. Blank texts are not embedded.

    Raises:
        EmbedderMismatchError: the embedder does not give one vector of its stated dimension a text.
    """
    card = embedder.card
    keys = units["key_text"].combine_chunks().dictionary_encode()
    blank = pc.equal(pc.utf8_trim_whitespace(keys.dictionary), "").to_numpy(zero_copy_only=False)
    texts = keys.dictionary.filter(pa.array(~blank)).to_pylist()
    vectors = np.zeros((len(blank), card.dimension), np.float32)
    vectors[~blank] = _checked_shape(embedder.embed(texts), len(texts), card)
    reasons = np.where(blank, "blank_text", _reasons(vectors))
    vectors[reasons != ""] = 0
    of_unit = keys.indices.to_numpy()
    unit_reasons = reasons[of_unit]
    values = pa.array(vectors[of_unit].reshape(-1))
    mask = pa.array(unit_reasons != "")
    columns = [units[name] for name in ("unit_id", "corpus", "conversation_id", "key_text")]
    columns.append(pa.FixedSizeListArray.from_arrays(values, card.dimension, mask=mask))
    rejected = np.flatnonzero(unit_reasons != "")
    ids = units["unit_id"].take(pa.array(rejected)).to_pylist()
    schema = vectors_schema(**asdict(card))
    table = pa.Table.from_arrays(columns, names=schema.names).cast(schema).replace_schema_metadata(schema.metadata)
    return table, list(zip(ids, unit_reasons[rejected].tolist(), strict=True))


def check_card(metadata: Mapping[bytes, bytes] | None, card: EmbedderCard, hint: str) -> None:
    """Refuse to mix vectors of two makers.

    Args:
        metadata: of the stored Lance schema.
        card: of the embedder that is about to be used.
        hint: the command that re-embeds, `memlake embed --embedder NAME --corpus CORPUS`.

    Raises:
        EmbedderMismatchError: model, revision, dimension or normalisation differ, or are not on record.
    """
    wanted = vectors_schema(**asdict(card)).metadata
    differ = [
        f"{key.decode().removeprefix('memlake:')}={_text((metadata or {}).get(key))} stored, {_text(value)} asked for"
        for key, value in wanted.items()
        if (metadata or {}).get(key) != value
    ]
    if differ:
        raise EmbedderMismatchError(f"the stored vectors were made otherwise: {'; '.join(differ)}", hint=hint)


def _text(value: bytes | None) -> str:
    return "none" if value is None else repr(value.decode())


def _checked_shape(vectors: npt.NDArray[np.float32], texts: int, card: EmbedderCard) -> npt.NDArray[np.float32]:
    if vectors.shape != (texts, card.dimension):
        raise EmbedderMismatchError(
            f"embedder={card.embedder!r} gave vectors of shape {vectors.shape} for {texts} texts: "
            f"expected ({texts}, {card.dimension})",
            hint="memlake doctor",
        )
    return vectors


def _reasons(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.str_]:
    """Why each vector must not land, '' when it may."""
    nan = np.isnan(vectors).any(axis=1)
    infinite = np.isinf(vectors).any(axis=1)
    zero = ~vectors.any(axis=1)
    return np.select([nan, infinite, zero], ["bad_vector_nan", "bad_vector_inf", "bad_vector_zero"], default="")
