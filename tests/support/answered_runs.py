"""A run 'r' in which questions of one conversation were answered and judged, written down briefly."""

import json
from typing import Any

import pyarrow as pa
from small_tables import rows_of

from memlake.schemas import ANSWERS, CELLS, CONTEXTS, CONVERSATIONS, JUDGEMENTS, QUESTIONS
from memlake.transforms.retrieve.store.store import UNIT_TOKENS
from memlake.transforms.score.source_tokens import SOURCE_TOKENS
from memlake.transforms.text.content_tokens import content_tokens_of

AT = {"run_id": "r", "cell": "c1", "cutoff_kind": "tokens", "cutoff": 500}
DEPTH = 100


def question(name: str, answer: str | None = "red car", **more: Any) -> dict[str, Any]:
    """A question of LoCoMo's category 4 with one accepted answer, unless said otherwise."""
    tokens = content_tokens_of([answer or ""], distinct=True)[0].as_py()
    row = {"question_id": name, "label_set": "official", "category": "4", "answerable": True, "answer": answer}
    return row | {"answers": [] if answer is None else [answer], "answer_tokens": tokens} | more


def said(name: str, text: str | None, **more: Any) -> dict[str, Any]:
    """What the reader answered; None is a failure of the reader."""
    reason = "refused" if text is None else None
    return {**AT, "question_id": name, "text": text, "reason": reason} | (
        {"abstained": None if text is None else False} | more
    )


def verdict(name: str, correct: bool | None, **more: Any) -> dict[str, Any]:
    """What a judge that asks a model called an answer; None is a failure of the judge."""
    reason = "unparsable_verdict" if correct is None else None
    row = {**AT, "question_id": name, "label_set": "official", "judge": "strict", "request_hash": "h"}
    return row | {"correct": correct, "reason": reason} | more


def context(name: str, *tokens: str, **more: Any) -> dict[str, Any]:
    """What the reader was shown."""
    return {**AT, "question_id": name, "units": 1, "content_tokens": sorted(tokens)} | more


def candidates(name: str, *tokens: str, **more: Any) -> dict[str, Any]:
    """The candidate list, which is a context of its own."""
    return context(name, *tokens, **{"cutoff_kind": "candidates", "cutoff": DEPTH} | more)


def run_tables(
    questions: list[dict[str, Any]],
    answers: list[dict[str, Any]],
    judgements: list[dict[str, Any]] | None = None,
    contexts: list[dict[str, Any]] | None = None,
    *,
    format: str = "locomo",  # noqa: A002 - the column's name
    language: str = "english",
    corpora: tuple[str, ...] = ("c",),
) -> dict[str, pa.Table]:
    """Tables of the run, one cell in each corpus, for `connection_of`."""
    settings = json.dumps({"language": language, "depth": DEPTH})
    cells = [{"run_id": "r", "cell": "c1", "corpus": name, "representations": ["notes"]} for name in corpora]
    return {
        "conversations": rows_of(CONVERSATIONS, [{"corpus": name, "format": format} for name in corpora]),
        "cells": rows_of(CELLS, [cell | {"settings": settings} for cell in cells]),
        "questions": rows_of(QUESTIONS, questions),
        "answers": rows_of(ANSWERS, answers),
        "judgements": rows_of(JUDGEMENTS, judgements or []),
        "contexts": rows_of(CONTEXTS, contexts or []),
    }


def unit_tokens(*tokens: str, representation: str = "notes", corpus: str = "c") -> pa.Table:
    """UNIT_TOKENS of conversation 'v'."""
    rows = [
        {"corpus": corpus, "representation": representation, "conversation_id": "v", "token": token} for token in tokens
    ]
    return pa.Table.from_pylist(rows, schema=UNIT_TOKENS)


def source_tokens(*tokens: str, corpus: str = "c") -> pa.Table:
    """SOURCE_TOKENS of conversation 'v'."""
    rows = [{"corpus": corpus, "conversation_id": "v", "token": token} for token in tokens]
    return pa.Table.from_pylist(rows, schema=SOURCE_TOKENS)
