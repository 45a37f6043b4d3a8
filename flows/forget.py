"""Forget: a conversation out of every table."""

from dataclasses import asdict, dataclass
from functools import partial

from memlake.flows.run.record import run_of
from memlake.transforms.lake.commit.audit import run_audits
from memlake.transforms.lake.commit.publish import forget as publish_without
from memlake.transforms.lake.storage.lake import open_lake


@dataclass(frozen=True)
class ForgetSettings:
    """What `memlake forget` is told."""

    lake: str
    corpus: str
    conversation: str
    lock_timeout_s: float = 60.0


def forget(settings: ForgetSettings) -> dict[str, object]:
    """Publish a snapshot without a conversation; the document of `memlake forget --json`.

    Raises:
        NotFoundError: no such lake or conversation.
    """
    lake = open_lake(settings.lake)
    with run_of(lake, "forget", asdict(settings)) as run:
        published = publish_without(
            lake,
            settings.corpus,
            settings.conversation,
            run_id=run.run_id,
            audit=partial(run_audits, lake),
            lock_timeout_s=settings.lock_timeout_s,
        )
        run.snapshot_id, run.outcome = published.snapshot_id, "published"
        return {
            "run_id": run.run_id,
            "snapshot_id": published.snapshot_id,
            "base_snapshot_id": published.base_snapshot_id,
            "removed": {name: counts.removed for name, counts in published.counts.items() if counts.removed},
            "older_snapshots_hold_it": True,
            "seconds": run.seconds,
        }
