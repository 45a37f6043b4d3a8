"""Words of text that is not English: scripts written without spaces are cut into overlapping pairs of characters.

Pairs are what search engines take for Chinese, Japanese and Thai where no dictionary is at hand (Lucene's CJKAnalyzer); a
single character between other signs is a word of its own. Punctuation of any script ends a word.
"""

from functools import lru_cache

import regex

_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
# The prolonged sound mark and the like belong to no script and stand inside words.
_PIECE = regex.compile(
    rf"(?P<run>{_UNSPACED}[{_UNSPACED[1:-1]}\u30fc\u3005\p{{M}}]*)|(?:(?!{_UNSPACED})[\p{{L}}\p{{M}}\p{{N}}\p{{S}}_])+"
)


@lru_cache(maxsize=1 << 16)
def pieces(word: str) -> tuple[str, ...]:
    """What a stretch without spaces falls into; one of ASCII letters stays as it is.

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
