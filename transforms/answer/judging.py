"""Judges: whether an answer is right under a set of labels. A judge that fails gives no verdict, and says why."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from memlake.schemas import JUDGEMENTS
from memlake.transforms.answer.forms import Form, form_of
from memlake.transforms.answer.matching import Tokens, Verdict, is_exactly, matches
from memlake.transforms.answer.spec import JudgeSpec
from memlake.transforms.answer.verdicts import UNPARSABLE, verdict
from memlake.transforms.base.concurrent import each
from memlake.transforms.llm.prompting import data_block, user_message
from memlake.transforms.llm.protocol.model import Model, Reply, Request
from memlake.transforms.text.content_tokens import Language

_AT_ONCE = 1000
_OF_ANSWER = ("run_id", "cell", "corpus", "conversation_id", "question_id", "cutoff_kind", "cutoff", "repeat")
_ANSWER = ("corpus", "question_id", "cell", "text", "abstained", "option")
_LABELS = ("corpus", "question_id", "label_set", "text", "answer", "answers", "category", "options", "answerable")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Case:
    """One answer under one label set.

    Attributes:
        answer: its row's place.
        said: what is judged: the text, or that of the option that it chose.
        golds: every accepted answer.
        why_not: why there is no verdict whatever the judge; '' where there may be one.
    """

    answer: int
    labels: Row
    said: str
    abstained: bool
    golds: tuple[str, ...]
    why_not: str
    about: str


@dataclass(frozen=True, slots=True)
class _Call:
    """One verdict to ask for."""

    case: _Case
    form: Form
    repeat: int

    def request(self, judge: JudgeSpec) -> Request:
        """What the model is asked."""
        lines = self.form.lines(self.case.labels["text"], self.case.golds, self.case.said)
        return Request(
            model=judge.model,
            messages=user_message(self.form.prompt, data_block("judged", list(lines))),
            max_tokens=judge.max_tokens,
            temperature=judge.temperature,
            seed=judge.seed + self.repeat,
        )


@dataclass(frozen=True, slots=True)
class _Judged:
    """One verdict, or why there is none."""

    correct: bool | None
    reason: str | None = None
    reply: str | None = None
    request_hash: str | None = None


def judge_requests(judge: JudgeSpec, answers: pa.Table, labels: pa.Table) -> list[Request]:
    """What `judge_answers` will ask, in its order; nothing where the judge asks no model."""
    made = (_call(judge, case, repeat) for case, repeat in _repeated(judge, answers, labels))
    return [call.request(judge) for call in made if isinstance(call, _Call)]


async def judge_answers(
    judge: JudgeSpec,
    answers: pa.Table,
    labels: pa.Table,
    model: Model | None,
    *,
    language: Language = "english",
) -> pa.Table:
    """Rows of the judgements schema: for every answer, in order, each label set of its question and each repeat of the judge.

    `correct` says whether the answer is right: where the question cannot be answered, whether it abstains. It is null for
    no_answer, no_option (of a multiple choice it names none), no_gold_answer, no_content_tokens (the gold answer has none),
    no_form (LongMemEval has none for the category), unparsable_verdict, or the reason that there is no reply.

    Args:
        labels: rows of questions, of every label set that is judged against.
        model: None for a judge that asks none.
        language: of content tokens, which the judge `match` goes by.

    Raises:
        ModelStoppedError: the whole run is to stop.
    """
    cases = _repeated(judge, answers, labels)
    if not judge.asks_model:
        return _rows(judge, answers, cases, _compared(judge, [case for case, _ in cases], language))
    if model is None:
        raise ValueError(f"judge={judge.name!r} asks a model, and there is none")

    async def judged(case: tuple[_Case, int]) -> _Judged:
        made = _call(judge, *case)
        if isinstance(made, _Judged):
            return made
        reply = await model.ask(made.request(judge), stage="judge", about=made.case.about)
        return _verdict(reply, made.form)

    return _rows(judge, answers, cases, await each(judged, cases, at_once=_AT_ONCE))


def _call(judge: JudgeSpec, case: _Case, repeat: int) -> _Call | _Judged:
    """What is to be asked, or why there is nothing to ask."""
    if not judge.asks_model:
        return _Judged(None)
    if case.why_not:
        return _Judged(None, case.why_not)
    answerable = bool(case.labels["answerable"])
    form = form_of(judge, category=case.labels["category"], answerable=answerable)
    if form is None:
        return _Judged(None, "no_form")
    if answerable and form.gold and not case.golds:
        return _Judged(None, "no_gold_answer")
    return _Call(case, form, repeat)


def _verdict(reply: Reply, form: Form) -> _Judged:
    """A reply that was cut may hold its verdict all the same: the published judges' room is ten tokens, often cut."""
    if reply.outcome not in ("ok", "cut"):
        return _Judged(None, reply.outcome, request_hash=reply.request_hash)
    said = verdict(reply.text, form.words, cut=reply.outcome == "cut")
    if said is None:
        return _Judged(None, UNPARSABLE, reply.text, reply.request_hash)
    return _Judged(said == form.right_when, None, reply.text, reply.request_hash)


def _compared(judge: JudgeSpec, cases: list[_Case], language: Language) -> list[_Judged]:
    texts = [text for case in cases for text in (case.said, *case.golds)] if judge.kind == "match" else []
    tokens = Tokens(texts, language)

    def judged(case: _Case) -> Verdict:
        if case.why_not:
            return None, case.why_not
        if not case.labels["answerable"]:
            return case.abstained, None
        if not case.golds:
            return None, "no_gold_answer"
        return matches(case.said, case.golds, tokens) if judge.kind == "match" else is_exactly(case.said, case.golds)

    return [_Judged(*judged(case)) for case in cases]


def _repeated(judge: JudgeSpec, answers: pa.Table, labels: pa.Table) -> list[tuple[_Case, int]]:
    return [(case, repeat) for case in _cases(judge, answers, labels) for repeat in range(judge.repeats)]


def _cases(judge: JudgeSpec, answers: pa.Table, labels: pa.Table) -> list[_Case]:
    of_question: dict[tuple[str, str], list[Row]] = {}
    for row in labels.select(_LABELS).to_pylist():
        of_question.setdefault((row["corpus"], row["question_id"]), []).append(row)
    return [
        _case(judge, place, row, of_set)
        for place, row in enumerate(answers.select(_ANSWER).to_pylist())
        for of_set in of_question.get((row["corpus"], row["question_id"]), ())
    ]


def _case(judge: JudgeSpec, place: int, answer: Row, labels: Row) -> _Case:
    options, option, said = labels["options"], answer["option"], answer["text"]
    why_not = "no_answer" if said is None else ""
    if options and said is not None and not answer["abstained"]:
        is_named = option is not None and option < len(options)
        said, why_not = (options[option], "") if is_named else (said, "no_option")
    golds = labels["answers"] or ([] if labels["answer"] is None else [labels["answer"]])
    about = f"the answer of cell {answer['cell']!r} to question {answer['question_id']!r} before judge {judge.name!r}"
    return _Case(place, labels, said or "", bool(answer["abstained"]), tuple(golds), why_not, about)


def _rows(judge: JudgeSpec, answers: pa.Table, cases: list[tuple[_Case, int]], judged: list[_Judged]) -> pa.Table:
    places = pa.array(np.fromiter((case.answer for case, _ in cases), np.int64, len(cases)))
    columns: dict[str, Any] = {name: answers[name].take(places) for name in _OF_ANSWER}
    columns |= {
        "judge": [judge.name] * len(cases),
        "label_set": [case.labels["label_set"] for case, _ in cases],
        "judge_repeat": [repeat for _, repeat in cases],
        **{name: [getattr(item, name) for item in judged] for name in ("correct", "reason", "reply", "request_hash")},
    }
    return pa.table({name: columns[name] for name in JUDGEMENTS.schema.names}, schema=JUDGEMENTS.schema)
