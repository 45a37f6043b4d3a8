"""The books of a run: its rows in the journals, and the one document that it prints."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from memlake.flows.run.adapter import publish_artifact
from memlake.flows.run.config import lake_flag
from memlake.schemas import DEAD_LETTERS, RUNS
from memlake.schemas.table import settings_json
from memlake.transforms.base.errors import MemlakeError, TooManyDeadLettersError
from memlake.transforms.base.ids import content_id
from memlake.transforms.lake.commit.publish import PublishedSnapshot
from memlake.transforms.lake.stage.manifest import DEAD_SEEN, Manifest
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.llm.edge import without_secrets

_SHOW_DEAD = "memlake sql 'select source_uri, position, reason, error from dead_letters'"


def code_version() -> str:
    """The installed memlake version."""
    return version("memlake")


@dataclass(slots=True)
class Run:
    """One execution of a flow: an id that is new each time, and what happened.

    Attributes:
        settings: as the journal holds them, with their hash.
        paid: calls to models, tokens and US dollars; empty for a run that asks none.
    """

    lake: Lake
    flow: str
    settings: Mapping[str, str]
    run_id: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.urandom(4).hex()}")
    outcome: str = "unchanged"
    snapshot_id: str | None = None
    counters: Mapping[str, object] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    paid: Mapping[str, object] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Wall-clock seconds so far."""
        return round(time.monotonic() - self._began, 3)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the seconds of a block to the run's timings."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.timings[part] = round(self.timings.get(part, 0.0) + time.monotonic() - began, 3)

    def journal(self, event: str) -> None:
        """Append the run's started or ended row."""
        ended = event == "ended"
        row: dict[str, object] = {
            "run_id": self.run_id,
            "event": event,
            "flow": self.flow,
            "logged_at": datetime.now(UTC),
            "code_version": code_version(),
            **self.settings,
            "outcome": self.outcome if ended else "running",
            "snapshot_id": self.snapshot_id,
            "counters": json.dumps(self.counters, sort_keys=True) if ended or self.counters else None,
            "seconds": self.seconds if ended else None,
        }
        self.lake.journal(RUNS, RUNS.rows([row]))


def _public(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings without what is nobody else's: the password that may stand in the models' address."""
    models = settings.get("models")
    if not isinstance(models, Mapping):
        return dict(settings)
    return {**settings, "models": {**models, "base_url": without_secrets(str(models["base_url"]))}}


@contextmanager
def run_of(
    lake: Lake, flow: str, settings: Mapping[str, object], *, counters: Mapping[str, object] | None = None
) -> Iterator[Run]:
    """Journal the start and the end of a run, whatever ends it.

    Args:
        counters: what is known at the start already, and stands in the journal even if the run is killed.
    """
    text = settings_json(_public(settings))
    run = Run(lake, flow, {"settings": text, "settings_hash": content_id(text)}, counters=counters or {})
    run.journal("started")
    try:
        yield run
    except MemlakeError as error:
        run.outcome = error.code
        raise
    except BaseException:
        run.outcome = "failed"
        raise
    finally:
        run.journal("ended")


@dataclass(frozen=True, slots=True)
class Report:
    """What the manifests of a run say: counts, dead letters as DEAD_SEEN rows, representations with staged units."""

    lake: str
    seen: Mapping[str, int]
    dead: pa.Table
    representations: frozenset[str]

    def reasons(self) -> dict[str, int]:
        """Dead letters by reason."""
        counted = self.dead.group_by("reason").aggregate([([], "count_all")]).sort_by("reason")
        return dict(zip(counted["reason"].to_pylist(), counted["count_all"].to_pylist(), strict=True))

    def dropped(self, *, files: bool) -> int:
        """How many whole files, or how many records, were lost."""
        lost = pc.equal(self.dead["outcome"], "dropped")
        whole = pc.equal(self.dead["scope"], "file")
        return int(pc.sum(pc.and_(lost, whole if files else pc.invert(whole))).as_py() or 0)


def collect(lake: Lake, manifests: Sequence[Manifest], extra: Sequence[pa.Table]) -> Report:
    """Add up what manifests say; before the commit, which deletes the dead letters beside them."""
    seen: Counter[str] = Counter()
    dead = [DEAD_SEEN.empty_table(), *extra]
    representations: set[str] = set()
    for manifest in manifests:
        seen.update(manifest.seen)
        dead.append(manifest.read_dead(lake.staged))
        representations.update(file.partition["representation"] for file in manifest.files if file.table == "units")
    return Report(lake.uri, seen, pa.concat_tables(dead), frozenset(representations))


def journal_dead(run: Run, dead: pa.Table) -> None:
    """Append dead letters to their journal, each once a run."""
    if not dead.num_rows:
        return
    letters = {content_id(*map(str, letter.values())): letter for letter in dead.to_pylist()}
    more = {"run_id": run.run_id, "logged_at": datetime.now(UTC)}
    rows = [{**letter, **more, "payload_id": payload_id} for payload_id, letter in letters.items()]
    run.lake.journal(DEAD_LETTERS, DEAD_LETTERS.rows(rows))


def document(run: Run, published: PublishedSnapshot, report: Report) -> dict[str, object]:
    """The document of `ingest --json` and `represent --json`."""
    seen = {
        name: report.seen.get(name, 0)
        for name in ("conversations", "sessions", "turns", "questions", "questions_with_gold")
    }
    return {
        "run_id": run.run_id,
        "snapshot_id": published.snapshot_id,
        "base_snapshot_id": published.base_snapshot_id,
        "seen": seen,
        "counts": {
            name: asdict(counts) for name, counts in sorted(published.counts.items()) if any(asdict(counts).values())
        },
        "skipped": published.skipped,
        "stale": list(published.stale),
        "evidence_invalid": {
            "malformed": report.seen.get("evidence_malformed", 0),
            "dangling": report.seen.get("evidence_dangling", 0),
        },
        "dead_letters": report.reasons(),
        **({"pieces": _pieces(report)} if "pieces" in report.seen else {}),
        **({"models": dict(run.paid)} if run.paid else {}),
        "seconds": run.seconds,
    }


def _pieces(report: Report) -> dict[str, int]:
    """What a model was to represent: pieces, those that failed, and the turns of these."""
    names = {"asked": "pieces", "failed": "pieces_failed", "turns_failed": "turns_failed"}
    return {name: report.seen.get(counted, 0) for name, counted in names.items()}


def finish(run: Run, published: PublishedSnapshot, report: Report) -> dict[str, object]:
    """Close the books of a pipeline run: journal its dead letters, say what it did, publish the summary."""
    journal_dead(run, report.dead)
    run.snapshot_id = published.snapshot_id
    run.outcome = "published" if published.snapshot_id else "unchanged"
    made = document(run, published, report)
    run.counters = {name: made[name] for name in ("seen", "counts", "skipped", "dead_letters")} | {
        "models": dict(run.paid),
        "timings": run.timings,
    }
    pins = published.pins
    rows = [
        {"table": name, **asdict(counts), "version": pins[name].version if name in pins else None}
        for name, counts in sorted(published.counts.items())
    ]
    publish_artifact(f"{run.flow}-summary", rows=rows, markdown=_markdown(run, made))
    return made


def check_dead_letters(
    made: dict[str, object],
    report: Report,
    *,
    allow_records: float,
    files: int = 0,
    allow_files: float = 0.0,
    of: Literal["turns", "pieces"] = "turns",
) -> None:
    """Raise TooManyDeadLettersError, with the run's document, when more of the input died than is allowed.

    Args:
        of: what the records are: turns that were read, or pieces that a model was to represent.
    """
    lost_files, lost_records = report.dropped(files=True), report.dropped(files=False)
    records = report.seen.get(of, 0) + (lost_records if of == "turns" else 0)
    too_many = [
        f"{lost} of {total} {what} died, {flag} allows {allowed:.2%}"
        for what, lost, total, flag, allowed in (
            ("files", lost_files, files, "--allow-dead", allow_files),
            (of if of == "pieces" else "records", lost_records, records, "--allow-dead-records", allow_records),
        )
        if lost > allowed * total
    ]
    if too_many:
        first = report.dead.filter(pc.equal(report.dead["outcome"], "dropped")).slice(0, 1).to_pylist()[0]
        place = f"{first['source_uri']}" + ("" if first["position"] is None else f" at {first['position']}")
        raise TooManyDeadLettersError(
            f"{'; '.join(too_many)}; first: {place}: {first['reason']}: {first['error']}",
            hint=f"{_SHOW_DEAD}{lake_flag(report.lake)}",
            document=made,
        )


def check_failed_calls(made: dict[str, object], failures: Mapping[str, tuple[int, int]], *, allowed: float) -> None:
    """Raise TooManyDeadLettersError, with the run's document, when more answers or verdicts failed than is allowed."""
    too_many = [
        f"{failed} of {total} {what} failed, --allow-dead-records allows {allowed:.2%}"
        for what, (failed, total) in failures.items()
        if failed > allowed * total
    ]
    if too_many:
        raise TooManyDeadLettersError(
            "; ".join(too_many),
            hint="memlake sql 'select reason, count(*) as failed from answers where text is null group by reason'; "
            "the same command asks again for what may pass",
            document=made,
        )


def _markdown(run: Run, made: Mapping[str, object]) -> str:
    """The run's card: what a person looks for first."""
    lines = [
        f"# {run.flow} {run.run_id}",
        f"- snapshot: {made['snapshot_id'] or 'nothing new'} (base: {made['base_snapshot_id']})",
        f"- seen: {made['seen']}",
        f"- unchanged conversations: {made['skipped']}",
        f"- dead letters: {made['dead_letters'] or 'none'}",
        f"- models: {made.get('models') or 'none asked'}",
        f"- seconds: {made['seconds']} {run.timings}",
        f"- code: {code_version()}",
    ]
    return "\n".join(lines)
