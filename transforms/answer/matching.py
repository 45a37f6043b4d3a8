"""Verdicts without a model: every word of the gold answer is there, or the answer is the gold answer."""

from collections.abc import Iterable, Sequence

from memlake.transforms.answer.abstained import abstains
from memlake.transforms.text.content_tokens import Language, content_tokens_of
from memlake.transforms.text.squad import squad_normalised

Verdict = tuple[bool | None, str | None]


class Tokens(dict[str, frozenset[str]]):
    """Distinct content tokens of texts, worked out once for all of them."""

    def __init__(self, texts: Iterable[str], language: Language) -> None:
        distinct = list(dict.fromkeys(texts))
        lists = content_tokens_of(distinct, language=language, distinct=True).to_pylist()
        super().__init__(zip(distinct, map(frozenset, lists), strict=True))


def matches(said: str, golds: Sequence[str], tokens: Tokens) -> Verdict:
    """Whether every content token of an accepted answer is among those of what was said; or None and why not."""
    accepted = [tokens[gold] for gold in golds]
    if not any(accepted):
        return None, "no_content_tokens"
    return any(answer and answer <= tokens[said] for answer in accepted) and not _dodges(said, golds), None


def is_exactly(said: str, golds: Sequence[str]) -> Verdict:
    """Whether what was said is an accepted answer, as SQuAD's evaluation compares them; or None and why not."""
    accepted = {squad_normalised(gold) for gold in golds} - {""}
    if not accepted:
        return None, "no_content_tokens"
    return squad_normalised(said) in accepted, None


def _dodges(said: str, golds: Sequence[str]) -> bool:
    """It gives no answer; where 'no' is the right one, 'no information available' holds its every token."""
    return abstains(said) and not any(map(abstains, golds))
