"""Ingest: transcripts in, one new snapshot out."""

from collections.abc import Sequence
from dataclasses import asdict

from flows.adapter import step
from flows.jobs import GatherJob, StageJob
from flows.landing import Landing, seed_of, wanted_of
from flows.planning import Plan, forget_gathered, plan_buckets, plan_files, read_only
from flows.runs import check_dead_letters, finish, run_of
from flows.settings import IngestSettings
from transforms.ids import check_name
from transforms.lake.lake import Lake, open_lake
from transforms.lake.manifest import dead_rows


def ingest(settings: IngestSettings) -> dict[str, object]:
    """Read sources into a lake and publish one snapshot; the document of `memlake ingest --json`.

    Raises:
        UsageError: a setting that cannot be, before any work.
        TooManyDeadLettersError: it was done, and more of the input died than was allowed.
    """
    check_name("corpus", settings.corpus)
    makings = settings.makings()
    plan = plan_files(settings)
    if settings.dry_run:
        return read_only(plan, settings)
    lake = open_lake(settings.lake, create=True)
    with run_of(lake, "ingest", asdict(settings)) as run:
        base = lake.latest()
        wanted = wanted_of(lake, base, settings.corpus, makings, settings.embedder_name)
        seed = seed_of(wanted, plan.fingerprint)
        shards = plan.shards(seed)
        gathered = _gather(lake, plan, seed, settings, run.run_id)
        buckets, dead = plan_buckets(lake, gathered, seed, first=len(shards))
        job = StageJob(lake, wanted, run.run_id, settings.execution, plan.options, plan.total_bytes)
        landing = Landing(run, job, settings.lock_timeout_s)
        published, report = landing.land([*shards, *buckets], [dead_rows(plan.dead), *dead])
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


def _gather(lake: Lake, plan: Plan, seed: str, settings: IngestSettings, run_id: str) -> Sequence[str]:
    """Run the first job for formats that spread a conversation over lines and files; nothing when there are none."""
    shards = plan.gathering(seed)
    if not shards:
        return ()
    job = GatherJob(lake, run_id, settings.execution, plan.buckets, plan.options, plan.total_bytes)
    return step(job.run, name="gather-turns", retries=2)(shards)
