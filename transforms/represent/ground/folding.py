"""A text with what may differ in a quote folded away, and where each character of it came from.

Folded are letter case, compatibility forms (NFKC), runs of white space, kinds of quotation marks and dashes, and signs
that show nothing (zero-width spaces, marks of direction). Raised digits and fractions stay: 10⁵ is not 105.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_SIGNS = (
    dict.fromkeys(map(ord, "‘’‚‛`´′"), "'")
    | dict.fromkeys(map(ord, "“”„‟″«»"), '"')
    | dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
)
_SPACES = re.compile(r"\s+")
_UNEVEN = re.compile(r"\A\s|\s\Z|\s\s|[^\S ]")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text.

    Attributes:
        text: folded.
        start, end: of each of its characters, the span in the source that it came from; in code points.
    """

    text: str
    start: Sequence[int]
    end: Sequence[int]

    def span(self, at: int, past: int) -> tuple[int, int]:
        """The source's span of a stretch of the folded text."""
        return self.start[at], self.end[past - 1]


def fold(source: str) -> Folded:
    """Fold a text: ' It’s  Ａ ' becomes "it's a"; white space at both ends goes."""
    if source.isascii() and not _UNEVEN.search(source):
        return Folded(source.translate(_SIGNS).lower(), range(len(source)), range(1, len(source) + 1))
    text: list[str] = []
    start: list[int] = []
    end: list[int] = []
    for first, past in _clusters(source):
        for sign in _folded(source[first:past]):
            if sign == " " and (not text or text[-1] == " "):
                if text:
                    end[-1] = past
                continue
            text.append(sign)
            start.append(first)
            end.append(past)
    if text and text[-1] == " ":
        del text[-1], start[-1], end[-1]
    return Folded("".join(text), start, end)


def shows_nothing(text: str) -> bool:
    """Whether a text is blank to the eye: white space, controls and signs without a shape."""
    return all(sign.isspace() or unicodedata.category(sign) in ("Cc", "Cf") for sign in text)


@lru_cache(maxsize=1 << 14)
def _folded(cluster: str) -> str:
    if cluster.isspace():
        return " "
    if unicodedata.category(cluster[0]) == "No":
        return cluster
    folded = unicodedata.normalize("NFKC", cluster.translate(_SIGNS)).translate(_SIGNS).casefold()
    # Folding case may leave what NFKC would compose: once more, as Unicode's caseless matching says.
    folded = _SPACES.sub(" ", unicodedata.normalize("NFKC", folded))
    return "".join(sign for sign in folded if unicodedata.category(sign) != "Cf")


def _clusters(source: str) -> list[tuple[int, int]]:
    """Spans of characters that normalisation may put together: a letter and the marks on it, the parts of a syllable."""
    if source.isascii():
        return [(at, at + 1) for at in range(len(source))]
    starts = [at for at, sign in enumerate(source) if not at or not _joins(sign)]
    return list(zip(starts, [*starts[1:], len(source)], strict=True))


def _joins(sign: str) -> bool:
    # Hangul vowels and finals, half-width voicing marks; the rest are marks. None stands before the first accent.
    if sign < "\u0300":
        return False
    return "\u1160" <= sign <= "\u11ff" or sign in "\uff9e\uff9f" or unicodedata.category(sign)[0] == "M"
