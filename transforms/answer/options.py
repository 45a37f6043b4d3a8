"""Multiple choice: options are shown under letters, in an order of their own, and read back from the reply's letter.

A source may put the right option first, and models favour some places. So the order follows from the question's id: the
same for every cell, reader and run, and told to nobody.
"""

import re
import string
from collections.abc import Sequence

from memlake.transforms.base.ids import content_id

_MOST_LETTERS = len(string.ascii_uppercase)
# The letter stands at the start, behind no more than markup and 'the answer is', and is no word: 'A dog' names no option.
_LETTER = re.compile(
    r"[\W_]*(?:(?:the )?(?:correct |right |best )?(?:answer|option|choice)\b(?: is)?[\W_]*)?(?:option\b[\W_]*)?"
    r"([a-z]|\d{1,4})(?=[\W_]*\Z|[\"'*_]*[).:\]\n])",
    re.IGNORECASE,
)


def shown_order(corpus: str, question_id: str, count: int) -> list[int]:
    """Which option of the source stands at each place that is shown."""
    return sorted(range(count), key=lambda place: content_id("option", corpus, question_id, place))


def labels(count: int) -> list[str]:
    """What the options are called: letters, or numbers from 1 where the letters do not suffice."""
    if count <= _MOST_LETTERS:
        return list(string.ascii_uppercase[:count])
    return [str(number) for number in range(1, count + 1)]


def chosen(reply: str, options: Sequence[str], order: Sequence[int]) -> int | None:
    """The option, by its place in the source, that a reply names; None where it names none, or more than one.

    A reply names an option by its letter, or by its whole text and nothing else.
    """
    names = labels(len(order))
    said = _plain(reply)
    by_text = [place for place, option in enumerate(options) if said and _plain(option) == said]
    # Where an option is 'A', the letter is meant: that is what was asked for.
    if len(by_text) == 1 and said.upper() not in names:
        return by_text[0]
    found = _LETTER.match(reply)
    if found is None or found[1].upper() not in names:
        return None
    rest = reply[found.end() :]
    again = _LETTER.match(rest)
    if again is not None and again[1].upper() in names and again[1].upper() != found[1].upper():
        return None
    return order[names.index(found[1].upper())]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .\"'*`")
