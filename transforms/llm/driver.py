"""The driver's side of the models: limits for the whole job while it runs, the journal of calls when it has run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from memlake.transforms.base.errors import UsageError
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.llm.edge import EdgeSettings
from memlake.transforms.llm.limits.quota import Limits
from memlake.transforms.llm.limits.quota_server import QuotaServer, quota_server
from memlake.transforms.llm.protocol.model import ModelStoppedError
from memlake.transforms.llm.protocol.retry import RetryPolicy
from memlake.transforms.llm.records.calls import sweep
from memlake.transforms.llm.records.prices import Price, check_priced, load_prices

_OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class ModelSettings:
    """How models are asked. The key is none of them: OPENAI_API_KEY is read where the client is made.

    Attributes:
        model: '' for none; a representation that asks one then has to name it.
        base_url: '' for OPENAI_BASE_URL, else OpenAI's own.
        provider: what the server is called in `calls` and in the hashes that the cache goes by; '' for its host name.
        prices: a TOML file of prices that override the built-in ones.
        timeout_s: of one exchange.
    """

    model: str = ""
    base_url: str = ""
    provider: str = ""
    max_in_flight: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_cost: float | None = None
    offline: bool = False
    prices: str | None = None
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
    def limits(self) -> Limits:
        """What all workers together may do."""
        return Limits(self.max_in_flight, self.requests_per_minute, self.tokens_per_minute, self.max_cost)


def _is_http(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        return False


def prices_of(settings: ModelSettings) -> tuple[Price, ...]:
    """The price table that the settings name.

    Raises:
        UsageError: the user's file is none.
    """
    return load_prices(Path(settings.prices) if settings.prices else None)


@dataclass(frozen=True, slots=True)
class Models:
    """The models of one run: what its workers need to ask them, and whether they answered; empty where none is asked.

    Attributes:
        names: of the models, for people.
    """

    edge: EdgeSettings | None = None
    server: QuotaServer | None = None
    names: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse to go on with what is not whole.

        Raises:
            ModelStoppedError: the models stopped the run, or it is offline and the cache lacks replies.
        """
        stopped = (self.server.stopped or self._missing()) if self.server else None
        if stopped is not None:
            raise stopped

    def summary(self) -> str:
        """What was asked so far, for people."""
        assert self.server is not None
        spent = f", {self.server.spent_usd:,.4f} US dollars" if self.server.spent_usd else ""
        return f"{self.server.paid_calls:,} calls, {self.server.cached_calls:,} from the cache{spent}"

    def _missing(self) -> ModelStoppedError | None:
        """What an offline run lacks; None when it lacked nothing."""
        if self.server is None or self.edge is None or not self.server.missing_count:
            return None
        more = self.server.missing_count - len(self.server.missing)
        return ModelStoppedError(
            f"offline: {self.server.missing_count} replies are not in the cache, of model="
            f"{', '.join(map(repr, dict.fromkeys(self.names)))} by provider={self.edge.provider!r}: "
            + "; ".join(self.server.missing)
            + (f"; and {more} more" if more else ""),
            code="model_offline",
            hint="run it without --offline, which asks for these alone; replies that are kept under another "
            "provider's name need --provider NAME",
        )


@contextmanager
def open_models(
    settings: ModelSettings, lake: Lake, run_id: str, *, needed: bool, models: tuple[str, ...] = ()
) -> Iterator[Models]:
    """Let the block's workers ask models under one set of limits; append what they asked to `calls`, however it ends.

    Args:
        needed: whether anything of the run asks a model.
        models: those that are asked, where they are others than `settings.model`.

    Raises:
        UsageError: a setting that cannot be, or a limit on cost with a model whose price is not known.
        ModelStoppedError: the models stopped the run, in place of whatever the block raised for that; or the run is
            offline and the cache lacks replies.
    """
    if not needed:
        yield Models()
        return
    prices = prices_of(settings)
    if settings.max_cost is not None and not settings.offline:
        for model in filter(None, models or (settings.model,)):
            check_priced(prices, model)
    with quota_server(settings.limits) as server:
        edge = EdgeSettings(
            lake=str(lake.root),
            run_id=run_id,
            base_url=settings.server,
            provider=settings.provider_name,
            quota=server.address,
            offline=settings.offline,
            timeout_s=settings.timeout_s,
            retry=settings.retry,
            prices=prices,
        )
        opened = Models(edge, server, tuple(filter(None, models or (settings.model,))))
        try:
            yield opened
            opened.check()
        except Exception as error:
            if server.stopped is not None and error is not server.stopped:
                raise server.stopped from error
            raise
        finally:
            sweep(lake, run_id=run_id)
