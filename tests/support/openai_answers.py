"""HTTP answers of a test server in OpenAI's shapes: completions, vectors, errors."""

import base64
import hashlib
import json
import math
import struct
import time
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

from openai_faults import Drawn
from openai_spoilt import spoilt

REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
}
REASONS |= {411: "Length Required", 413: "Content Too Large", 422: "Unprocessable Entity", 429: "Too Many Requests"}
REASONS |= {500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}
HTML = b"<html><head><title>502 Bad Gateway</title></head><body>upstream went away</body></html>"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back.

    Attributes:
        wire: the whole response, head and body; what of it is written says `ending`.
        ending: '' (kept alive), 'half' (cut in the body, then closed) or 'none' (closed before the first byte).
        tokens_in, tokens_out: what a real server would charge for.
    """

    status: int
    wire: bytes
    ending: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


def response(status: int, body: Any, headers: str = "", **rest: Any) -> Answer:
    """A response with a JSON body, or with bytes as they are."""
    kind = "text/html" if isinstance(body, bytes) else "application/json"
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n{headers}\r\n"
    return Answer(status, head.encode() + content, **rest)


def error(
    status: int, message: str, kind: str, *, code: Any = None, param: str | None = None, headers: str = "", **more: Any
) -> Answer:
    """An error as OpenAI words it."""
    fault = {"message": message, "type": kind, "param": param, "code": code, **more}
    return response(status, {"error": fault}, headers)


def refusal_of(drawn: Drawn) -> Answer | None:
    """The answer of a fault that has nothing to do with what was asked; None for the others."""
    kind, variant = drawn.kind, drawn.variant
    if kind in ("rate_limit", "rate_limit_after"):
        waits = ("Retry-After: 0.05", f"Retry-After: {formatdate(time.time() + 1, usegmt=True)}", "retry-after-ms: 50")
        headers = f"{waits[variant % 3]}\r\n" if kind == "rate_limit_after" else ""
        return error(429, "Rate limit reached for requests", "requests", code="rate_limit_exceeded", headers=headers)
    if kind == "server_error":
        if variant % 3 == 1:
            return response(502, HTML)
        text = "The server had an error while processing your request"
        return error((500, 0, 503)[variant % 3], text, "server_error")
    if kind == "not_json":
        return response(200, HTML)
    if kind == "hang_up":
        return Answer(0, b"", "none")
    for_ever = {
        "bad_key": (401, "Incorrect API key provided", "invalid_request_error", "invalid_api_key"),
        "forbidden": (403, "You are not allowed to sample from this model", "invalid_request_error", None),
        "no_model": (
            404,
            "The model does not exist or you do not have access",
            "invalid_request_error",
            "model_not_found",
        ),
        "no_quota": (429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
        "rejected": (400, "Invalid 'messages[1].content': odd value", "invalid_request_error", "invalid_value"),
        "unprocessable": (422, "Unprocessable entity", "invalid_request_error", None),
    }
    if kind == "no_route":
        return response(404, {"detail": "Not Found"})
    if kind in for_ever:
        status, message, sort, code = for_ever[kind]
        return error(status, message, sort, code=code)
    return too_long(kind, 9000, 8192) if kind.startswith("too_long") else None


def too_long(kind: str, tokens: int, room: int) -> Answer:
    """The input does not fit, as OpenAI (with a code, or for embeddings without), llama.cpp and vLLM word it."""
    text = f"This model's maximum context length is {room} tokens. However, your messages resulted in {tokens} tokens."
    if kind == "too_long_llamacpp":
        text = "the request exceeds the available context size, try increasing it"
        return error(400, text, "exceed_context_size_error", code=400, n_prompt_tokens=tokens, n_ctx=room)
    if kind == "too_long_vllm":
        return error(400, text, "BadRequestError", code=400, param="input_tokens")
    if kind == "too_long_plain":
        return error(400, text, "invalid_request_error")
    return error(400, text, "invalid_request_error", code="context_length_exceeded", param="messages")


def completion(body: dict[str, Any], content: str, drawn: Drawn, *, tokens_in: int, cached: int) -> Answer:
    """A chat completion, cut where the reply does not fit into the room that the request gives it."""
    refused = None
    finish = "stop"
    if drawn.kind == "refusal":
        content, refused = "", "I'm sorry, but I can't help with that."
    elif drawn.kind == "content_filter":
        content, finish = ("", content[: len(content) // 3])[drawn.variant % 2], "content_filter"
    else:
        content, finish = spoilt(drawn.kind, drawn.variant, content)
    room = body.get("max_tokens") or body.get("max_completion_tokens")
    if room and len(content) > 4 * room:
        content, finish = content[: 4 * room], "length"
    tokens_out = tokens_of(content)
    message: dict[str, Any] = {"role": "assistant", "content": None if refused else content, "refusal": refused}
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    document = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {**usage, "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0}},
        "system_fingerprint": "fp_test",
    }
    return response(
        200, document, tokens_in=tokens_in, tokens_out=tokens_out, ending="half" if drawn.kind == "dropped" else ""
    )


def vectors(body: dict[str, Any], texts: list[str], dimension: int, drawn: Drawn) -> Answer:
    """A list of embeddings: base64 or numbers, as was asked for."""
    if drawn.kind == "wrong_dimension":
        dimension += 1
    made = [vector_of(text, dimension) for text in texts]
    if drawn.kind == "short_list":
        made = made[:-1]
    if drawn.kind == "not_finite" and made:
        made[-1] = [math.nan, *made[-1][1:]]
    as_text = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode() if as_text else vector,
        }
        for index, vector in enumerate(made)
    ]
    tokens = sum(tokens_of(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    document = {"object": "list", "data": data, "model": body.get("model"), "usage": usage}
    return response(200, document, tokens_in=tokens, ending="half" if drawn.kind == "dropped" else "")


def vector_of(text: str, dimension: int) -> list[float]:
    """A unit vector that depends on the text alone; float32 exact, so base64 and numbers agree to the bit."""
    raw = hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(2 * dimension)
    numbers = [value - 32767.5 for value in struct.unpack(f"<{dimension}H", raw)]
    norm = math.sqrt(sum(value * value for value in numbers))
    return list(struct.unpack(f"<{dimension}f", struct.pack(f"<{dimension}f", *(value / norm for value in numbers))))


def tokens_of(text: str) -> int:
    """Tokens as this server counts: one for each four characters begun."""
    return (len(text) + 3) // 4
