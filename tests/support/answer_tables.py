"""Contexts, questions and answers of a few words, and a model that says what a function says."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from small_tables import rows_of

from memlake.schemas import ANSWERS, CONTEXTS, QUESTIONS
from memlake.transforms.llm.protocol.model import Reply, Request

PLACE = {"run_id": "r", "cell": "chunks", "cutoff_kind": "tokens", "cutoff": 1000}


def contexts(*texts: str | None, **fields: Any) -> pa.Table:
    """A context a text, of the questions q0, q1 and so on."""
    return rows_of(CONTEXTS, [PLACE | {"question_id": f"q{n}", "text": text} | fields for n, text in enumerate(texts)])


def question(number: int = 0, text: str = "Where does Ida live?", **fields: Any) -> dict[str, Any]:
    """A question that can be answered, under the official labels."""
    answer = fields.get("answer")
    known = {"question_id": f"q{number}", "label_set": "official", "text": text, "answerable": True}
    return known | {"answers": [] if answer is None else [answer]} | fields


def questions(*rows: dict[str, Any]) -> pa.Table:
    """Rows of questions."""
    return rows_of(QUESTIONS, list(rows))


def answers(*texts: str | None, **fields: Any) -> pa.Table:
    """An answer a text, to the questions q0, q1 and so on."""
    return rows_of(ANSWERS, [PLACE | {"question_id": f"q{n}", "text": text} | fields for n, text in enumerate(texts)])


def at(day: int) -> datetime:
    """Noon of a day of May 2023."""
    return datetime(2023, 5, day, 12, 30, tzinfo=UTC)


def blocks(request: Request) -> dict[str, list[Any]]:
    """The blocks of data in a request's message, each a list of what its lines hold."""
    found: dict[str, list[Any]] = {}
    name = ""
    for line in request.messages[-1].content.split("\n"):
        if name and line == f"</{name}>":
            name = ""
        elif name:
            found[name[:-17]] += [json.loads(line)] if line else []
        elif line.startswith("<") and line.endswith(">") and line[-18] == "-":
            name = line[1:-1]
            found[name[:-17]] = []
    return found


class Says:
    """A model that says what a function makes of the request: a text, or (outcome, text); keeps what it was asked."""

    def __init__(self, script: Callable[[Request], "str | tuple[str, str]"]) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.stages: list[str] = []
        self.abouts: list[str] = []

    async def ask(self, request: Request, *, stage: str, about: str) -> Reply:
        self.requests.append(request)
        self.stages.append(stage)
        self.abouts.append(about)
        said = self.script(request)
        outcome, text = said if isinstance(said, tuple) else ("ok", said)
        return Reply(request.hash("test"), outcome, text)
