"""Stage shards, commit them, and stage again what the lake's movement made untrue meanwhile."""

import json
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import pyarrow as pa

from memlake.flows.run.adapter import step
from memlake.flows.run.jobs import Executor, StageJob, carry_out, run_in_beam
from memlake.flows.run.record import Report, Run, code_version, collect
from memlake.flows.run.settings import PipelineSettings
from memlake.schemas import REPRESENTATIONS
from memlake.schemas.table import settings_json
from memlake.schemas.vectors import representation_of, vectors_table
from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.base.errors import LakeConflictError, UsageError
from memlake.transforms.base.sources import Shard
from memlake.transforms.embed.catalogue import card_of, served_models
from memlake.transforms.embed.embedder import fingerprint
from memlake.transforms.embed.vectors import check_card
from memlake.transforms.lake.commit.audit import run_audits
from memlake.transforms.lake.commit.publish import PublishedSnapshot, publish_shards
from memlake.transforms.lake.query.stored_shards import stored_shards
from memlake.transforms.lake.stage.manifest import (
    Manifest,
    StageAgainError,
    dead_rows,
    discard,
    drop_manifest,
    staged_manifests,
)
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.parts import BaseParts
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.driver import Models, open_models
from memlake.transforms.llm.edge import EdgeSettings
from memlake.transforms.llm.protocol.model import ModelStoppedError
from memlake.transforms.llm.records.calls import paid
from memlake.transforms.represent.batches import BuildSpec
from memlake.transforms.represent.catalogue import OF_THE_RUN, asking
from memlake.transforms.represent.common.representation import RepresentationSpec
from memlake.transforms.represent.supplied import supplied_spec

ATTEMPTS = 4
# The shards to stage, of which there may be no end, and dead letters met while planning, for a base.
ShardPlanner = Callable[[Snapshot], tuple[Iterable[Shard], Sequence[pa.Table]]]


@dataclass(frozen=True, slots=True)
class Landing:
    """What a pipeline run is to bring into the lake.

    Attributes:
        models: those that the job asks; what they left unanswered offline is never handed on.
        total_bytes: of the input, for people; None where nobody knows.
        execute: what does the job on the shards; it may be elsewhere, and may take only the first of them.
    """

    run: Run
    job: StageJob
    lock_timeout_s: float = 60.0
    models: Models = field(default_factory=Models)
    total_bytes: int | None = None
    execute: Executor = run_in_beam

    def land(self, base: Snapshot, plan: ShardPlanner) -> tuple[PublishedSnapshot, Report]:
        """Plan, stage and publish; at most a few times over, each time from the newest base.

        Args:
            base: the snapshot that the job compares with.

        Raises:
            LakeConflictError: the lake would not stand still.
            ModelStoppedError: see `Models.check`; what was staged is thrown away.
        """
        lake, job = self.run.lake, self.job
        for _ in range(ATTEMPTS):
            shards, dead = plan(base)
            with self.run.timed("stage"):
                names = step(carry_out, name="stage-shards", retries=2)(
                    job,
                    shards,
                    self.execute,
                    total_bytes=self.total_bytes,
                    asked=self.models.summary if self.models.server else None,
                )
            try:
                manifests = staged_manifests(lake.staged, names)
                self._check_models(manifests)
                report = collect(lake, manifests, dead)
                with self.run.timed("publish"):
                    published = step(_publish, name="publish-snapshot")(self, manifests, report.representations)
            except StageAgainError:
                base = lake.latest()
                base_parts = replace(job.build.base_parts, snapshot_id=base.snapshot_id)
                job = replace(job, build=replace(job.build, base_parts=base_parts))
            else:
                return published, _with_conflicts(report, published)
        raise LakeConflictError(
            f"lake={lake.uri}: other writers changed it {ATTEMPTS} times while this run staged",
            hint="run the command again",
        )

    def _check_models(self, manifests: Sequence[Manifest]) -> None:
        """Throw away what is not whole: a later run would take it for finished."""
        try:
            self.models.check()
        except ModelStoppedError:
            for manifest in manifests:
                drop_manifest(self.run.lake.staged, manifest, beside=False)
                discard(self.run.lake.root, manifest)
            raise


def from_stored(
    settings: PipelineSettings, table: Literal["turns", "units"], seed: str, representations: Collection[str] = ()
) -> ShardPlanner:
    """Shards of what the lake holds of the corpus: its turns, or the units of some representations."""
    of, size, workers = settings.corpus, settings.shard_bytes, settings.workers
    return lambda base: (stored_shards(base, table, of, seed, size, representations, workers=workers), ())


@contextmanager
def models_for(settings: PipelineSettings, run: Run, specs: Sequence[RepresentationSpec] = ()) -> Iterator[Models]:
    """The models that a pipeline asks: for its representations, for its embedder; none for most.

    Raises:
        UsageError, ModelStoppedError: see `open_models`.
    """
    asked = [str(spec.settings["model"]) for spec in specs if asking(spec)]
    asked += served_models(settings.embedder)
    with open_models(settings.models, run.lake, run.run_id, needed=bool(asked), models=tuple(asked)) as models:
        yield models
    if asked:
        run.paid = paid(run.lake, run.run_id)


def build_of(
    lake: Lake,
    base: Snapshot,
    corpus: str,
    specs: tuple[RepresentationSpec, ...],
    embedder: str,
    *,
    edge: EdgeSettings | None = None,
    anew: bool = False,
) -> BuildSpec:
    """What a run makes, after checking that the lake holds nothing made otherwise under the same names.

    Args:
        edge: how models are asked, where one is.
        anew: vectors of another model are to be replaced, not refused.

    Raises:
        UsageError: a representation is stored with other settings.
        EmbedderMismatchError: vectors are stored that another model, revision or dimension made.
    """
    _check_settings(base, specs)
    made_by = ""
    if embedder:
        card = card_of(embedder, edge)
        made_by = fingerprint(card)
        for table in () if anew else base.lance_tables():
            held = base.lance_table(table)
            # Every table of this embedder: which supplied representations a source brings is not known yet.
            if held is not None and table == vectors_table(representation_of(table), embedder):
                check_card(
                    held.schema.metadata, card, f"memlake embed --embedder {shlex.quote(embedder)} --corpus {corpus}"
                )
    return BuildSpec(BaseParts(str(lake.root), base.snapshot_id, corpus), specs, embedder, made_by, edge)


def _check_settings(base: Snapshot, specs: Sequence[RepresentationSpec]) -> None:
    """Refuse a representation that is stored with other settings than it is asked for."""
    stored = {row["representation"]: row for row in base.read("representations").to_pylist()}
    for spec in specs:
        row = stored.get(spec.name)
        if row is None or row["settings_hash"] == spec.settings_hash:
            continue
        before, now = json.loads(row["settings"]), dict(spec.settings)
        keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
        differ = [f"{key}={before.get(key)!r} stored, {now.get(key)!r} asked for" for key in keys]
        if row["revision"] != spec.revision:
            differ.append(f"revision {row['revision']} stored, {spec.revision} asked for")
        flags = "".join(
            f" --{key} {shlex.quote(str(before[key]))}" for key in keys if before.get(key) and key in OF_THE_RUN
        )
        again = f"{flags.strip()} goes on with the stored one; or " if flags else ""
        raise UsageError(
            f"representation={spec.name!r} is stored with other settings: "
            f"{'; '.join(differ) or 'the same, and another prompt, schema or rule'}",
            hint=f"{again}give it another name, such as {spec.name}-2:KEY=VALUE",
        )


def representation_rows(specs: Sequence[RepresentationSpec]) -> pa.Table:
    """Rows of the table representations."""
    return REPRESENTATIONS.rows(
        [
            {
                "representation": spec.name,
                "kind": spec.kind,
                "settings": settings_json(dict(spec.settings)),
                "settings_hash": spec.settings_hash,
                "revision": spec.revision,
                "code_version": code_version(),
            }
            for spec in specs
        ]
    )


def seed_of(build: BuildSpec, *more: str) -> str:
    """Everything but a shard's bytes that decides what is staged for it."""
    specs = ",".join(f"{spec.name}={spec.settings_hash}" for spec in build.specs)
    return "|".join((build.base_parts.corpus, specs, build.embedder, build.fingerprint, *more))


def _publish(landing: Landing, manifests: Sequence[Manifest], staged: Collection[str]) -> PublishedSnapshot:
    run, build = landing.run, landing.job.build
    made = {spec.name for spec in build.specs}
    return publish_shards(
        run.lake,
        manifests,
        corpus=build.base_parts.corpus,
        run_id=run.run_id,
        operation=run.flow,
        audit=partial(run_audits, run.lake),
        representations=representation_rows(
            [*build.specs, *(supplied_spec(name) for name in sorted(staged) if name not in made)]
        ),
        lock_timeout_s=landing.lock_timeout_s,
    )


def _with_conflicts(report: Report, published: PublishedSnapshot) -> Report:
    """Add the conversations of which this run read versions that contradict each other."""
    if not published.conflicts:
        return report
    error = "was read in versions that contradict each other"
    letters = dead_rows(
        DeadLetter("conflicting_versions", f"{what} {error}", "", None, "conversation", "dropped", "commit")
        for what in published.conflicts
    )
    return replace(report, dead=pa.concat_tables([report.dead, letters]))
