"""Counting tokens before a call: with a real tokeniser, named, and never over the network."""

import sys
from hashlib import sha1
from importlib.util import find_spec
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from memlake.transforms.text import token_counts as tokens
from memlake.transforms.text.token_counts import find_counter


@pytest.fixture(autouse=True)
def no_vocabulary(monkeypatch, tmp_path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))


def test_without_a_vocabulary_on_disk_llama_2_counts_and_is_named():
    counter = find_counter()
    assert counter.name == "llama-2 (wordllama)"
    folder = find_spec("wordllama").submodule_search_locations[0]
    whole = Tokenizer.from_file(str(Path(folder) / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    texts = ["", "Hello, world", "Zażółć gęślą jaźń", "猫が好きです", "{x} <s> \n\n  tab\t", "a" * 10_000, "\u2028\x00"]
    assert counter.count(texts).tolist() == [len(whole.encode(text, add_special_tokens=False).ids) for text in texts]
    assert counter.count([]).shape == (0,)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        # Under these names tiktoken keeps them, as its users know who put them there by hand.
        ("o200k_base", "fb374d419588a4632f3f557e76b4b70aebbca790"),
        ("cl100k_base", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"),
    ],
)
def test_a_vocabulary_is_looked_for_where_tiktoken_keeps_it(tmp_path, name, file):
    vocabulary(tmp_path, name, b"")
    assert (tmp_path / file).exists()
    assert name in tokens._VOCABULARIES


def test_half_a_surrogate_pair_is_counted_as_something():
    assert find_counter().of("x \ud800 y") >= 3


# Stands where tiktoken would be, which may not be installed: only whether it is asked is tested.
STAND_IN = """
asked = []
class Encoding:
    encode_ordinary = staticmethod(str.split)
def get_encoding(name):
    asked.append(name)
    return Encoding()
"""


def vocabulary(folder, name, content):
    address = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
    (folder / sha1(address.encode()).hexdigest()).write_bytes(content)


def test_tiktoken_is_asked_only_for_a_vocabulary_that_lies_whole_where_it_looks(monkeypatch, tmp_path):
    (tmp_path / "tiktoken.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tiktoken", raising=False)
    assert find_counter().name.startswith("llama-2")
    vocabulary(tmp_path, "o200k_base", b"cut short")  # tiktoken would delete it and fetch another
    vocabulary(tmp_path, "cl100k_base", b"whole")
    assert find_counter().name.startswith("llama-2")
    assert "tiktoken" not in sys.modules
    monkeypatch.setitem(tokens._VOCABULARIES, "cl100k_base", tokens.sha256(b"whole").hexdigest())
    counter = find_counter()
    assert (counter.name, sys.modules["tiktoken"].asked) == ("tiktoken cl100k_base", ["cl100k_base"])
    assert counter.count(["a b c"]).tolist() == [3]
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # its word for keeping none
    assert find_counter().name.startswith("llama-2")
    monkeypatch.delitem(sys.modules, "tiktoken")
