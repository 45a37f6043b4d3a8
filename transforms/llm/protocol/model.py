"""What a model is asked and what it says: plain data, the same whatever server stands behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from memlake.schemas.table import settings_json
from memlake.transforms.base.errors import MemlakeError
from memlake.transforms.base.ids import content_id

# How a reply was held to its form: a strict JSON schema, JSON of any shape, or no more than being asked for it.
Mode = Literal["json_schema", "json_object", "text", ""]
# What came of a request. 'cut': the server ended the reply at the token limit. 'transient': every attempt failed for
# a reason that may pass, so it is asked again in a later run. 'missing': --offline and not in the cache. The others
# are the item's own fault and stay as they are: asking again would bring the same.
Outcome = Literal["ok", "cut", "refused", "filtered", "too_long", "rejected", "transient", "missing"]
UNFINISHED: frozenset[str] = frozenset({"transient", "missing"})


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """What a chat model is asked; two that are equal are one call, whoever asks and whenever.

    Attributes:
        max_tokens: room for the reply.
        schema: JSON Schema of the reply as text (`settings_json`); '' for free text.
        schema_name: what the schema is called on the wire; letters, digits, '_' and '-'.
    """

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    schema: str = ""
    schema_name: str = ""
    temperature: float = 0.0
    seed: int | None = None

    def hash(self, provider: str) -> str:
        """128-bit blake2b of provider, model, messages, schema and sampling; how the wire words it does not count."""
        messages = settings_json([[message.role, message.content] for message in self.messages])
        sampling = settings_json([self.max_tokens, self.temperature, self.seed])
        return content_id("chat", provider, self.model, messages, self.schema, sampling)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a request.

    Attributes:
        text: the reply as the model wrote it, to the character; '' when there is none.
        detail: what the server said when there is no reply: its error, the refusal, the filter.
        tokens_in, tokens_out, tokens_cached: as the server counted; null when it did not.
        from_cache: it was paid for before.
    """

    request_hash: str
    outcome: Outcome
    text: str = ""
    detail: str = ""
    mode: Mode = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    from_cache: bool = False


class Model(Protocol):
    """A chat model behind the edge: limits, retries, cache and the journal are its business, not the caller's."""

    async def ask(self, request: Request, *, stage: str, about: str) -> Reply:
        """The reply to a request; an item's failure is an outcome, never an exception.

        Args:
            stage: extract, answer or judge: the column of `calls`.
            about: what the request is about, to name it when it is missing offline: "conversation 'c1', turns 4-9".

        Raises:
            ModelStoppedError: the whole run is to stop: a bad key, no quota, no server, the cost limit.
        """


class TextEmbedder(Protocol):
    """An embedding model behind the edge."""

    async def embed(self, model: str, texts: Sequence[str], *, about: str) -> list["Embedded"]:
        """One entry a text, in order; each distinct text is paid once, ever.

        Raises:
            ModelStoppedError: see Model.ask.
        """


@dataclass(frozen=True, slots=True)
class Embedded:
    """What came of embedding one text; `vector` is little-endian float32 bytes, empty unless the outcome is 'ok'."""

    outcome: Outcome
    vector: bytes = b""
    detail: str = ""


class ModelStoppedError(MemlakeError):
    """A model run that cannot go on; what was paid is in the cache, so the same command takes it up again.

    Codes: model_refused (bad key, no such model), model_quota (quota used up), model_unreachable (nothing but
    transient failures), model_cost (the --max-cost limit), model_offline (replies are missing from the cache).
    """

    code = "model_stopped"

    def __init__(self, message: str, *, code: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code
