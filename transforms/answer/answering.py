"""Readers: what a context lets one answer. A call that fails is an answer that is missing, with a reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from memlake.schemas import ANSWERS
from memlake.transforms.answer.abstained import abstains
from memlake.transforms.answer.extractive import best_sentences
from memlake.transforms.answer.options import labels
from memlake.transforms.answer.questions import AskedQuestion, Questions
from memlake.transforms.answer.spec import ReaderSpec
from memlake.transforms.base.concurrent import each
from memlake.transforms.llm.prompting import data_block, user_message
from memlake.transforms.llm.protocol.model import Model, Reply, Request
from memlake.transforms.text.content_tokens import Language

# Calls under way at a time, each one task; the edge decides how many of them are in flight.
_AT_ONCE = 1000
_OF_CONTEXT = ("run_id", "cell", "corpus", "conversation_id", "question_id", "cutoff_kind", "cutoff")


@dataclass(frozen=True, slots=True)
class _Said:
    """One answer, or why there is none."""

    text: str | None
    reason: str | None = None
    option: int | None = None
    request_hash: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """One context and its question, to be read once."""

    text: str | None
    question: AskedQuestion
    repeat: int
    about: str

    def request(self, reader: ReaderSpec) -> Request:
        """What a model is asked."""
        return Request(
            model=reader.model,
            messages=user_message(
                reader.prompt,
                data_block("evidence", self.text.split("\n") if self.text else []),
                data_block("question", list(_question_lines(self.question, dated=reader.question_date))),
            ),
            max_tokens=reader.max_tokens,
            temperature=reader.temperature,
            seed=reader.seed + self.repeat,
        )


def answer_requests(reader: ReaderSpec, contexts: pa.Table, questions: pa.Table) -> list[Request]:
    """What `answer_contexts` will ask, in its order; nothing where the reader asks no model.

    Raises:
        NotFoundError: a context's question is not among the questions; or there is no prompt of the reader's name.
    """
    if not reader.asks_model:
        return []
    readings = _readings(reader, contexts, questions)
    return [reading.request(reader) for reading in readings if reading.text is not None]


async def answer_contexts(
    reader: ReaderSpec,
    contexts: pa.Table,
    questions: pa.Table,
    model: Model | None,
    *,
    language: Language = "english",
) -> pa.Table:
    """Rows of the answers schema: for every context, in order, each repeat.

    An answer is null for the reason that there is no reply (refused, filtered, cut, too_long, rejected, transient, missing),
    that the reply is `empty`, or that the context has `no_text`.

    Args:
        contexts: rows of contexts whose text is kept.
        questions: rows of questions; each under any of its label sets, or all.
        model: None for a reader that asks none.
        language: of content tokens, which an extractive reader goes by.

    Raises:
        NotFoundError: see answer_requests.
        ModelStoppedError: the whole run is to stop.
    """
    readings = _readings(reader, contexts, questions)
    if not reader.asks_model:
        return _rows(contexts, reader.repeats, _extracted(readings, language))
    if model is None:
        raise ValueError(f"reader={reader.name!r} asks a model, and there is none")

    async def said(reading: _Reading) -> _Said:
        if reading.text is None:
            return _Said(None, "no_text")
        # Made here and not before: a block's requests at once would be its contexts once more.
        reply = await model.ask(reading.request(reader), stage="answer", about=reading.about)
        return _said(reply, reading.question)

    return _rows(contexts, reader.repeats, await each(said, readings, at_once=_AT_ONCE))


def _said(reply: Reply, question: AskedQuestion) -> _Said:
    text = reply.text.strip()
    if reply.outcome != "ok" or not text:
        return _Said(None, "empty" if reply.outcome == "ok" else reply.outcome, request_hash=reply.request_hash)
    return _Said(text, option=question.option_of(text), request_hash=reply.request_hash)


def _extracted(readings: list[_Reading], language: Language) -> list[_Said]:
    shown = [(reading.text, reading.question) for reading in readings if reading.text is not None]
    best = iter(best_sentences([text for text, _ in shown], [question for _, question in shown], language=language))
    said = []
    for reading in readings:
        if reading.text is None:
            said.append(_Said(None, "no_text"))
        else:
            text, option = next(best)
            said.append(_Said(text, option=option))
    return said


def _readings(reader: ReaderSpec, contexts: pa.Table, questions: pa.Table) -> list[_Reading]:
    asked = Questions(questions).of_rows(contexts)
    names = ("question_id", "cell", "cutoff_kind", "cutoff", "text")
    columns = (contexts[name].to_pylist() for name in names)
    return [
        _Reading(text, question, repeat, f"question {name!r} in cell {cell!r} at {kind}={cutoff}")
        for question, name, cell, kind, cutoff, text in zip(asked, *columns, strict=True)
        for repeat in range(reader.repeats)
    ]


def _question_lines(question: AskedQuestion, *, dated: bool) -> Iterator[dict[str, str]]:
    asked = {"question": question.text}
    if dated and question.asked_at is not None:
        asked["asked_at"] = f"{question.asked_at:%Y-%m-%d %H:%M (%A)}"
    yield asked
    for label, place in zip(labels(len(question.order)), question.order, strict=True):
        yield {"option": label, "text": question.options[place]}


def _rows(contexts: pa.Table, repeats: int, said: list[_Said]) -> pa.Table:
    context = np.repeat(np.arange(contexts.num_rows), repeats)
    columns: dict[str, Any] = {name: contexts[name].take(pa.array(context)) for name in _OF_CONTEXT}
    columns |= {
        "repeat": np.tile(np.arange(repeats), contexts.num_rows),
        "abstained": [None if answer.text is None else abstains(answer.text) for answer in said],
        **{name: [getattr(answer, name) for answer in said] for name in ("text", "reason", "option", "request_hash")},
    }
    return pa.table({name: columns[name] for name in ANSWERS.schema.names}, schema=ANSWERS.schema)
