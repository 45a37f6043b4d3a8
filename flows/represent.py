"""Represent: further representations of turns that the lake holds."""

from dataclasses import asdict

from flows.jobs import StageJob
from flows.landing import Landing, seed_of, wanted_of
from flows.runs import finish, run_of
from flows.settings import RepresentSettings
from flows.stored import stored_shards
from transforms.lake.lake import open_lake
from transforms.represent.catalogue import making


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
        wanted = wanted_of(lake, base, settings.corpus, makings, settings.embedder_name)
        seed = seed_of(wanted)
        job = StageJob(lake, wanted, run.run_id, settings.execution)
        published, report = Landing(run, job, settings.lock_timeout_s).land(
            base, lambda now: (stored_shards(now, "turns", settings.corpus, seed, settings.shard_bytes), ())
        )
        return finish(run, published, report)
