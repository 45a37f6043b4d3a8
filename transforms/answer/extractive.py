"""The extractive reader: the best sentence of a context, by rule and without a model. A lower bound, and named as one.

Score of a sentence: BM25 (k1 1.5, b 0.75) of the question's distinct content tokens, with idf = ln(1 + (n - df + 0.5) /
(df + 0.5)), n, df and the mean length being those of the context's own distinct sentences: so an answer follows from its
context and its question alone, whatever is answered beside it. A sentence that asks answers nothing, so that it is taken
only where no other shares a content token with the question. Ties go to the first place. Where no sentence shares a
content token with the question it abstains. The date header of a unit belongs to no sentence. Of options it takes the one
with the largest share of its content tokens in the best sentence, then the one with more of them, then the one shown
first; where the best sentence shares nothing with any of them it abstains.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from memlake.transforms.answer.abstained import ABSTENTION
from memlake.transforms.answer.questions import AskedQuestion
from memlake.transforms.text.content_tokens import Language, content_tokens_of
from memlake.transforms.text.sentences import sentence_spans

_K1 = 1.5
_B = 0.75
# A caption stands in brackets too, and is text.
_HEADER = re.compile(r"\[(?!shares )[^\[\]\n]{1,80}\](?: |$)")
Tokens = dict[str, int]


def best_sentences(
    texts: Sequence[str], questions: Sequence[AskedQuestion], *, language: Language = "english"
) -> list[tuple[str, int | None]]:
    """For each context the best sentence, or ABSTENTION, and the option that it speaks for."""
    lines = {
        line: tuple(_sentences(line)) for line in dict.fromkeys(line for text in texts for line in text.split("\n"))
    }
    asked = dict.fromkeys(text for question in questions for text in (question.text, *question.options))
    counts = _counts([*(sentence for of_line in lines.values() for sentence in of_line), *asked], language)
    found = []
    for text, question in zip(texts, questions, strict=True):
        sentences = dict.fromkeys(sentence for line in text.split("\n") for sentence in lines[line])
        best = _best([(sentence, counts[sentence]) for sentence in sentences], counts[question.text])
        option = _option(counts[best], question, counts) if best is not None and question.options else None
        nothing = best is None or (bool(question.options) and option is None)
        found.append((ABSTENTION if nothing or best is None else best, option))
    return found


def _sentences(line: str) -> Iterable[str]:
    header = _HEADER.match(line)
    text = line[header.end() :] if header else line
    return (text[start:end] for start, end in sentence_spans(text))


def _counts(texts: Iterable[str], language: Language) -> dict[str, Tokens]:
    """How often each content token is in each text."""
    distinct = list(dict.fromkeys(texts))
    lists = content_tokens_of(distinct, language=language).to_pylist()
    return dict(zip(distinct, map(Counter, lists), strict=True))


def _best(sentences: Sequence[tuple[str, Tokens]], asked: Tokens) -> str | None:
    sharing = [(text, tokens) for text, tokens in sentences if not asked.keys().isdisjoint(tokens)]
    if not sharing:
        return None
    count = len(sentences)
    usual = sum(sum(tokens.values()) for _, tokens in sentences) / count
    weights = []
    for token in asked:
        found = sum(token in tokens for _, tokens in sharing)
        if found:
            weights.append((token, math.log(1 + (count - found + 0.5) / (found + 0.5))))

    def score(tokens: Tokens) -> float:
        norm = _K1 * (1 - _B + _B * sum(tokens.values()) / usual)
        return sum(idf * tokens[word] * (_K1 + 1) / (tokens[word] + norm) for word, idf in weights if word in tokens)

    # max keeps the first of equals.
    return max(sharing, key=lambda pair: (not _asks(pair[0]), score(pair[1])))[0]


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"'”’)] \t").endswith(("?", "？"))


def _option(best: Tokens, question: AskedQuestion, counts: dict[str, Tokens]) -> int | None:
    shared = []
    for place in question.order:
        tokens = counts[question.options[place]].keys()
        both = len(tokens & best.keys())
        shared.append((both / max(len(tokens), 1), both, place))
    most = max(shared, key=lambda share: share[:2])
    return most[2] if most[1] else None
