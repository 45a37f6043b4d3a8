"""Vectors of units: each distinct text embedded once a process, each vector checked before it lands."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas.vectors import vectors_schema
from memlake.transforms.base.arrays import Bools, Float32s, Ints
from memlake.transforms.base.errors import EmbedderMismatchError
from memlake.transforms.base.ids import content_id
from memlake.transforms.embed.embedder import Embedder, EmbedderCard, Encoded, Ragged
from memlake.transforms.embed.memo import Memo

_memo = Memo()


@dataclass(frozen=True, slots=True)
class Notes:
    """Which of some units have no vector, or one of a part of their text; and how many texts were embedded.

    Attributes:
        rejected: units that have none, each with its reason; `details` has more on each of them, or ''.
        cut: units of whose text the model saw a part: unit, tokens seen, tokens there are.
        unfinished: conversation_id to digests of its texts that failed for a reason that may pass.
        texts: distinct texts that were not blank.
        embedded: how many of them the model was asked for.
    """

    rejected: list[tuple[str, str]] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    cut: list[tuple[str, int, int]] = field(default_factory=list)
    unfinished: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: int = 0
    embedded: int = 0


def embed_units(units: pa.Table, embedder: Embedder, *, memo: Memo | None = None) -> tuple[pa.Table, Notes]:
    """Vectors of units in the Lance schema, one row a unit in the same order, and notes on them.

    A unit whose text is blank, whose vector holds NaN or infinity or is zero, or which the model refused, keeps its row
    with nulls; the reasons are blank_text, bad_vector_nan, bad_vector_inf, bad_vector_zero, bad_weights, and the
    model's own. Blank texts are not embedded.

    Args:
        memo: what the process embedded before; its one own memo where it is left out.

    Raises:
        EmbedderMismatchError: the embedder does not give one vector of its stated dimension a text.
    """
    card = embedder.card
    keys = units["key_text"].combine_chunks().dictionary_encode()
    blank = pc.equal(pc.utf8_trim_whitespace(keys.dictionary), "").to_numpy(zero_copy_only=False)
    texts = keys.dictionary.filter(pa.array(~blank)).to_pylist()
    made, embedded = (memo or _memo).encode(embedder, texts)
    dense = _checked_shape(made.dense, len(texts), card)
    vectors = dense
    if len(texts) < len(blank):
        vectors = np.zeros((len(blank), card.dimension), np.float32)
        vectors[~blank] = dense
    # From a text that was embedded to its place among all texts of the batch.
    place = np.flatnonzero(~blank)
    reasons = _reasons(vectors, blank)
    for ragged in made.of_tokens:
        for text in _not_finite(ragged):
            reasons.setdefault(int(place[text]), "bad_weights")
    reasons |= {int(place[text]): failure.reason for text, failure in made.failed.items()}
    missing = np.zeros(len(blank), np.bool_)
    missing[list(reasons)] = True
    of_unit = keys.indices.to_numpy()
    without = pa.array(missing[of_unit])
    columns = [units[name] for name in ("unit_id", "corpus", "conversation_id", "key_text")]
    # Where every text is another, its order is the units' own.
    of_units = vectors if len(of_unit) == len(blank) else vectors[of_unit]
    if reasons:
        of_units = np.where(missing[of_unit, None], np.float32(0), of_units)
    values = pa.array(of_units.reshape(-1))
    columns.append(pa.FixedSizeListArray.from_arrays(values, card.dimension, mask=without))
    for ragged in made.of_tokens:
        columns += _lists(ragged, blank, of_unit, without)
    schema = vectors_schema(**asdict(card))
    table = pa.Table.from_arrays(columns, names=schema.names).cast(schema).replace_schema_metadata(schema.metadata)
    return table, _notes(units, made, texts, place, reasons, of_unit, embedded)


def check_card(metadata: Mapping[bytes, bytes] | None, card: EmbedderCard, hint: str) -> None:
    """Refuse to use an embedder beside stored vectors that another made, by the metadata of their Lance schema.

    Args:
        hint: the command that re-embeds, `memlake embed --embedder NAME --corpus CORPUS`.

    Raises:
        EmbedderMismatchError: model, revision, dimension or normalisation differ, or are not on record.
    """
    wanted = vectors_schema(**asdict(card)).metadata
    stored = {key: value for key, value in (metadata or {}).items() if key.startswith(b"memlake:")}
    differ = [
        f"{key.decode().removeprefix('memlake:')}={_text(stored.get(key))} stored, {_text(wanted.get(key))} asked for"
        for key in dict.fromkeys((*wanted, *stored))
        if stored.get(key) != wanted.get(key)
    ]
    if differ:
        raise EmbedderMismatchError(f"the stored vectors were made otherwise: {'; '.join(differ)}", hint=hint)


def _text(value: bytes | None) -> str:
    return "none" if value is None else repr(value.decode())


def _checked_shape(vectors: Float32s, texts: int, card: EmbedderCard) -> Float32s:
    if vectors.shape != (texts, card.dimension):
        raise EmbedderMismatchError(
            f"embedder={card.embedder!r} gave vectors of shape {vectors.shape} for {texts} texts: "
            f"expected ({texts}, {card.dimension})",
            hint="memlake doctor",
        )
    return vectors


def _reasons(vectors: Float32s, blank: Bools) -> dict[int, str]:
    """Text to why its vector must not land, for those that must not."""
    reasons = dict.fromkeys(np.flatnonzero(blank).tolist(), "blank_text")
    # One pass finds the few that may be bad: a square is not finite, or no square is above 0.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors)
        odd = np.flatnonzero(~(np.isfinite(squares) & (squares > 0)))
    for text in odd.tolist():
        vector = vectors[text]
        if np.isnan(vector).any():
            reason = "bad_vector_nan"
        elif np.isinf(vector).any():
            reason = "bad_vector_inf"
        else:
            reason = "" if vector.any() else "bad_vector_zero"
        if reason:
            reasons.setdefault(text, reason)
    return reasons


def _not_finite(ragged: Ragged) -> Ints:
    """Texts with NaN or infinity among their weights or vectors of tokens."""
    values = ragged.values[-1]
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    return np.unique(np.searchsorted(ragged.offsets, bad, side="right") - 1)


def _lists(ragged: Ragged, blank: Bools, of_unit: Ints, without: pa.BooleanArray) -> list[pa.Array]:
    """The values of each unit's text as list columns, null where the unit has no vector."""
    sizes = np.zeros(len(blank), np.int64)
    sizes[~blank] = np.diff(ragged.offsets)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    columns = []
    for values in ragged.values:
        flat = pa.array(values.reshape(-1))
        items = flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        of_text = pa.ListArray.from_arrays(offsets, items)
        taken = of_text.take(pa.array(of_unit))
        columns.append(pc.if_else(without, pa.scalar(None, taken.type), taken))
    return columns


def _notes(
    units: pa.Table,
    made: Encoded,
    texts: list[str],
    place: Ints,
    reasons: Mapping[int, str],
    of_unit: Ints,
    embedded: int,
) -> Notes:
    failed = {int(place[text]): failure for text, failure in made.failed.items()}
    again = {int(place[text]): content_id(texts[text]) for text, failure in made.failed.items() if failure.passes}
    cut_of = {int(place[text]): lengths for text, lengths in made.cut.items() if int(place[text]) not in reasons}
    rejected, cut = _of_texts(of_unit, reasons), _of_texts(of_unit, cut_of)
    details = [failed[text].detail if text in failed else "" for text in of_unit[rejected].tolist()]
    waiting = _of_texts(of_unit, again)
    unfinished: dict[str, set[str]] = {}
    names = units["conversation_id"].take(pa.array(waiting)).to_pylist()
    for name, text in zip(names, of_unit[waiting].tolist(), strict=True):
        unfinished.setdefault(name, set()).add(again[text])
    return Notes(
        list(zip(_ids(units, rejected), [reasons[text] for text in of_unit[rejected].tolist()], strict=True)),
        [f": {detail}" if detail else "" for detail in details],
        [(unit_id, *cut_of[text]) for unit_id, text in zip(_ids(units, cut), of_unit[cut].tolist(), strict=True)],
        {name: tuple(sorted(found)) for name, found in sorted(unfinished.items())},
        len(texts),
        embedded,
    )


def _of_texts(of_unit: Ints, texts: Collection[int]) -> Ints:
    """The units that have one of some texts."""
    return np.flatnonzero(np.isin(of_unit, list(texts))) if texts else np.empty(0, np.int64)


def _ids(units: pa.Table, rows: Ints) -> list[str]:
    ids: list[str] = units["unit_id"].take(pa.array(rows)).to_pylist()
    return ids
