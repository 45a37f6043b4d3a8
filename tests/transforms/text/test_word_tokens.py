"""Token ids a word at a time against the tokeniser itself."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE

from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.text import word_tokens as words
from memlake.transforms.text.word_tokens import WordTokens

SIGNS = [
    "a",
    "the ",
    "Berlin",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "▁",
    "<s>",
    "</s>",
    "<unk>",
    "<",
    "é",
    "e\u0301",
    "日本",
    "👨‍👩‍👧",
    "\u00a0",
    ".",
]
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(SIGNS), max_size=20).map("".join))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    return Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))


@pytest.fixture(scope="module")
def known(tokenizer: Any) -> WordTokens:
    return WordTokens(tokenizer)


@given(text=TEXTS)
def test_ids_are_the_tokenisers_own(text: str, tokenizer: Any, known: WordTokens) -> None:
    assert known.of(text) == tokenizer.encode(text, add_special_tokens=False).ids


def test_ids_are_the_same_when_words_are_known(tokenizer: Any) -> None:
    tokens = WordTokens(tokenizer)
    first = tokens.of("the cat  sat\n the cat ")
    assert tokens.of("the cat  sat\n the cat ") == first
    assert " cat" in tokens


def test_what_is_remembered_is_bounded(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_MOST_WORDS", 10)
    tokens = WordTokens(tokenizer)
    text = " ".join(f"w{number}" for number in range(100)) + " " + "x" * 1000
    assert tokens.of(text) == tokenizer.encode(text, add_special_tokens=False).ids
    assert len(tokens) <= 10
    assert max(map(len, tokens)) <= 64


def test_a_tokeniser_that_joins_words_is_refused() -> None:
    joins = Tokenizer(BPE(vocab={"a": 0, "▁": 1, "a▁": 2}, merges=[("a", "▁")]))
    with pytest.raises(MemlakeError, match="joins words"):
        WordTokens(joins)
