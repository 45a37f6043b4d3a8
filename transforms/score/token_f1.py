"""Token F1 of an answer: plain, and by the rules of LoCoMo's official scorer (task_eval/evaluation.py of its repository).

Text is lowered, ASCII punctuation is taken out without a blank in its place, the words a, an, the, and become blanks,
what stands between blanks is stemmed by the Porter stemmer of nltk. F1 is over multisets; it is 0 without a word in common.
Text that is not English is not stemmed.
"""

import string
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version

import regex

from memlake.transforms.text.content_tokens import Language

# The module of the official scorer, whose \b lets a combining mark belong to the word before it; `re` does not.
_ARTICLE = regex.compile(r"\b(a|an|the|and)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ABSTENTIONS = ("no information available", "not mentioned")
_KEPT_TEXTS = 65_536


class TokenF1:
    """Scores of answers against one gold answer each; every word is stemmed once, every text taken apart once.

    Attributes:
        signature: what decides the value: normalisation, stemmer and its version.
    """

    def __init__(self, language: Language = "english") -> None:
        self._stem = _porter() if language == "english" else str
        stemmer = f"nltk-porter|version:{version('nltk')}" if language == "english" else "none"
        self.signature = f"locomo|stem:{stemmer}"
        self._stems: dict[str, str] = {}
        # Gold answers and their parts come again with every cell and budget.
        self._bag = lru_cache(_KEPT_TEXTS)(self._taken_apart)

    def plain(self, said: str, gold: str) -> float:
        """F1 of two texts, whatever the category."""
        said_words, gold_words = self._bag(said), self._bag(gold)
        shared = (said_words & gold_words).total()
        if not shared:
            return 0.0
        precision, recall = shared / said_words.total(), shared / gold_words.total()
        return 2 * precision * recall / (precision + recall)

    def locomo(self, said: str, gold: str, category: str) -> float | None:
        """F1 by the rules of a category of LoCoMo, 1 to 4; None for any other, which the official scorer refuses.

        1: gold and answer are cut at commas, and the best F1 of each gold part is averaged; 3: the gold answer ends at its
        first semicolon; 2 and 4: plain.
        """
        if category == "1":
            parts, golds = said.split(","), gold.split(",")
            return sum(max(self.plain(part, gold_part) for part in parts) for gold_part in golds) / len(golds)
        if category == "3":
            return self.plain(said, gold.split(";")[0])
        return self.plain(said, gold) if category in ("2", "4") else None

    def _taken_apart(self, text: str) -> Counter[str]:
        bare = _ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION))
        return Counter(self._stemmed(word) for word in bare.split())

    def _stemmed(self, word: str) -> str:
        if word not in self._stems:
            self._stems[word] = self._stem(word)
        return self._stems[word]


def says_unanswerable(said: str) -> float:
    """LoCoMo's rule for category 5: 1 when the answer holds one of two phrases, else 0."""
    lowered = said.lower()
    return float(any(phrase in lowered for phrase in _ABSTENTIONS))


def _porter() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer  # a second, which only a run with answers should pay

    return PorterStemmer().stem
