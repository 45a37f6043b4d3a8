"""Embed: vectors of stored units."""

from dataclasses import asdict

from memlake.flows.run.jobs import StageJob
from memlake.flows.run.landing import Landing, models_for, seed_of, wanted_of
from memlake.flows.run.record import finish, run_of
from memlake.flows.run.settings import EmbedSettings
from memlake.transforms.lake.query.stored_shards import check_representations, stored_shards
from memlake.transforms.lake.storage.lake import open_lake


def embed(settings: EmbedSettings) -> dict[str, object]:
    """Embed stored units and publish one snapshot; the document of `memlake embed --json`.

    Raises:
        NotFoundError: no such lake, corpus, representation or embedder.
    """
    lake = open_lake(settings.lake)
    with run_of(lake, "embed", asdict(settings)) as run:
        with models_for(settings, run) as models:
            base = lake.snapshot()
            chosen = check_representations(base, settings.corpus, settings.representations)
            wanted = wanted_of(lake, base, settings.corpus, (), settings.embedder, edge=models.edge, anew=True)
            seed = seed_of(wanted, *chosen)
            job = StageJob(lake, wanted, run.run_id, settings.execution, models=models)
            published, report = Landing(run, job, settings.lock_timeout_s).land(
                base,
                lambda now: (
                    stored_shards(
                        now, "units", settings.corpus, seed, settings.shard_bytes, chosen, workers=settings.workers
                    ),
                    (),
                ),
            )
        return finish(run, published, report)
