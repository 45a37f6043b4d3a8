"""What a server takes, learned by asking: how replies are held to a form, which parameters a model refuses."""

import json
from collections.abc import Mapping
from typing import Any

from memlake.transforms.llm.protocol.model import Mode, Request
from memlake.transforms.llm.protocol.wire import Exchange

_WEAKER: dict[Mode, Mode] = {"json_schema": "json_object", "json_object": "text"}
# What OpenAI's reasoning models refuse. Left out, the model uses its own; the room for the reply has another name.
_DROPPED = ("temperature", "seed")
_REFUSALS = (400, 422)


class ServerCapabilities:
    """What one server has been seen to take; one a process, used by its event loop only.

    A refusal of `response_format` has no code that servers agree on (OpenAI's own has none), so it is told by its
    effect: the mode is weakened for that request, and only a reply in the weaker mode shows that the mode was at fault.
    A request that is at fault itself is refused in every mode and changes nothing for the others. A mode that was taken
    before is given up when a refusal names `response_format`: behind one address another server may answer by now.

    Attributes:
        vector_bytes: of a vector, by model: those that were most in its first reply.
    """

    def __init__(self) -> None:
        self.vector_bytes: dict[str, int] = {}
        self._proven: dict[tuple[str, str], Mode] = {}
        self._refused: dict[str, set[str]] = {}
        self._no_base64: set[str] = set()
        self._base64: set[str] = set()

    def mode(self, request: Request) -> Mode:
        """The strictest mode that the server may take for a request."""
        return self._proven.get((request.model, request.schema), "json_schema") if request.schema else "text"

    def body(self, request: Request, mode: Mode) -> dict[str, Any]:
        """The request as it goes over the wire."""
        refused = self._refused.get(request.model, set())
        room = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            room: request.max_tokens,
            "temperature": request.temperature,
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if mode == "json_schema":
            form = {"name": request.schema_name or "reply", "schema": json.loads(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif mode == "json_object":
            body["response_format"] = {"type": "json_object"}
        for name in _DROPPED:
            if name in refused:
                body.pop(name, None)
        return body

    def took(self, request: Request, mode: Mode) -> None:
        """A reply came in this mode; a stricter one that came before stands."""
        if request.schema:
            self._proven.setdefault((request.model, request.schema), mode)

    def other_mode(self, request: Request, mode: Mode, body: Mapping[str, Any], exchange: Exchange) -> Mode | None:
        """The mode in which a refused request is worth another call; None when the refusal is its own fault."""
        if exchange.outcome != "rejected" or exchange.status not in _REFUSALS:
            return None
        if exchange.param in ("max_tokens", *_DROPPED) and exchange.param in body:
            self._refused.setdefault(request.model, set()).add(exchange.param)
            return mode
        if "response_format" not in body:
            return None
        proven = self._proven.get((request.model, request.schema))
        if proven == mode:
            if "response_format" not in f"{exchange.param} {exchange.detail}":
                return None
            proven = None
            del self._proven[request.model, request.schema]
        return proven or _WEAKER[mode]

    def packed(self, model: str) -> bool:
        """Whether to ask for vectors as base64."""
        return model not in self._no_base64

    def took_packed(self, model: str, *, packed: bool) -> None:
        """Vectors came, asked for as base64 or not."""
        if packed:
            self._base64.add(model)
        elif model not in self._base64:
            self._no_base64.add(model)

    def other_packing(self, model: str, *, packed: bool, exchange: Exchange) -> bool:
        """Whether a refused batch is worth asking for as lists of numbers."""
        refused = exchange.outcome == "rejected" and exchange.status in _REFUSALS
        return refused and packed and model not in self._base64
