"""What a text costs in a context: tokenisers by name, so that a budget always says what it counts."""

from collections.abc import Callable
from functools import cache, partial
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.arrays import Ints
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.text.token_counts import find_counter
from memlake.transforms.text.word_tokens import load_words

Tokeniser = Callable[[pa.Array | pa.ChunkedArray], Ints]
# A tokeniser remembers words as it meets them: two threads at once would spoil each other's.
_counting = Lock()
_llama2 = cache(load_words)


def chars4(texts: pa.Array | pa.ChunkedArray) -> Ints:
    """floor(code points / 4) + 1 for each text: model-free, and close to what common tokenisers count in English."""
    lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths // 4 + 1


def llama2(texts: pa.Array | pa.ChunkedArray) -> Ints:
    """Tokens of Llama 2, from the vocabulary in wordllama's wheel, without special tokens.

    Raises:
        NotFoundError: wordllama is not installed.
    """
    with _counting:
        words = _llama2()
        return np.fromiter((len(words.of(text)) for text in texts.to_pylist()), np.int64, len(texts))


def openai(vocabulary: str, texts: pa.Array | pa.ChunkedArray) -> Ints:
    """Tokens of OpenAI's models, where tiktoken and this vocabulary are on the disk; nothing is fetched.

    Raises:
        NotFoundError: they are not.
    """
    counter = find_counter()
    if counter.name != f"tiktoken {vocabulary}":
        raise NotFoundError(
            f"tokeniser={vocabulary!r} is not on this disk: here it would be {counter.name}",
            hint=f'python -c \'import tiktoken; tiktoken.get_encoding("{vocabulary}")\', or tokeniser = "llama2"',
        )
    return counter.count(texts.to_pylist())


TOKENISERS: dict[str, Tokeniser] = {
    "chars4": chars4,
    "llama2": llama2,
    "o200k_base": partial(openai, "o200k_base"),
    "cl100k_base": partial(openai, "cl100k_base"),
}


def costs(tokeniser: str, texts: pa.Array | pa.ChunkedArray) -> Ints:
    """Cost of each text under the named tokeniser, shape (n,), at least 1 each.

    Raises:
        NotFoundError: no tokeniser has this name, or it is not here.
    """
    return np.maximum(find_tokeniser(tokeniser)(texts), 1)


def find_tokeniser(tokeniser: str) -> Tokeniser:
    """The tokeniser of this name.

    Raises:
        NotFoundError: no tokeniser has this name.
    """
    if tokeniser not in TOKENISERS:
        raise NotFoundError(
            f"tokeniser={tokeniser!r} does not exist: allowed are {', '.join(sorted(TOKENISERS))}",
            hint="name one of these in the study",
        )
    return TOKENISERS[tokeniser]
