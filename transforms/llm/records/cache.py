"""The reply cache: what a model said once is never paid again, on this machine or another that has the lake.

An entry a file, named by the hash of what was asked, in the lake's `cache/llm`; it belongs to no snapshot. An entry is put
whole or not at all, and the first entry stays. A broken entry, as a power loss leaves it, is as good as none, and so is an
entry whose request is not of the hash that it is found by.
"""

import base64
import binascii
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from memlake.transforms.base.ids import content_id
from memlake.transforms.lake.storage.place import put_once, put_text
from memlake.transforms.llm.protocol.model import UNFINISHED, Embedded, Message, Mode, Outcome, Reply, Request

# Raised when entries change meaning; entries of another version are as good as none.
_VERSION = 1
_OUTCOMES = frozenset(get_args(Outcome)) - UNFINISHED
_MODES = frozenset(get_args(Mode))
# The fields of a Reply that an entry holds.
_TEXTS = ("outcome", "text", "detail", "mode")
_COUNTS = ("tokens_in", "tokens_out", "tokens_cached")


class ReplyCache:
    """Entries in a lake's folder; any number of threads and processes may read and put at the same time.

    Attributes:
        folder: where the entries lie, in folders by the first two digits of their hash.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root / "cache" / "llm"

    def path(self, request_hash: str) -> Path:
        """Where the entry of a request lies, or would."""
        return self.folder / request_hash[:2] / f"{request_hash}.json"

    def get(self, request_hash: str) -> Reply | None:
        """What came of a request before; None when it was never put, or what was put is broken."""
        entry = self._read(request_hash, "chat")
        return None if entry is None else _reply(request_hash, entry)

    def put(self, reply: Reply, *, request: Request, provider: str, about: str) -> bool:
        """Keep what came of a request, unless it is kept already; say whether it was put.

        Raises:
            ValueError: what came of it is not the last word (transient, missing), or it answers another request.
        """
        if reply.request_hash != request.hash(provider):
            raise ValueError(f"reply={reply.request_hash} does not answer request={request.hash(provider)}")
        _check_final(reply.outcome)
        entry = {
            **{name: getattr(reply, name) for name in (*_TEXTS, *_COUNTS)},
            "model": request.model,
            "provider": provider,
            "about": about,
            "request": asdict(request),
        }
        return self._put(reply.request_hash, "chat", entry)

    def get_vector(self, request_hash: str) -> Embedded | None:
        """What came of embedding a text before, by its `embedding_hash`; None as in `get`."""
        entry = self._read(request_hash, "embedding")
        return None if entry is None else _embedded(entry)

    def put_vector(
        self,
        request_hash: str,
        embedded: Embedded,
        *,
        model: str,
        provider: str,
        text: str,
        about: str,
        tokens: int | None = None,
    ) -> bool:
        """Keep what came of embedding a text, unless it is kept already; say whether it was put.

        Args:
            tokens: of this text, when the server said it of the text alone.

        Raises:
            ValueError: what came of it is not the last word, is no vector, or is of another text.
        """
        if request_hash != embedding_hash(provider, model, text):
            raise ValueError(f"hash={request_hash} is not that of the text and model={model!r}")
        _check_final(embedded.outcome)
        if not _is_vector(embedded.outcome, embedded.vector):
            raise ValueError(f"outcome={embedded.outcome} with a vector of {len(embedded.vector)} bytes")
        entry = {
            "outcome": embedded.outcome,
            "vector": base64.b64encode(embedded.vector).decode(),
            "detail": embedded.detail,
            "tokens_in": tokens,
            "model": model,
            "provider": provider,
            "about": about,
            "request": {"model": model, "input": text},
        }
        return self._put(request_hash, "embedding", entry)

    def _read(self, request_hash: str, kind: str) -> dict[str, Any] | None:
        """The entry as it stands; None when it is none of ours or says that it is of another request."""
        try:
            entry = json.loads(self.path(request_hash).read_bytes())
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        head = {"version": _VERSION, "kind": kind, "request_hash": request_hash}
        if not isinstance(entry, dict) or any(entry.get(name) != value for name, value in head.items()):
            return None
        return entry if _asked(kind, entry) == request_hash else None

    def _put(self, request_hash: str, kind: str, entry: dict[str, Any]) -> bool:
        when = datetime.now(UTC).isoformat()
        text = json.dumps({"version": _VERSION, "kind": kind, "request_hash": request_hash, **entry, "put_at": when})
        path = self.path(request_hash)
        path.parent.mkdir(parents=True, exist_ok=True)
        if put_once(path, text):
            return True
        if (self.get(request_hash) or self.get_vector(request_hash)) is not None:
            return False
        put_text(path, text)  # a broken entry would stand in the way for ever
        return True


def embedding_hash(provider: str, model: str, text: str) -> str:
    """128-bit blake2b by which the vector of a text is found."""
    return content_id("embedding", provider, model, text)


def _asked(kind: str, entry: dict[str, Any]) -> str:
    """The hash of the request that an entry says it answers; '' when it says none."""
    try:
        provider, fields = entry["provider"], entry["request"]
        if kind == "embedding":
            return embedding_hash(provider, fields["model"], fields["input"])
        messages = tuple(Message(**message) for message in fields["messages"])
        return Request(**{**fields, "messages": messages}).hash(provider)
    except (KeyError, TypeError, ValueError):
        return ""


def _check_final(outcome: str) -> None:
    if outcome not in _OUTCOMES:
        raise ValueError(f"outcome={outcome!r} is not kept: {', '.join(sorted(_OUTCOMES))}")


def _reply(request_hash: str, entry: dict[str, Any]) -> Reply | None:
    values: dict[str, Any] = {name: entry.get(name) for name in (*_TEXTS, *_COUNTS)}
    if not all(isinstance(values[name], str) for name in _TEXTS):
        return None
    if values["outcome"] not in _OUTCOMES or values["mode"] not in _MODES:
        return None
    if not all(values[name] is None or type(values[name]) is int for name in _COUNTS):
        return None
    return Reply(request_hash, from_cache=True, **values)


def _embedded(entry: dict[str, Any]) -> Embedded | None:
    values = {name: entry.get(name) for name in ("outcome", "detail", "vector")}
    if not all(isinstance(value, str) for value in values.values()) or values["outcome"] not in _OUTCOMES:
        return None
    fields: dict[str, Any] = values
    try:
        vector = base64.b64decode(fields["vector"], validate=True)
    except binascii.Error:
        return None
    return Embedded(fields["outcome"], vector, fields["detail"]) if _is_vector(fields["outcome"], vector) else None


def _is_vector(outcome: str, vector: bytes) -> bool:
    """Whether there are float32 numbers where there should be, and none where not."""
    return (outcome == "ok") == bool(vector) and len(vector) % 4 == 0
