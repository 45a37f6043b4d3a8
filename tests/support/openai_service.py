"""What stands behind a test server's connections: what it is told to do, what it counts, what it answers."""

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import openai_answers as answers
from openai_faults import Drawn, Faults, draw
from openai_record import Seen, ServerRecord


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server does; OpenAIServer says what each means."""

    script: str = "openai_replies:artifacts"
    faults: Faults = field(default_factory=Faults)
    latency_s: float = 0.0
    slow_s: float = 1.0
    dimension: int = 16
    key: str = ""
    models: tuple[str, ...] = ()
    context_tokens: int | None = None
    too_long: str = "too_long"
    no_schema: bool = False
    no_json_object: bool = False
    ignore_schema: bool = False
    reasoning: bool = False
    hold_after: int | None = None
    replies: tuple[tuple[str, str], ...] = ()
    paths: tuple[str, ...] = ()

    def changed(self, document: dict[str, Any]) -> "Settings":
        """These settings with some replaced, as JSON gives them."""
        known = {setting.name for setting in fields(self)}
        if set(document) - known:
            raise ValueError(f"unknown settings {sorted(set(document) - known)}; there are {sorted(known)}")
        made = dict(document)
        if "faults" in made:
            faults = made["faults"]
            marked = tuple((text, kind) for text, kind in faults.get("marked", ()))
            made["faults"] = Faults(faults["rate"], tuple(faults["kinds"]), faults["seed"], marked)
        for name in ("models", "paths"):
            if name in made:
                made[name] = tuple(made[name])
        if "replies" in made:
            made["replies"] = tuple((text, reply) for text, reply in made["replies"])
        return replace(self, **made)


class Service:
    """What stands behind the connections: settings, record, held requests."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.record = ServerRecord()
        self.held: list[Callable[[], None]] = []
        self.systems: set[str] = set()
        self.script = load_script(settings)

    def change(self, document: dict[str, Any]) -> None:
        """Replace settings; requests that were held and are no longer to be go out."""
        settings = self.settings.changed(document)
        self.script = load_script(settings)
        self.settings = settings
        if settings.hold_after is None:
            held, self.held = self.held, []
            for send in held:
                send()

    def answer(self, path: str, headers: dict[bytes, bytes], seen: Seen) -> tuple[answers.Answer, float]:
        """The answer to a request and the seconds to wait before it."""
        latency_s = self.settings.latency_s
        try:
            body = json.loads(seen.body)
            texts = texts_of(path, body)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            return answers.error(
                400, f"We could not parse the JSON body: {problem}", "invalid_request_error"
            ), latency_s
        drawn = draw(self.settings.faults, seen.body, texts, seen.came)
        seen.fault = drawn.kind
        self.record.faults[drawn.kind or "none"] += 1
        if drawn.kind == "slow":
            latency_s += self.settings.slow_s
        return self._refused(path, headers, body, texts, drawn) or self._reply(path, body, texts, drawn), latency_s

    def _refused(
        self, path: str, headers: dict[bytes, bytes], body: dict[str, Any], texts: list[str], drawn: Drawn
    ) -> answers.Answer | None:
        settings = self.settings
        if settings.key and headers.get(b"authorization", b"") != b"Bearer " + settings.key.encode():
            return answers.refusal_of(Drawn("bad_key"))
        if settings.models and body.get("model") not in settings.models:
            return answers.refusal_of(Drawn("no_model"))
        if refused := answers.refusal_of(drawn):
            return refused
        wanted_format = body.get("response_format", {}).get("type")
        unable = {"json_schema": settings.no_schema, "json_object": settings.no_json_object}
        if unable.get(wanted_format):
            text = f"Invalid parameter: 'response_format' of type '{wanted_format}' is not supported with this model."
            return answers.error(400, text, "invalid_request_error", param="response_format")
        if settings.reasoning:
            for name, code in (("max_tokens", "unsupported_parameter"), ("temperature", "unsupported_value")):
                if name in body and not (name == "temperature" and body[name] == 1):
                    text = f"Unsupported: '{name}' is not supported with this model."
                    return answers.error(400, text, "invalid_request_error", code=code, param=name)
        counts = [answers.tokens_of(text) for text in texts]
        needed = max(counts, default=0) if path.endswith("/embeddings") else sum(counts)
        if settings.context_tokens is not None and needed > settings.context_tokens:
            return answers.too_long(settings.too_long, needed, settings.context_tokens)
        return None

    def _reply(self, path: str, body: dict[str, Any], texts: list[str], drawn: Drawn) -> answers.Answer:
        if path.endswith("/embeddings"):
            return answers.vectors(body, texts, self.settings.dimension, drawn)
        system = texts[0]
        cached = answers.tokens_of(system) if system in self.systems else 0
        self.systems.add(system)
        try:
            content = next(
                (reply for text, reply in self.settings.replies if any(text in shown for shown in texts)), None
            )
            content = self.script(body) if content is None else content
        except Exception as problem:  # noqa: BLE001 - whatever a test's script raises is told to the test
            self.record.script_errors.append(repr(problem))
            return answers.error(500, f"the script failed: {problem!r}", "server_error")
        if self.settings.ignore_schema and "response_format" in body:
            drawn = Drawn("prose", drawn.variant) if not drawn.kind else drawn
        tokens = sum(answers.tokens_of(text) for text in texts)
        return answers.completion(body, content, drawn, tokens_in=tokens, cached=cached)

    def control(self, path: str, body: bytes) -> answers.Answer:
        """What tests ask the server: what it counted, what it saw, and to change."""
        document = json.loads(body or b"{}")
        if path == "/control/set":
            self.change(document)
        elif path == "/control/reset":
            self.record = ServerRecord(in_flight=self.record.in_flight)
        elif path == "/control/requests":
            requests = list(self.record.requests)[-document["limit"] :]
            return answers.response(200, [_seen_as_json(seen) for seen in requests])
        return answers.response(200, self.record.document())


def load_script(settings: Settings) -> Any:
    """The function of a script named MODULE:FUNCTION."""
    sys.path.extend(path for path in settings.paths if path not in sys.path)
    module, _, function = settings.script.partition(":")
    return getattr(importlib.import_module(module), function)


def texts_of(path: str, body: dict[str, Any]) -> list[str]:
    """The texts that a request asks about: its messages, or what it wants embedded."""
    if path.endswith("/embeddings"):
        return [body["input"]] if isinstance(body["input"], str) else [str(text) for text in body["input"]]
    return [str(message["content"]) for message in body["messages"]] or [""]


def _seen_as_json(seen: Seen) -> dict[str, Any]:
    text = seen.body.decode("utf-8", "replace")
    return {
        "path": seen.path,
        "body": text,
        "fault": seen.fault,
        "status": seen.status,
        "came": seen.came,
        "at": seen.at,
    }
