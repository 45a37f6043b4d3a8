"""What a quote may change of its source, which is folded away, and what it may not: words, numbers, negations.

Folded are letter case, compatibility forms (NFKC), runs of white space, kinds of quotation marks and dashes, and signs
that show nothing (zero-width spaces, marks of direction). Raised digits and fractions stay: 10⁵ is not 105.

'able to eat it' stands in 'unable to eat it', and '20 dollars' in '120 dollars': neither was said.
"""

import re
import unicodedata
from collections import Counter
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
# Written without spaces between words: a letter more or less is another word, so any place is a border.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HAN_NUMERALS = "〇零一二三四五六七八九十百千万萬亿億两兩"
_NUMBERS = re.compile(
    rf"(?<!\w)-(?=\d)|\d+|[{_HAN_NUMERALS}]+|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million"
    r"|billion|dozen|half|quarter|twice)s?\b"
)
_NEGATIONS = re.compile(
    r"\w+n't\b"
    # Without the apostrophe only those that are no other word.
    r"|\b(?:(?:are|could|did|does|do|had|has|have|is|must|need|should|was|were|would|ca)nt"
    r"|not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|hardly|barely"
    r"|nicht|nichts|nie|niemals|niemand|kein\w*|ohne|niet|geen|nooit|zonder|inte|ikke|ingen"
    r"|ne|pas|jamais|rien|aucune?|sans|nunca|jamás|nada|nadie|ning[uú]n\w*|sin|não|nem|sem|non|mai|niente|nessun\w*|senza"
    r"|не|нет|ни|никогда|ничего|никто|без|ні|немає|ніколи|nigdy|bez|değil|yok"
    r"|لا|ليس|لم|لن|بدون|לא|אין|בלי|नहीं|मत|बिना)\b"
    r"|\bn'(?=\w)|[不没沒未無无非勿莫]|ない|なかった|ません|않|못|없|아니"
)
_NEGATING = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "не", "ні")
_WORD = re.compile(r"[^\W_]+")
_JOINER = "\u200d"


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


def cuts_word(text: str, at: int) -> bool:
    """Whether a place lies within a word, a number (12|,000, -|5) or a character that marks make up (e|´)."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before == _JOINER or after == _JOINER or unicodedata.category(after)[0] == "M":
        return True
    if _cuts_number(text, at):
        return True
    return _in_word(before) and _in_word(after) and not (_UNSPACED.match(before) or _UNSPACED.match(after))


def same_facts(quote: str, source: str) -> bool:
    """Whether two folded texts that are nearly alike hold the same numbers and deny as much.

    One digit, one 'not' is little of a sentence and may be all of a fact.
    """
    if _NUMBERS.findall(quote) != _NUMBERS.findall(source):
        return False
    if len(_NEGATIONS.findall(quote)) != len(_NEGATIONS.findall(source)):
        return False
    ours, theirs = Counter(_WORD.findall(quote)), Counter(_WORD.findall(source))
    more, less = theirs - ours, ours - theirs
    return not (_denies(more, less) or _denies(less, more))


def _denies(words: Counter[str], others: Counter[str]) -> bool:
    return any(prefix + word in words for word in others for prefix in _NEGATING)


def _in_word(sign: str) -> bool:
    return sign.isalnum() or unicodedata.category(sign)[0] == "M"


def _cuts_number(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if before in _HAN_NUMERALS and after in _HAN_NUMERALS:
        return True
    if after.isdecimal():
        further = text[at - 2] if at > 1 else " "
        return (before in ".,/" and further.isdecimal()) or (before in "-−" and not _in_word(further))
    return before.isdecimal() and after in ".,/" and text[at + 1 : at + 2].isdecimal()
