"""Static vectors: wordllama's, whatever the batch."""

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wordllama
from hypothesis import given
from hypothesis import strategies as st

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.embed.catalogue import load
from memlake.transforms.embed.static import load_static
from memlake.transforms.text import word_tokens

TEXTS = st.lists(
    st.one_of(st.text(), st.sampled_from(["I moved to Oslo", "我搬到了奥斯陆", "  ", "a </s> b"])), max_size=6
)


@pytest.fixture(scope="module")
def stock() -> Any:
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load("l2_supercat", cache_dir=folder, dim=256, disable_download=True)


@given(texts=TEXTS)
def test_vectors_are_wordllamas(texts: list[str], stock: Any) -> None:
    texts = [text for text in texts if text]
    vectors = load("static").embed(texts)
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    if texts:
        np.testing.assert_allclose(vectors, stock.embed(texts, norm=True), rtol=0, atol=1e-6)


@given(texts=TEXTS, data=st.data())
def test_equal_texts_give_bit_equal_rows_whatever_the_batch(texts: list[str], data: st.DataObject) -> None:
    embedder = load("static")
    alone = [embedder.embed([text])[0] for text in texts]
    order = data.draw(st.permutations(range(len(texts)))) * 2
    together = embedder.embed([texts[number] for number in order])
    for row, number in zip(together, order, strict=True):
        assert row.tobytes() == alone[number].tobytes()


def test_a_text_longer_than_a_block_is_summed_whole(stock: Any) -> None:
    texts = ["one two three " * 2000, "x" * 20_000, "短い。" * 3000]
    np.testing.assert_allclose(load("static").embed(texts), stock.embed(texts, norm=True), rtol=0, atol=1e-6)


def test_a_text_without_tokens_gives_a_zero_vector() -> None:
    assert not load("static").embed([""]).any()


def test_vectors_have_length_one_as_the_card_says() -> None:
    embedder = load("static")
    assert embedder.card.normalised
    np.testing.assert_allclose(np.linalg.norm(embedder.embed(["a", "b c"]), axis=1), 1, atol=1e-6)


def test_loading_opens_no_connection_and_gives_one_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    first, second = load_static().card, load_static().card
    assert first == second
    assert (first.embedder, first.dimension) == ("static", 256)
    assert first.revision.startswith("1-")


def test_a_missing_wheel_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_tokens, "find_spec", lambda _: None)
    with pytest.raises(NotFoundError, match="l2_supercat") as missing:
        load_static()
    assert "pip install" in missing.value.hint
