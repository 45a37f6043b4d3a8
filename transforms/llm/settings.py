"""How models are asked: each field is a flag, a variable, a line of memlake.toml and a field of a deployment's form."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import Field

from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.setting import Label, Setting, Text
from memlake.transforms.llm.protocol.retry_policy import RetryPolicy

if TYPE_CHECKING:
    from memlake.transforms.llm.limits.quota import Limits

_OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class ModelSettings:
    """How models are asked. The key is none of them: OPENAI_API_KEY is read where the client is made.

    Attributes:
        model: '' for none; a representation that asks one then has to name it.
        base_url: '' for OPENAI_BASE_URL, else OpenAI's own.
        provider: what the server is called in `calls` and in the hashes that the cache goes by; '' for its host name.
        timeout_s: of one exchange.
    """

    model: Annotated[Label, Setting("The model that is asked; there is no default.")] = ""
    base_url: Annotated[
        Label, Setting("Its OpenAI-compatible server (default OPENAI_BASE_URL, else OpenAI's own).")
    ] = ""
    provider: Annotated[Label, Setting("What its server is called on record (default its host name).")] = ""
    max_in_flight: Annotated[int, Field(ge=1), Setting("Calls to models at a time, of a whole job.")] = 16
    requests_per_minute: Annotated[
        int | None, Field(ge=1), Setting("Calls to models a minute, of a whole job (default no limit).")
    ] = None
    tokens_per_minute: Annotated[
        int | None, Field(ge=1), Setting("Tokens of calls a minute, of a whole job (default no limit).")
    ] = None
    max_cost: Annotated[
        float | None,
        Field(ge=0),
        Setting("US dollars after which a run stops, to be taken up again (default no limit)."),
    ] = None
    offline: Annotated[bool, Setting("Call no model: replay what the lake's cache holds.")] = False
    prices: Annotated[Text | None, Setting("A TOML file of prices that override the built-in ones.")] = None
    timeout_s: float = 120.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def server(self) -> str:
        """The address of the OpenAI-compatible server.

        Raises:
            UsageError: it is no http address.
        """
        address = self.base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        if not _is_http(address):
            named = "base-url" if self.base_url else "OPENAI_BASE_URL"
            raise UsageError(
                f"{named}={address!r} is not http://HOST/PATH or https://HOST/PATH, with :PORT from 1 to 65535 or none",
                hint="--base-url http://localhost:8000/v1",
            )
        return address

    @property
    def provider_name(self) -> str:
        """What the server is called on record: a host's name, so that another port is still the same provider."""
        return self.provider or urlsplit(self.server).hostname or ""

    @property
    def limits(self) -> "Limits":
        """What all workers together may do."""
        from memlake.transforms.llm.limits.quota import Limits  # imports PyArrow, which no --help needs

        return Limits(self.max_in_flight, self.requests_per_minute, self.tokens_per_minute, self.max_cost)


def _is_http(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        return False
