"""The driver's side of the models: limits for the whole job while it runs, the journal of calls when it has run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.llm.edge import EdgeSettings
from memlake.transforms.llm.limits.quota_server import QuotaServer, quota_server
from memlake.transforms.llm.protocol.model import ModelStoppedError
from memlake.transforms.llm.records.calls import sweep
from memlake.transforms.llm.records.prices import Price, check_priced, load_prices
from memlake.transforms.llm.settings import ModelSettings


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
    names = tuple(filter(None, models or (settings.model,)))
    if settings.max_cost is not None and not settings.offline:
        for model in names:
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
        opened = Models(edge, server, names)
        try:
            yield opened
            opened.check()
        except Exception as error:
            if server.stopped is not None and error is not server.stopped:
                raise server.stopped from error
            raise
        finally:
            sweep(lake, run_id=run_id)
