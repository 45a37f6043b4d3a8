"""Where sentences end, by a rule without a dictionary.

A sentence ends after a run of . ! ? or … and the quotes and brackets that close with it, where white space follows; after
a run of 。 ！ ？ or ｡ with or without white space; and at a line break. A full stop after a single letter or a title (J.,
e.g., p.m., Dr., Mrs.) ends none. So 'at 5 p.m. Then' stays one sentence: the price of such a rule.
"""

import re
from itertools import pairwise

_CLOSERS = r"""["'”’»)\]}」』）】》]*"""
_INITIALS = "".join(rf"(?<!\b{title}\.)" for title in (r"\w", "Mr", "Mrs", "Ms", "Dr", "St", "vs"))
# What it was that ended the sentence is asked afterwards: a pattern that opens with a set is searched for fast.
_END = re.compile(
    r"[.!?…。！？｡\n\r\u0085\u2028\u2029]"
    rf"(?:(?<=[.!?…]){_INITIALS}[.!?…]*{_CLOSERS}(?=\s)"
    rf"|(?<=[。！？｡])[。！？｡.!?…]*{_CLOSERS}"
    r"|(?<=[\n\r\u0085\u2028\u2029]))"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of a text, in code points; between them and around them is white space only."""
    spans = []
    for start, end in pairwise([0, *(match.end() for match in _END.finditer(text)), len(text)]):
        piece = text[start:end]
        kept = piece.strip()
        if kept:
            left = start + len(piece) - len(piece.lstrip())
            spans.append((left, left + len(kept)))
    return spans
