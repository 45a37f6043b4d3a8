"""Represent: further representations of turns that the lake holds."""

from dataclasses import asdict, dataclass

from flows.jobs import Execution, StageJob
from flows.landing import Landing, seed_of, wanted_of
from flows.runs import finish, run_of
from flows.stored import stored_shards
from transforms.lake.lake import open_lake
from transforms.represent.catalogue import making


@dataclass(frozen=True)
class RepresentSettings:
    """What `memlake represent` is told."""

    lake: str
    corpus: str
    names: tuple[str, ...]
    embedder: str = "static"
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


def represent(settings: RepresentSettings) -> dict[str, object]:
    """Make representations from stored turns and publish one snapshot; the document of `memlake represent --json`.

    Raises:
        NotFoundError: no such lake, corpus or representation.
        UsageError: a representation is stored with other settings.
    """
    makings = tuple(making(name) for name in dict.fromkeys(settings.names))
    lake = open_lake(settings.lake)
    with run_of(lake, "represent", asdict(settings)) as run:
        base = lake.snapshot()
        embedder = "" if settings.embedder == "none" else settings.embedder
        wanted = wanted_of(lake, base, settings.corpus, makings, embedder)
        shards = stored_shards(base, "turns", settings.corpus, seed_of(wanted), settings.shard_bytes)
        job = StageJob(lake, wanted, run.run_id, settings.execution)
        published, report = Landing(run, job, settings.lock_timeout_s).land(shards)
        return finish(run, published, report)
