"""Represent: further representations of turns that the lake holds."""

from dataclasses import asdict

from memlake.flows.run.jobs import StageJob
from memlake.flows.run.landing import Landing, build_of, from_stored, models_for, seed_of
from memlake.flows.run.record import check_dead_letters, finish, run_of
from memlake.flows.run.settings import RepresentSettings
from memlake.transforms.base.errors import UsageError
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.represent.catalogue import asking
from memlake.transforms.represent.price import price_representation


def represent(settings: RepresentSettings) -> dict[str, object]:
    """Make representations from stored turns and publish one snapshot; the document of `memlake represent --json`.

    Raises:
        NotFoundError: no such lake, corpus or representation.
        UsageError: a representation is stored with other settings.
        ModelStoppedError: the models stopped the run; nothing was published.
        TooManyDeadLettersError: it was done, and more of the pieces given to a model failed than was allowed.
    """
    specs = settings.specs()
    lake = open_lake(settings.lake)
    with run_of(lake, "represent", asdict(settings)) as run:
        with models_for(settings, run, specs) as models:
            base = lake.snapshot()
            build = build_of(lake, base, settings.corpus, specs, settings.embedder_name, edge=models.edge)
            job = StageJob(build, run.run_id, settings.execution)
            landing = Landing(run, job, settings.lock_timeout_s, models)
            published, report = landing.land(base, from_stored(settings, "turns", seed_of(build)))
        made = finish(run, published, report)
        check_dead_letters(made, report, allow_records=settings.allow_dead_records, of="pieces")
    return made


def price_represent(settings: RepresentSettings) -> dict[str, object]:
    """The calls that `memlake represent` would make and their price; the document of `--plan --json`.

    Raises:
        NotFoundError: no such lake, corpus or representation.
        UsageError: none of the representations asks a model.
    """
    specs = settings.specs()
    if not any(map(asking, specs)):
        raise UsageError(
            f"representations={', '.join(spec.name for spec in specs)}: none asks a model, so none has a price",
            hint="leave --plan out",
        )
    lake = open_lake(settings.lake)
    base = lake.snapshot()
    return {
        "corpus": settings.corpus,
        "snapshot_id": base.snapshot_id,
        "representations": [
            price_representation(lake, base, settings.corpus, spec, settings.models) for spec in specs if asking(spec)
        ],
    }
