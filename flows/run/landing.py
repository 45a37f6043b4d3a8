"""Stage shards, commit them, and stage again what the lake's movement made untrue meanwhile."""

import json
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from memlake.flows.run.adapter import step
from memlake.flows.run.jobs import StageJob
from memlake.flows.run.record import Report, Run, code_version, collect
from memlake.flows.run.settings import PipelineSettings
from memlake.schemas import REPRESENTATIONS
from memlake.schemas.table import settings_json
from memlake.schemas.vectors import vectors_table
from memlake.transforms.base.errors import LakeConflictError, UsageError
from memlake.transforms.base.shard import Shard
from memlake.transforms.embed.catalogue import card_of, served_models
from memlake.transforms.embed.embedder import fingerprint
from memlake.transforms.embed.vectors import check_card
from memlake.transforms.lake.commit.audit import auditor
from memlake.transforms.lake.commit.publish import PublishedSnapshot, StageAgainError, publish_shards
from memlake.transforms.lake.stage.manifest import DEAD_SEEN
from memlake.transforms.lake.storage.base_parts import BaseParts
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.driver import Models, open_models
from memlake.transforms.llm.edge import EdgeSettings
from memlake.transforms.llm.records.calls import paid
from memlake.transforms.represent.batches import BuildSpec
from memlake.transforms.represent.catalogue import OF_THE_RUN, asking
from memlake.transforms.represent.common.representation import RepresentationSpec
from memlake.transforms.represent.supplied import supplied_making

ATTEMPTS = 4
ShardPlanner = Callable[[Snapshot], tuple[Sequence[Shard], Sequence[pa.Table]]]


@dataclass(frozen=True, slots=True)
class Landing:
    """What a pipeline run is to bring into the lake."""

    run: Run
    job: StageJob
    lock_timeout_s: float = 60.0

    def land(self, base: Snapshot, plan: ShardPlanner) -> tuple[PublishedSnapshot, Report]:
        """Plan, stage and publish; at most a few times over, each time from the newest base.

        Args:
            base: the snapshot that the job was told to compare with.
            plan: the shards to stage, and dead letters met while planning, for a base.

        Raises:
            LakeConflictError: the lake would not stand still.
        """
        job = self.job
        for _ in range(ATTEMPTS):
            shards, dead = plan(base)
            with self.run.timed("stage"):
                names = step(_stage, name="stage-shards", retries=2)(job, shards)
            report = collect(self.run.lake, names, list(dead))
            with self.run.timed("publish"):
                published = step(_publish, name="publish-snapshot")(self, names, report.representations)
            if published is not None:
                return published, _with_conflicts(report, published)
            base = self.run.lake.latest()
            job = replace(
                job, wanted=replace(job.wanted, known=replace(job.wanted.known, snapshot_id=base.snapshot_id))
            )
        raise LakeConflictError(
            f"lake={self.run.lake.uri}: other writers changed it {ATTEMPTS} times while this run staged",
            hint="run the command again",
        )


@contextmanager
def models_for(settings: PipelineSettings, run: Run, makings: Sequence[RepresentationSpec] = ()) -> Iterator[Models]:
    """The models that a pipeline asks: for its representations, for its embedder; none for most.

    Raises:
        UsageError, ModelStoppedError: see `open_models`.
    """
    asked = [str(making.settings["model"]) for making in makings if asking(making)]
    asked += served_models(settings.embedder)
    with open_models(settings.models, run.lake, run.run_id, needed=bool(asked), models=tuple(asked)) as models:
        yield models
    if asked:
        run.paid = paid(run.lake, run.run_id)


def wanted_of(
    lake: Lake,
    base: Snapshot,
    corpus: str,
    makings: tuple[RepresentationSpec, ...],
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
    _check_settings(base, makings)
    made_by = ""
    if embedder:
        card = card_of(embedder, edge)
        made_by = fingerprint(card)
        for table in () if anew else base.lance_tables():
            held = base.lance_table(table)
            # Every table of this embedder: which supplied representations a source brings is not known yet.
            if held is not None and table == vectors_table(table.split("__", 1)[0], embedder):
                check_card(
                    held.schema.metadata, card, f"memlake embed --embedder {shlex.quote(embedder)} --corpus {corpus}"
                )
    return BuildSpec(BaseParts(str(lake.root), base.snapshot_id, corpus), makings, embedder, made_by, edge)


def _check_settings(base: Snapshot, makings: Sequence[RepresentationSpec]) -> None:
    """Refuse a representation that is stored with other settings than it is asked for."""
    stored = {row["representation"]: row for row in base.read("representations").to_pylist()}
    for making in makings:
        row = stored.get(making.name)
        if row is None or row["settings_hash"] == making.settings_hash:
            continue
        before, now = json.loads(row["settings"]), dict(making.settings)
        keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
        differ = [f"{key}={before.get(key)!r} stored, {now.get(key)!r} asked for" for key in keys]
        if row["revision"] != making.revision:
            differ.append(f"revision {row['revision']} stored, {making.revision} asked for")
        flags = "".join(
            f" --{key} {shlex.quote(str(before[key]))}" for key in keys if before.get(key) and key in OF_THE_RUN
        )
        again = f"{flags.strip()} goes on with the stored one; or " if flags else ""
        raise UsageError(
            f"representation={making.name!r} is stored with other settings: "
            f"{'; '.join(differ) or 'the same, and another prompt, schema or rule'}",
            hint=f"{again}give it another name, such as {making.name}-2:KEY=VALUE",
        )


def representation_rows(makings: Sequence[RepresentationSpec]) -> pa.Table:
    """Rows of the table representations."""
    return REPRESENTATIONS.rows(
        [
            {
                "representation": making.name,
                "kind": making.kind,
                "settings": settings_json(dict(making.settings)),
                "settings_hash": making.settings_hash,
                "revision": making.revision,
                "code_version": code_version(),
            }
            for making in makings
        ]
    )


def seed_of(wanted: BuildSpec, *more: str) -> str:
    """Everything but a shard's bytes that decides what is staged for it."""
    makings = ",".join(f"{making.name}={making.settings_hash}" for making in wanted.makings)
    return "|".join((wanted.known.corpus, makings, wanted.embedder, wanted.fingerprint, *more))


def _stage(job: StageJob, shards: Sequence[Shard]) -> list[str]:
    return job.run(shards) if shards else []


def _publish(landing: Landing, names: Sequence[str], staged: Collection[str]) -> PublishedSnapshot | None:
    """Commit; None when some shards are to be staged again."""
    run, wanted = landing.run, landing.job.wanted
    made = {making.name for making in wanted.makings}
    makings = [*wanted.makings, *(supplied_making(name) for name in sorted(staged) if name not in made)]
    try:
        return publish_shards(
            run.lake,
            names,
            corpus=wanted.known.corpus,
            run_id=run.run_id,
            operation=run.flow,
            audit=auditor(run.lake),
            representations=representation_rows(makings),
            lock_timeout_s=landing.lock_timeout_s,
        )
    except StageAgainError:
        return None


def _with_conflicts(report: Report, published: PublishedSnapshot) -> Report:
    """Add the conversations of which this run read versions that contradict each other."""
    if not published.conflicts:
        return report
    letters = [
        {
            "reason": "conflicting_versions",
            "error": f"{what} was read in versions that contradict each other",
            "source_uri": "",
            "position": None,
            "scope": "conversation",
            "outcome": "dropped",
            "stage": "commit",
        }
        for what in published.conflicts
    ]
    return replace(report, dead=pa.concat_tables([report.dead, pa.Table.from_pylist(letters, schema=DEAD_SEEN)]))
