"""Exact match, BLEU and ROUGE-L of an answer against one gold answer, each as its library defines it."""

from functools import lru_cache
from importlib.metadata import version
from typing import Any

from rapidfuzz.distance import LCSseq

from memlake.transforms.text.content_tokens import Language
from memlake.transforms.text.squad import squad_normalised

_KEPT_TEXTS = 65_536


def exact_match(said: str, gold: str) -> float:
    """1 when both are equal once normalised as SQuAD's evaluation does, else 0."""
    return float(squad_normalised(said) == squad_normalised(gold))


class Bleu:
    """Sentence BLEU of sacrebleu, 0 to 100, with its defaults for single sentences.

    English is cut into words by '13a'; other text into characters, since blanks may not part its words.

    Attributes:
        signature: sacrebleu's own, which says everything that decides the value.
    """

    def __init__(self, language: Language = "english") -> None:
        from sacrebleu.metrics.bleu import BLEU  # a tenth of a second, which only a run with answers should pay

        self._bleu: Any = BLEU(effective_order=True, tokenize="13a" if language == "english" else "char")
        self._bleu.sentence_score("", [""])  # the signature counts references of the last score
        self.signature = str(self._bleu.get_signature())

    def __call__(self, said: str, gold: str) -> float | None:
        """The BLEU of an answer; None for a gold answer without a word."""
        return float(self._bleu.sentence_score(said, [gold]).score) if gold.strip() else None


class RougeL:
    """F of ROUGE-L as rouge-score gives it, without a stemmer: the longest common subsequence of words.

    rouge-score cuts texts into words and takes no others than of a to z and 0 to 9. The subsequence is found by rapidfuzz,
    which gives the same length in a hundredth of the time.
    """

    def __init__(self) -> None:
        from rouge_score.tokenize import tokenize

        self._tokenize = tokenize
        self._numbers: dict[str, int] = {}
        self._words = lru_cache(_KEPT_TEXTS)(self._taken_apart)
        self.signature = f"rougeL|fmeasure|stemmer:no|version:{version('rouge-score')}"

    def __call__(self, said: str, gold: str) -> float | None:
        """The F of an answer; None for a gold answer in which rouge-score sees no word."""
        said_words, gold_words = self._words(said), self._words(gold)
        if not gold_words:
            return None
        shared = LCSseq.similarity(said_words, gold_words)
        if not shared:
            return 0.0
        precision, recall = shared / len(said_words), shared / len(gold_words)
        return 2 * precision * recall / (precision + recall)

    def _taken_apart(self, text: str) -> tuple[int, ...]:
        # Numbers, not words: rapidfuzz compares hashes, and those of words differ between processes.
        return tuple(self._numbers.setdefault(word, len(self._numbers)) for word in self._tokenize(text, None))
