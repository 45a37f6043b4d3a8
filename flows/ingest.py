"""Ingest: transcripts in, one new snapshot out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from flows.adapter import step
from flows.jobs import Execution, GatherJob, StageJob
from flows.landing import Landing, seed_of, wanted_of
from flows.planning import Plan, forget_gathered, plan_buckets, plan_files, read_only
from flows.runs import check_dead_letters, finish, run_of
from transforms.ids import check_name
from transforms.lake.lake import Lake, open_lake
from transforms.lake.manifest import dead_rows
from transforms.represent.catalogue import making
from transforms.represent.chunks import CHUNKS
from transforms.represent.representation import Making


@dataclass(frozen=True)
class IngestSettings:
    """What `memlake ingest` is told; every field is a flag, an environment variable or a line of memlake.toml."""

    lake: str
    corpus: str
    sources: tuple[str, ...]
    format: str = "auto"
    representations: tuple[str, ...] = ("chunks",)
    embedder: str = "static"
    workers: int = 1
    runner: str = "fnapi"
    runner_options: tuple[str, ...] = ()
    allow_dead: float = 0.0
    allow_dead_records: float = 0.01
    corrections: str | None = None
    dry_run: bool = False
    lock_timeout_s: float = 60.0
    shard_bytes: int = 128 << 20
    chunk_size: int = 512
    overlap: int = 100
    quiet: bool = True

    @property
    def embedder_name(self) -> str:
        """The embedder, '' for none."""
        return "" if self.embedder == "none" else self.embedder

    @property
    def execution(self) -> Execution:
        """Where the jobs run."""
        return Execution(self.runner, self.workers, self.runner_options, self.quiet)

    def makings(self) -> tuple[Making, ...]:
        """The representations to make; chunks always, under a name that tells their settings."""
        sizes = {"size": self.chunk_size, "overlap": self.overlap}
        plain = sizes == {name: CHUNKS.defaults[name] for name in sizes}
        chunks = (
            "chunks"
            if plain
            else f"chunks-s{self.chunk_size}-o{self.overlap}:size={self.chunk_size},overlap={self.overlap}"
        )
        specs = [chunks, *(spec for spec in self.representations if spec != "chunks")]
        return tuple(making(spec) for spec in dict.fromkeys(specs))


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
