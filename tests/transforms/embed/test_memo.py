"""A text that comes again in another batch: embedded once, given back whole, within bounds."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memlake.transforms.embed import memo as memos
from memlake.transforms.embed.embedder import EmbedderCard, Encoded, Failure, ragged
from memlake.transforms.embed.memo import Memo


class Encoder:
    """Outputs that follow from the text; asked texts are noted, some fail, long ones are cut."""

    def __init__(self, *, rich: bool = True) -> None:
        self.card = EmbedderCard("stub", "stub", "1", 2, normalised=False, sparse=rich, multi=3 if rich else 0)
        self.asked: list[str] = []

    def embed(self, texts):
        return self.encode(texts).dense

    def encode(self, texts: Sequence[str], *, questions: bool = False) -> Encoded:  # noqa: ARG002
        self.asked += texts
        dense = np.array([[len(text), 1] for text in texts], np.float32).reshape(len(texts), 2)
        if not self.card.sparse:
            return Encoded(dense)
        ids = [np.unique([ord(sign) for sign in text]).astype(np.int32) for text in texts]
        sparse = [(signs, signs.astype(np.float32) / 100) for signs in ids]
        multi = [(np.full((len(text), 3), len(text), np.float32),) for text in texts]
        return Encoded(
            dense,
            ragged(sparse, (np.empty(0, np.int32), np.empty(0, np.float32))),
            ragged(multi, (np.empty((0, 3), np.float32),)),
            {place: (5, len(text)) for place, text in enumerate(texts) if len(text) > 5},
            {place: Failure("refused") for place, text in enumerate(texts) if text == "bad"},
        )


def same(made: Encoded, expected: Encoded) -> None:
    assert made.cut == expected.cut
    assert made.failed == expected.failed
    known = [place for place in range(len(made.dense)) if place not in made.failed]
    assert made.dense[known].tobytes() == expected.dense[known].tobytes()
    for mine, theirs in ((made.sparse, expected.sparse), (made.multi, expected.multi)):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.offsets.tolist() == theirs.offsets.tolist()
            for left, right in zip(mine.values, theirs.values, strict=True):
                assert left.dtype == right.dtype
                assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("rich", [True, False])
def test_outputs_are_the_same_whether_made_or_remembered(rich):
    memo, encoder = Memo(), Encoder(rich=rich)
    rng = np.random.default_rng(3)
    pool = ["", "a", "bb", "abcdefg", "日本語", "{x}", "longer than five", "zz", *(["bad"] if rich else [])]
    for _ in range(30):
        texts = list(rng.permutation(pool)[: rng.integers(0, len(pool) + 1)])
        made, _ = memo.encode(encoder, texts)
        same(made, Encoder(rich=rich).encode(texts))
    assert sorted(text for text in encoder.asked if text != "bad") == sorted(set(pool) - {"bad"})


def test_only_what_is_new_is_asked_for_and_counted():
    memo, encoder = Memo(), Encoder()
    assert memo.encode(encoder, ["a", "b"])[1] == 2
    assert memo.encode(encoder, ["b", "c", "a"])[1] == 1
    assert encoder.asked == ["a", "b", "c"]


def test_a_text_that_failed_is_asked_again():
    memo, encoder = Memo(), Encoder()
    for _ in range(2):
        assert memo.encode(encoder, ["bad", "a"])[0].failed == {0: Failure("refused")}
    assert encoder.asked.count("bad") == 2


def test_another_embedder_gets_nothing_of_what_the_first_made():
    memo = Memo()
    memo.encode(Encoder(), ["a"])
    second = Encoder()
    assert memo.encode(second, ["a"])[1] == 1


def test_what_is_remembered_is_bounded_and_the_oldest_goes_first(monkeypatch):
    monkeypatch.setattr(memos, "_PAGE_BYTES", 1)
    memo, encoder = Memo(20 * 300), Encoder(rich=False)
    for number in range(100):
        memo.encode(encoder, [f"t{number:03}", "often"])
    assert memo._bytes <= 20 * 300
    assert memo._bytes == sum(page.size for page in memo._pages.values())
    assert memo._held.keys() == {text for page in memo._pages.values() for text in page.texts}
    assert encoder.asked.count("often") == 1
    assert memo.encode(encoder, ["t000"])[1] == 1
    assert memo.encode(encoder, ["t099"])[1] == 0


@pytest.mark.parametrize("page", [1, 900, 1 << 20])
def test_pages_of_any_size_give_the_same(monkeypatch, page):
    monkeypatch.setattr(memos, "_PAGE_BYTES", page)
    memo, encoder = Memo(8_000), Encoder()
    rng = np.random.default_rng(page)
    for _ in range(60):
        texts = [f"{number}" * (1 + number % 9) for number in rng.permutation(30)[: rng.integers(1, 20)]]
        made, _ = memo.encode(encoder, texts)
        same(made, Encoder().encode(texts))
        assert memo._bytes == sum(stored.size for stored in memo._pages.values()) <= 8_000
        assert all(held // memos._MOST_ROWS in memo._pages for held in memo._held.values())


def test_one_text_larger_than_a_share_does_not_drive_out_the_rest():
    memo, encoder = Memo(8_000), Encoder()
    memo.encode(encoder, ["a"])
    memo.encode(encoder, ["x" * 500])
    assert memo.encode(encoder, ["a"])[1] == 0


def test_what_is_remembered_does_not_keep_the_batch_it_came_from():
    memo, encoder = Memo(), Encoder()
    memo.encode(encoder, [f"t{number}" for number in range(50)])
    for page in memo._pages.values():
        assert page.made.dense.base is None
        assert all(array.base is None for part in (page.made.sparse, page.made.multi) for array in part.values)


def test_threads_at_once_get_what_is_theirs():
    memo, encoder = Memo(5_000), Encoder(rich=False)

    def ask(seed: int) -> bool:
        texts = [f"{number:0{1 + number}}" for number in np.random.default_rng(seed).permutation(12)]
        return memo.encode(encoder, texts)[0].dense[:, 0].tolist() == [len(text) for text in texts]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(200)))
