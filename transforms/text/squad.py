"""SQuAD's normalize_answer: how its evaluation, and everything that follows it, compares two answers."""

import re
import string
from functools import lru_cache

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


# Gold answers come again with every cell and budget.
@lru_cache(65_536)
def squad_normalised(text: str) -> str:
    """Lower case, without ASCII punctuation, without the words a, an, the, single blanks."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())
