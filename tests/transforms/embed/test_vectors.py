"""Vectors of units: what lands, what does not, and why."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from memlake.schemas.units import UNITS
from memlake.schemas.vectors import vectors_schema
from memlake.transforms.base.errors import EmbedderMismatchError
from memlake.transforms.embed.embedder import EmbedderCard
from memlake.transforms.embed.vectors import check_card, embed_units

CARD = EmbedderCard("stub", "stub-model", "7", 3, normalised=False)
BAD = {
    "nan": [np.nan, 1, 1],
    "inf": [1, np.inf, 1],
    "-inf": [-np.inf, 0, 0],
    "zero": [0, 0, 0],
    "both": [np.nan, np.inf, 0],
}


class Stub:
    """Counts what it is asked for; some texts come out broken."""

    def __init__(self, *, card: EmbedderCard = CARD, width: int = 3, missing: int = 0) -> None:
        self.card, self.width, self.missing = card, width, missing
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked += texts
        rows = [BAD.get(text, [len(text), 1, 2])[: self.width] for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), self.width)[self.missing :]


def units_of(*texts: str) -> pa.Table:
    return UNITS.rows(
        [
            {
                "corpus": "c", "conversation_id": f"conv-{number % 2}", "representation": "chunks",
                "unit_id": f"u{number}", "ordinal": number, "kind": "chunk", "key_text": text, "show_text": text,
                "header_chars": 0,
            }
            for number, text in enumerate(texts)
        ]
    )  # fmt: skip


def test_vectors_stand_beside_their_units_with_what_made_them() -> None:
    table, rejected = embed_units(units_of("one", "three"), Stub())
    assert table.schema.equals(
        vectors_schema(embedder="stub", model="stub-model", revision="7", dimension=3, normalised=False),
        check_metadata=True,
    )
    assert table.to_pylist() == [
        {"unit_id": "u0", "corpus": "c", "conversation_id": "conv-0", "key_text": "one", "vector": [3, 1, 2]},
        {"unit_id": "u1", "corpus": "c", "conversation_id": "conv-1", "key_text": "three", "vector": [5, 1, 2]},
    ]
    assert (rejected.rejected, rejected.cut) == ([], [])


def test_equal_texts_are_embedded_once_a_batch() -> None:
    stub = Stub()
    table, _ = embed_units(units_of("one", "two", "one", "one"), stub)
    assert stub.asked == ["one", "two"]
    assert table["vector"].to_pylist() == [[3, 1, 2]] * 4


def test_a_bad_vector_is_null_with_its_reason_and_the_rest_lands() -> None:
    table, rejected = embed_units(units_of("nan", "good", "inf", "zero", "both", "-inf", "nan"), Stub())
    assert [vector is None for vector in table["vector"].to_pylist()] == [True, False, True, True, True, True, True]
    assert rejected.rejected == [
        ("u0", "bad_vector_nan"),
        ("u2", "bad_vector_inf"),
        ("u3", "bad_vector_zero"),
        ("u4", "bad_vector_nan"),
        ("u5", "bad_vector_inf"),
        ("u6", "bad_vector_nan"),
    ]
    assert table.num_rows == 7
    assert np.isfinite(table["vector"].combine_chunks().values.to_numpy()).all()


def test_a_blank_text_is_not_embedded() -> None:
    stub = Stub()
    table, rejected = embed_units(units_of("", " \u00a0\n", "one"), stub)
    assert stub.asked == ["one"]
    assert rejected.rejected == [("u0", "blank_text"), ("u1", "blank_text")]
    assert table["vector"].to_pylist() == [None, None, [3, 1, 2]]


@pytest.mark.parametrize("stub", [Stub(width=2), Stub(missing=1)])
def test_vectors_of_another_shape_are_refused(stub: Stub) -> None:
    with pytest.raises(EmbedderMismatchError, match=r"expected \(2, 3\)"):
        embed_units(units_of("one", "two"), stub)


def test_no_units_give_an_empty_table_with_its_schema() -> None:
    table, rejected = embed_units(units_of(), Stub())
    assert (table.num_rows, rejected.rejected) == (0, [])
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 3)


def test_units_in_several_chunks_and_slices_keep_their_order() -> None:
    units = pa.concat_tables([units_of("x", "one", "three").slice(1), units_of("three")])
    table, _ = embed_units(units, Stub())
    assert table["vector"].to_pylist() == [[3, 1, 2], [5, 1, 2], [5, 1, 2]]


def test_another_maker_is_refused_with_the_command_that_re_embeds() -> None:
    stored = embed_units(units_of("one"), Stub())[0].schema.metadata
    check_card(stored, CARD, "unused")
    hint = "memlake embed --embedder stub --corpus c"
    with pytest.raises(EmbedderMismatchError, match="revision='7' stored, '8' asked for") as refused:
        check_card(stored, EmbedderCard("stub", "stub-model", "8", 3, normalised=False), hint)
    assert refused.value.hint == hint
    with pytest.raises(EmbedderMismatchError, match="model=none stored"):
        check_card(None, CARD, hint)
