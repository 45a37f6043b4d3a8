"""A model of a few lines for tests of what is asked and what is made of replies: no server, no cache, no limits."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from memlake.transforms.llm.protocol.model import Reply, Request

Script = Callable[[Request], "str | tuple[str, str]"]


class ScriptedModel:
    """Answers by a function from the request to the reply's text, or to (outcome, text); keeps what it was asked.

    Attributes:
        requests: in the order they came.
        most_at_once: the most requests that were under way at a time.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.abouts: list[str] = []
        self.most_at_once = 0
        self._now = 0

    async def ask(self, request: Request, *, stage: str, about: str) -> Reply:
        assert stage == "extract"
        self.requests.append(request)
        self.abouts.append(about)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        said = self.script(request)
        outcome, text = said if isinstance(said, tuple) else ("ok", said)
        number = f"{len(self.requests):032x}" if outcome in ("transient", "missing") else request.hash("test")
        detail = "" if outcome in ("ok", "cut") else f"the server says {outcome}"
        tokens = (len(request.messages[-1].content), len(text)) if outcome in ("ok", "cut") else (None, None)
        return Reply(number, outcome, text, detail, "json_schema", *tokens)


def shown(request: Request) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What is known and the turns, as a model would read them in the transcript of a request."""
    content = request.messages[1].content
    opening, rest = content.split("\n", 1)
    body = rest.split(f"\n</{opening[1:]}", 1)[0]
    known, *lines = map(json.loads, body.split("\n"))
    return known, lines


def item(turn: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An artifact that quotes the whole of a turn."""
    return {
        "type": "key_fact",
        "content": f"{turn['speaker']} said: {turn['text']}",
        "quote": turn["text"],
        "speaker": turn["speaker"],
        "confidence": 0.9,
        "time_expression": None,
        "resolved_time": None,
        "turns": [turn["turn"]],
    } | changes


def every_turn(request: Request) -> str:
    """An artifact for every turn."""
    return json.dumps({"artifacts": [item(turn) for turn in shown(request)[1] if "turn" in turn]}, ensure_ascii=False)
