"""A test server that speaks the OpenAI HTTP protocol on loopback, in a process of its own, with faults by wish."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Self

from openai_faults import CONTENT, FATAL, KINDS, REJECTED, TOO_LONG, TRANSIENT, VECTORS, Faults

__all__ = [
    "CONTENT",
    "FATAL",
    "KINDS",
    "REJECTED",
    "TOO_LONG",
    "TRANSIENT",
    "VECTORS",
    "Faults",
    "OpenAIServer",
    "Seen",
]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as the server saw it; `came`: how often the same bytes had come before; `at`: its monotonic clock."""

    path: str
    body: dict[str, Any]
    fault: str
    status: int | None
    came: int
    at: float


class OpenAIServer:
    """POST /v1/chat/completions, POST /v1/embeddings and GET /v1/models; `url` is the base URL while it is entered.

    It outlives a killed client and counts on, and ends with the process that entered it.

    Args:
        script: MODULE:FUNCTION, from a request's body to the reply's text; see openai_replies.
        faults: what goes wrong, how often.
        latency_s: from a request's last byte to its answer.
        slow_s: how much longer the fault 'slow' takes.
        dimension: of embeddings.
        key: the API key that is asked for; '' for none.
        models: the models there are; all when empty.
        context_tokens: longer inputs are refused, in the words of `too_long` (one of TOO_LONG).
        no_schema, no_json_object: such a response_format is refused with 400.
        ignore_schema: a response_format is taken and prose comes around the JSON.
        reasoning: max_tokens, and temperature other than 1, are refused, as by OpenAI's reasoning models.
        hold_after: requests after the n-th stay without an answer until `hold_after` is set to None.
        replies: (text, reply): requests in which the text occurs get this reply; the script is not asked.
    """

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.url = ""

    def __enter__(self) -> Self:
        program = Path(__file__).with_name("openai_process.py")
        self._process = subprocess.Popen(
            [sys.executable, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        settings = {"paths": [path for path in sys.path if path], **_plain(self._settings)}
        self._stdin.write(json.dumps(settings) + "\n")
        self._stdin.flush()
        port = self._stdout.readline().strip()
        if not port:
            self._end()
            raise RuntimeError("the test server did not start; its error stands above")
        self._control = f"http://127.0.0.1:{port}/control"
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        broken = self.stats().script_errors if kind is None else []
        self._end()
        if broken:
            raise RuntimeError(f"the test server's script failed: {broken[:3]}")

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def stats(self) -> SimpleNamespace:
        """What it counted: the fields of openai_record.ServerRecord except `requests`."""
        return SimpleNamespace(**self._ask("stats"))

    def requests(self, limit: int = 100) -> list[Seen]:
        """The last requests, oldest first."""
        requests = self._ask("requests", {"limit": limit})
        return [Seen(**{**request, "body": json.loads(request["body"])}) for request in requests]

    def set(self, **settings: Any) -> None:
        """Change settings while it runs; requests that came before keep theirs."""
        self._ask("set", _plain(settings))

    def reset(self) -> None:
        """Begin to count anew."""
        self._ask("reset")

    def _ask(self, what: str, body: Mapping[str, Any] | None = None) -> Any:
        request = urllib.request.Request(f"{self._control}/{what}", json.dumps(body or {}).encode())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as problem:
            raise ValueError(json.load(problem)["error"]["message"]) from None

    def _end(self) -> None:
        self._stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Faults):
            made[name] = asdict(value)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            made[name] = list(value)
        else:
            made[name] = value
    return made
