"""Where in a text its content words stand, so that a page can mark those that a memory lost."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memlake.transforms.text.content_tokens import Language, content_tokens_of

_PIECE = re.compile(r"\S+")
# What content tokens are split at within a piece: ASCII punctuation.
_PART = re.compile(r"[^!-/:-@\[-`{-~]+")

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Word:
    """Code points [start, end) of a text, and the content tokens that they give."""

    start: int
    end: int
    tokens: tuple[str, ...]


def words_of(texts: Sequence[str], *, language: Language = "english") -> list[list[Word]]:
    """The content words of each text in order; their tokens, joined, are the text's content tokens.

    White space parts words for every metric, so a piece between white space has the same tokens alone as in its text. Within
    a piece, words are told apart at punctuation where that changes no token, else the piece stands as one word.
    """
    spans = [[match.span() for match in _PIECE.finditer(text)] for text in texts]
    pieces = dict.fromkeys(text[start:end] for text, found in zip(texts, spans, strict=True) for start, end in found)
    parts = dict.fromkeys(part for piece in pieces for part in _PART.findall(piece))
    known = _tokens([*pieces, *parts], language)
    inside = {piece: _inside(piece, known) for piece in pieces}
    return [
        [
            Word(start + word.start, start + word.end, word.tokens)
            for start, end in found
            for word in inside[text[start:end]]
        ]
        for text, found in zip(texts, spans, strict=True)
    ]


def ranges_without(words: Sequence[Word], kept: Collection[str]) -> list[Range]:
    """The ranges of the words of which a token is not among those kept."""
    return [(word.start, word.end) for word in words if any(token not in kept for token in word.tokens)]


def _tokens(texts: list[str], language: Language) -> dict[str, tuple[str, ...]]:
    return dict(zip(texts, map(tuple, content_tokens_of(texts, language=language).to_pylist()), strict=True))


def _inside(piece: str, known: dict[str, tuple[str, ...]]) -> list[Word]:
    words = [Word(*match.span(), known[match[0]]) for match in _PART.finditer(piece) if known[match[0]]]
    whole = known[piece]
    if tuple(token for word in words for token in word.tokens) == whole:
        return words
    return [Word(0, len(piece), whole)] if whole else []
