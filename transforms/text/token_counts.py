"""Count tokens before anything is paid, with a real tokeniser that is at hand; which one is always named.

What a provider bills is counted by its own tokeniser; another one is off by some percent, more for other scripts.
"""

import os
import tempfile
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from hashlib import sha1, sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from memlake.transforms.base.arrays import Ints
from memlake.transforms.text.word_tokens import load_words

# The vocabularies of OpenAI's models, newest first, by the address under which tiktoken keeps them, and their sha256.
_VOCABULARIES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A tokeniser that counts.

    Attributes:
        name: which one, for people.
        of: tokens of one text, without special tokens.
    """

    name: str
    of: Callable[[str], int]

    def count(self, texts: Sequence[str]) -> Ints:
        """Tokens of each text, of shape (len(texts),)."""
        return np.fromiter(map(self.of, texts), np.int64, len(texts))


def find_counter() -> TokenCounter:
    """OpenAI's tokeniser where tiktoken and its vocabulary are on this disk, else Llama 2's from wordllama's wheel.

    Opens no connection: tiktoken fetches what it does not find, so it is not asked then.

    Raises:
        NotFoundError: there is neither.
    """
    for name, digest in _VOCABULARIES.items():
        if find_spec("tiktoken") is not None and _is_kept(name, digest):
            import tiktoken

            encode = tiktoken.get_encoding(name).encode_ordinary
            return TokenCounter(f"tiktoken {name}", partial(_length, encode))
    return TokenCounter("llama-2 (wordllama)", partial(_length, load_words().of))


def _length(encode: Callable[[str], Sized], text: str) -> int:
    return len(encode(text.encode("utf-8", "replace").decode()))  # no tokeniser takes half a surrogate pair


def _is_kept(name: str, digest: str) -> bool:
    """Whether a vocabulary lies, whole, where tiktoken looks before it fetches."""
    named = [os.environ[key] for key in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR") if key in os.environ]
    folder = named[0] if named else str(Path(tempfile.gettempdir()) / "data-gym-cache")
    if not folder:
        return False  # its word for keeping nothing
    key = sha1(_ADDRESS.format(name=name).encode(), usedforsecurity=False).hexdigest()
    try:
        return sha256((Path(folder) / key).read_bytes()).hexdigest() == digest
    except OSError:
        return False
