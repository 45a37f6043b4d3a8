"""Ingest: transcripts in, one new snapshot out."""

from dataclasses import asdict

import pyarrow as pa

from memlake.flows.run.adapter import step
from memlake.flows.run.jobs import GatherJob, StageJob, carry_out
from memlake.flows.run.landing import ATTEMPTS, Landing, build_of, models_for, seed_of
from memlake.flows.run.planning import IngestPlan, forget_gathered, plan_buckets, plan_files, read_only
from memlake.flows.run.record import check_dead_letters, finish, run_of
from memlake.flows.run.settings import IngestSettings
from memlake.transforms.base.errors import LakeConflictError
from memlake.transforms.base.ids import check_name
from memlake.transforms.base.sources import Shard
from memlake.transforms.lake.stage.manifest import dead_rows
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.lake.storage.snapshot import Snapshot


def ingest(settings: IngestSettings) -> dict[str, object]:
    """Read sources into a lake and publish one snapshot; the document of `memlake ingest --json`.

    Raises:
        UsageError: a setting that cannot be, before any work.
        TooManyDeadLettersError: it was done, and more of the input died than was allowed.
    """
    check_name("corpus", settings.corpus)
    specs = settings.specs()
    plan = plan_files(settings)
    if settings.dry_run:
        return read_only(plan, settings)
    lake = open_lake(settings.lake, create=True)
    with run_of(lake, "ingest", asdict(settings)) as run:
        with models_for(settings, run, specs) as models:
            base = lake.latest()
            build = build_of(lake, base, settings.corpus, specs, settings.embedder_name, edge=models.edge)
            seed = seed_of(build, plan.fingerprint)
            gathered: list[str] = []

            def planned(_: Snapshot) -> tuple[list[Shard], list[pa.Table]]:
                shards = plan.shards(seed)
                buckets, dead = _gather(lake, plan, seed, settings, run.run_id, gathered, first=len(shards))
                return [*shards, *buckets], [dead_rows(plan.dead), *dead]

            job = StageJob(build, run.run_id, settings.execution, plan.options)
            landing = Landing(run, job, settings.lock_timeout_s, models, plan.total_bytes)
            published, report = landing.land(base, planned)
        forget_gathered(lake, gathered)
        made = finish(run, published, report)
        check_dead_letters(
            made,
            report,
            files=plan.files,
            allow_files=settings.allow_dead,
            allow_records=settings.allow_dead_records,
        )
    return made


def _gather(
    lake: Lake, plan: IngestPlan, seed: str, settings: IngestSettings, run_id: str, gathered: list[str], *, first: int
) -> tuple[list[Shard], list[pa.Table]]:
    """Run the first job for formats that spread a conversation over lines and files; nothing when there are none.

    What it gathers is shared with other runs over the same files, which may finish and clear it away: then it is
    gathered again.
    """
    shards = plan.gathering(seed)
    if not shards:
        return [], []
    job = GatherJob(str(lake.root), run_id, settings.execution, plan.buckets, plan.options)
    for _ in range(ATTEMPTS):
        gathered[:] = step(carry_out, name="gather-turns", retries=2)(job, shards, total_bytes=plan.total_bytes)
        found = plan_buckets(lake, gathered, seed, first=first)
        if found is not None:
            return found
    raise LakeConflictError(
        f"lake={lake.uri}: other runs over the same files cleared away {ATTEMPTS} times what this run had gathered",
        hint="run the command again",
    )
