"""Forms: which prompt a judge uses on a question, what it shows, and what its verdict means."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memlake.transforms.answer.spec import JudgeSpec
from memlake.transforms.answer.verdicts import Words

_STRICT = "judge-strict"
_ABSTENTION = "judge-abstention"
_GENERAL = "judge-longmemeval"
_TEMPORAL = "judge-longmemeval-temporal"
_UPDATE = "judge-longmemeval-update"
_PREFERENCE = "judge-longmemeval-preference"
_UNANSWERABLE = "judge-longmemeval-abstention"
# By LongMemEval's question types, as its evaluate_qa.py has them; in words of our own, and with what is judged as data.
_BY_CATEGORY = {
    "single-session-user": _GENERAL,
    "single-session-assistant": _GENERAL,
    "multi-session": _GENERAL,
    "temporal-reasoning": _TEMPORAL,
    "knowledge-update": _UPDATE,
    "single-session-preference": _PREFERENCE,
}


@dataclass(frozen=True, slots=True)
class Form:
    """How one question is judged.

    Attributes:
        gold: under which name the right answer is shown; '' where it is hidden.
        words: the verdict's.
        right_when: the verdict that makes the answer right: an answer that abstains is wrong where there is something to say.
    """

    prompt: str
    gold: str
    words: Words
    right_when: bool = True

    def lines(self, question: str, golds: Sequence[str], said: str) -> Iterator[dict[str, object]]:
        """What is shown as data."""
        yield {"question": question}
        if self.gold and golds:
            yield {self.gold: list(golds) if len(golds) > 1 else golds[0]}
        yield {"answer": said}


def form_of(judge: JudgeSpec, *, category: str, answerable: bool) -> Form | None:
    """The form of a judge that asks a model for one question; None where the judge has none for its category.

    The trap answer of an adversarial question is never shown, nor is any right answer where abstention is asked about; only
    LongMemEval's form shows its explanation of why there is no answer.
    """
    if judge.kind == "abstention":
        return Form(judge.prompt or _ABSTENTION, "", "yes", right_when=not answerable)
    if judge.kind == "strict":
        return Form(judge.prompt or _STRICT, "right_answer", "correct") if answerable else Form(_ABSTENTION, "", "yes")
    if not answerable:
        return Form(_UNANSWERABLE, "explanation", "yes")
    own = _BY_CATEGORY.get(category)
    if own is None:
        return None
    return Form(judge.prompt or own, "rubric" if own == _PREFERENCE else "right_answer", "yes")


def judge_prompts(judge: JudgeSpec) -> tuple[str, ...]:
    """Every prompt file that a judge may use: their texts decide its verdicts, beside its settings."""
    if judge.kind == "abstention":
        return (judge.prompt or _ABSTENTION,)
    if judge.kind == "strict":
        return (judge.prompt or _STRICT, _ABSTENTION)
    if judge.kind == "longmemeval":
        own = (judge.prompt,) if judge.prompt else tuple(dict.fromkeys(_BY_CATEGORY.values()))
        return (*own, _UNANSWERABLE)
    return ()
