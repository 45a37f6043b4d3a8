"""Content tokens: the words of a text that an answer is checked by, defined once for every metric.

Lower-case; drop the words a, an, the; every ASCII punctuation mark becomes a space; split on white space; Snowball
English stem; drop the stop list, stemmed alike. Articles go before punctuation, so `the` also goes from `the’s`, whose
curly apostrophe is no ASCII mark, and stays in `_the_`, which is one word while its underscores stand.
"""

import re
import string
from array import array
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa
import regex
import Stemmer

from memlake.schemas.table import STRINGS
from memlake.transforms.base.errors import UsageError

# 'other' is any language that is not English: its stemmer is the identity, and where it writes no spaces pairs of characters
# are its words (see `pieces`).
Language = Literal["english", "other"]

# \b(?:a|an|the)\b, written so that each branch starts with a letter: the engine then skips from one to the next.
_ARTICLE = re.compile(r"(?:a(?<!\wa)n?|t(?<!\wt)he)\b")
_PUNCTUATION = str.maketrans(string.punctuation, " " * len(string.punctuation))
_STOP_LIST = (
    "i you he she it we they of to in on at for and or is are was were be been with her his their from by as that this"
)
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
# The prolonged sound mark and the like belong to no script and stand inside words.
_PIECE = regex.compile(
    rf"(?P<run>{_UNSPACED}[{_UNSPACED[1:-1]}\u30fc\u3005\p{{M}}]*)|(?:(?!{_UNSPACED})[\p{{L}}\p{{M}}\p{{N}}\p{{S}}_])+"
)


class _Vocabulary(dict[str, int]):
    """Word to the number of its stem, -1 for a stop word; stems a word when it first meets it."""

    def __init__(self, stem: Callable[[str], str]) -> None:
        super().__init__()
        self.stem = stem
        self.stop = frozenset(map(stem, _STOP_LIST.split()))
        self.numbers: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        stem = self.stem(word)
        number = -1 if stem in self.stop else self.numbers.setdefault(stem, len(self.numbers))
        self[word] = number
        return number


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    if language == "english":
        # Its own cache (10,000 words) would keep each word twice: the vocabulary already stems a word once.
        return Stemmer.Stemmer("english", 0).stemWord
    if language == "other":
        return str
    raise UsageError(
        f"language={language!r} has no content tokens: allowed are 'english' (Snowball stems) and 'other' (no stemming)",
        hint="declare language='other' in the cell for text that is not English",
    )


def _words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower()).translate(_PUNCTUATION).split()


def _other_words(text: str) -> list[str]:
    return [piece for word in _words(text) for piece in pieces(word)]


def content_tokens(text: str, language: Language = "english") -> list[str]:
    """Content tokens of one text, in order and with repeats.

    Raises:
        UsageError: the language is neither 'english' nor 'other'.
    """
    return content_tokens_of([text], language=language)[0].as_py()


def content_tokens_of(
    texts: Sequence[str | None] | pa.StringArray | pa.ChunkedArray,
    *,
    language: Language = "english",
    distinct: bool = False,
) -> pa.ListArray:
    """Content tokens of many texts, one list a text (null for a null text); each distinct word is stemmed once.

    Args:
        distinct: each token once, in code point order, instead of in text order with repeats.

    Raises:
        UsageError: the language is neither 'english' nor 'other'.
    """
    vocabulary = _Vocabulary(_stemmer(language))
    words = _words if language == "english" else _other_words
    column = texts.to_pylist() if isinstance(texts, pa.Array | pa.ChunkedArray) else texts
    # Flat from the start: a list a text kept alive would make the garbage collector walk millions of words.
    numbers, ends = array("q"), array("q", [0])
    for text in column:
        numbers.extend(map(vocabulary.__getitem__, words(text) if text is not None else ()))
        ends.append(len(numbers))
    tokens = np.frombuffer(numbers, np.int64)
    rows = np.repeat(np.arange(len(column)), np.diff(ends))
    rows, tokens = rows[tokens >= 0], tokens[tokens >= 0]
    stems = pa.array(vocabulary.numbers, pa.string())
    if distinct:
        order = np.argsort(np.array(list(vocabulary.numbers), dtype=object), kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        pairs = np.sort(rows * max(len(order), 1) + rank[tokens])
        rows, tokens = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], max(len(order), 1))
        tokens = order[tokens]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(column)))])
    missing = pa.array([text is None for text in column], pa.bool_())
    values = stems.take(pa.array(tokens, pa.int64()))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=STRINGS, mask=missing)


@lru_cache(maxsize=1 << 16)
def pieces(word: str) -> tuple[str, ...]:
    """What a stretch without spaces falls into; one of ASCII letters stays as it is.

    Scripts written without spaces are cut into overlapping pairs of characters, which is what search engines take for
    Chinese, Japanese and Thai where no dictionary is at hand (Lucene's CJKAnalyzer); a single character between other
    signs is a word of its own. Punctuation of any script ends a word.

    >>> pieces("3人去北京。")
    ('3', '人去', '去北', '北京')
    """
    if word.isascii():
        return (word,)
    found: list[str] = []
    for match in _PIECE.finditer(word):
        run = match["run"]
        if run is None or len(run) == 1:
            found.append(match[0])
        else:
            found += [run[place : place + 2] for place in range(len(run) - 1)]
    return tuple(found)
