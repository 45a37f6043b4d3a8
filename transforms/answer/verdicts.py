"""A judge's verdict out of its reply: by anchors, since 'INCORRECT' contains 'CORRECT' and 'yesterday' contains 'yes'.

A verdict is the first word of the reply, or the word after 'verdict:' at the start of a line. The published parsers look for
'CORRECT', or for 'yes', anywhere; here such a reply has no verdict, which is a judge's error and counted apart.
"""

import re
from typing import Literal

Words = Literal["correct", "yes"]
UNPARSABLE = "unparsable_verdict"

_RIGHT: dict[Words, tuple[str, str]] = {"correct": ("correct", "incorrect"), "yes": ("yes", "no")}
# A word ends where it ends: at a letter more, a digit or an apostrophe it is another one.
_FIRST = re.compile(r"[\W\d_]*([^\W\d_]+)(?![\w’'-])")
_NAMED = re.compile(r"^[^\w\n]*verdict[^\w\n]*[:=][^\w\n]*([^\W\d_]+)(?![\w’'-])", re.IGNORECASE | re.MULTILINE)
# 'CORRECT or INCORRECT', 'yes/no', and a comma where nothing follows: 'No, yes would be wrong' is a no.
_BOTH = re.compile(r"\s*(?:(?:[/|]|or\b|and\b)[\W_]*([^\W\d_]+)|,\s*([^\W\d_]+)\W*\Z)", re.IGNORECASE)


# 'Correct answer: ...' begins to quote, 'Correct?' asks.
_NO_VERDICT = re.compile(r"\s*(?:\?|(?:answer|response|option|reply)\b)", re.IGNORECASE)
# The other verdict: 'incorrect' anywhere behind a CORRECT, since nothing else says it; 'yes' or 'no' as a sentence of its own,
# since 'no' is also any sentence's word. What stands behind an INCORRECT ('the correct answer is ...') takes nothing back.
_TAKEN_BACK = {
    "correct": re.compile(r"\b(?:incorrect|not correct)\b", re.IGNORECASE),
    "yes": re.compile(r"(?:^|[.!?;:/|\n-])\s*no\s*(?:[.!;,\n]|\Z)", re.IGNORECASE),
    "no": re.compile(r"(?:^|[.!?;:/|\n-])\s*yes\s*(?:[.!;,\n]|\Z)", re.IGNORECASE),
}


def verdict(reply: str, words: Words, *, cut: bool = False) -> bool | None:
    """Whether a reply says correct, or yes; None where it says neither, or both.

    Args:
        words: 'correct' for CORRECT or INCORRECT, 'yes' for yes or no.
        cut: the reply was ended at the limit, so that a word at its very end may be the beginning of another.
    """
    right, wrong = _RIGHT[words]
    found = set()
    for match in (_FIRST.match(reply), *_NAMED.finditer(reply)):
        if match is None or (cut and match.end() == len(reply)):
            continue
        said = match[1].casefold()
        if said in (right, wrong) and _taken_back(said, reply[match.end() :]):
            return None
        other = _BOTH.match(reply, match.end())
        if said in (right, wrong):
            found |= {said, *({(other[1] or other[2]).casefold()} & {right, wrong} if other else ())}
    return found == {right} if len(found) == 1 else None


def _taken_back(said: str, rest: str) -> bool:
    """Whether what follows a verdict's word shows that it was none, or says the other one."""
    other = _TAKEN_BACK.get(said)
    return bool(_NO_VERDICT.match(rest) or (other and other.search(rest)))
