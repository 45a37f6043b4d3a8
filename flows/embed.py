"""Embed: vectors of stored units."""

from dataclasses import asdict, dataclass

from flows.jobs import Execution, StageJob
from flows.landing import Landing, seed_of, wanted_of
from flows.runs import finish, run_of
from flows.stored import check_representations, stored_shards
from transforms.lake.lake import open_lake


@dataclass(frozen=True)
class EmbedSettings:
    """What `memlake embed` is told; no representations means all that are stored."""

    lake: str
    corpus: str
    embedder: str = "static"
    representations: tuple[str, ...] = ()
    workers: int = 1
    runner: str = "fnapi"
    runner_options: tuple[str, ...] = ()
    lock_timeout_s: float = 60.0
    shard_bytes: int = 128 << 20
    quiet: bool = True

    @property
    def execution(self) -> Execution:
        """Where the job runs."""
        return Execution(self.runner, self.workers, self.runner_options, self.quiet)


def embed(settings: EmbedSettings) -> dict[str, object]:
    """Embed stored units and publish one snapshot; the document of `memlake embed --json`.

    Raises:
        NotFoundError: no such lake, corpus, representation or embedder.
    """
    lake = open_lake(settings.lake)
    with run_of(lake, "embed", asdict(settings)) as run:
        base = lake.snapshot()
        chosen = check_representations(base, settings.corpus, settings.representations)
        wanted = wanted_of(lake, base, settings.corpus, (), settings.embedder)
        seed = seed_of(wanted, *chosen)
        shards = stored_shards(base, "units", settings.corpus, seed, settings.shard_bytes, chosen)
        job = StageJob(lake, wanted, run.run_id, settings.execution)
        published, report = Landing(run, job, settings.lock_timeout_s).land(shards)
        return finish(run, published, report)
