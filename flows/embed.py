"""Embed: vectors of stored units."""

from dataclasses import asdict

from memlake.flows.run.jobs import StageJob
from memlake.flows.run.landing import Landing, build_of, from_stored, models_for, seed_of
from memlake.flows.run.record import finish, run_of
from memlake.flows.run.settings import EmbedSettings
from memlake.transforms.lake.query.stored_shards import check_representations
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
            build = build_of(lake, base, settings.corpus, (), settings.embedder, edge=models.edge, anew=True)
            job = StageJob(build, run.run_id, settings.execution)
            landing = Landing(run, job, settings.lock_timeout_s, models)
            published, report = landing.land(base, from_stored(settings, "units", seed_of(build, *chosen), chosen))
        return finish(run, published, report)
