"""Represent: further representations of turns that the lake holds."""

from dataclasses import asdict

from flows.jobs import StageJob
from flows.landing import Landing, models_for, seed_of, wanted_of
from flows.runs import check_dead_letters, finish, run_of
from flows.settings import RepresentSettings
from flows.stored import stored_shards
from transforms.lake.lake import open_lake


def represent(settings: RepresentSettings) -> dict[str, object]:
    """Make representations from stored turns and publish one snapshot; the document of `memlake represent --json`.

    Raises:
        NotFoundError: no such lake, corpus or representation.
        UsageError: a representation is stored with other settings.
        ModelStoppedError: the models stopped the run; nothing was published.
        TooManyDeadLettersError: it was done, and more of the pieces given to a model failed than was allowed.
    """
    makings = settings.makings()
    lake = open_lake(settings.lake)
    with run_of(lake, "represent", asdict(settings)) as run:
        with models_for(settings, run, makings) as models:
            base = lake.snapshot()
            wanted = wanted_of(lake, base, settings.corpus, makings, settings.embedder_name, edge=models.edge)
            seed = seed_of(wanted)
            job = StageJob(lake, wanted, run.run_id, settings.execution, models=models)
            published, report = Landing(run, job, settings.lock_timeout_s).land(
                base,
                lambda now: (
                    stored_shards(now, "turns", settings.corpus, seed, settings.shard_bytes, workers=settings.workers),
                    (),
                ),
            )
        made = finish(run, published, report)
        check_dead_letters(made, report, allow_records=settings.allow_dead_records, of="pieces")
    return made
