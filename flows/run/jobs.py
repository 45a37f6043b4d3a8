"""Jobs as data: what is to be done with shards, which any process can do; and Beam, which does it by default."""

import logging
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import length_hint
from pathlib import Path
from typing import ClassVar

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from memlake.flows.run.prism import prism
from memlake.transforms.base.conversation import ReadOptions
from memlake.transforms.base.errors import JobFailedError, UsageError
from memlake.transforms.base.sources import Shard
from memlake.transforms.embed.beam import EmbedUnits
from memlake.transforms.lake.stage.beam import StageFiles
from memlake.transforms.lake.stage.progress import Progress
from memlake.transforms.link.batches import LinkSpec
from memlake.transforms.link.beam import LinkUnits
from memlake.transforms.read.beam import GatherTurns, ReadShards
from memlake.transforms.represent.batches import BuildSpec
from memlake.transforms.represent.beam import BuildUnits


@dataclass(frozen=True, slots=True)
class Execution:
    """Where jobs run."""

    runner: str = "fnapi"
    workers: int = 1
    runner_options: tuple[str, ...] = ()
    quiet: bool = True


@dataclass(frozen=True, slots=True)
class StageJob:
    """Stage some shards: read, represent, embed or link, write files, put manifests.

    Attributes:
        links: which links to make among stored units; None for none.
    """

    label: ClassVar[str] = "staging"

    build: BuildSpec
    run_id: str
    execution: Execution
    options: ReadOptions = field(default_factory=ReadOptions)
    links: LinkSpec | None = None

    @property
    def lake(self) -> str:
        """The lake's root."""
        return self.build.base_parts.lake

    def wire(self, shards: beam.PCollection) -> beam.PCollection:
        """PCollection[Shard] -> PCollection[str]: the names of the shards whose manifests were put now."""
        build = self.build
        batches = shards | "ReadShards" >> ReadShards(build.base_parts, self.options, self.run_id)
        if build.specs:
            batches = batches | "BuildUnits" >> BuildUnits(build)
        if build.embedder:
            batches = batches | "EmbedUnits" >> EmbedUnits(
                build.embedder, build.fingerprint, edge=build.edge, workers=self.execution.workers
            )
        if self.links is not None:
            batches = batches | "LinkUnits" >> LinkUnits(build.base_parts, self.links)
        return batches | "StageFiles" >> StageFiles(self.lake, build.base_parts.corpus)


@dataclass(frozen=True, slots=True)
class GatherJob:
    """Gather a-turn-a-line shards into buckets of whole conversations, as staged files."""

    label: ClassVar[str] = "gathering"

    lake: str
    run_id: str
    execution: Execution
    buckets: int
    options: ReadOptions = field(default_factory=ReadOptions)

    def wire(self, shards: beam.PCollection) -> beam.PCollection:
        """PCollection[Shard] -> PCollection[str]: the names of the notes that say which files hold which bucket."""
        return shards | "GatherTurns" >> GatherTurns(self.lake, self.options, self.buckets, self.run_id)


Job = StageJob | GatherJob
# Does a job on the shards that it takes, of which there may be no end; the names of what was put for each, in order.
Executor = Callable[[Job, Iterable[Shard]], list[str]]


def run_in_beam(job: Job, shards: Iterable[Shard]) -> list[str]:
    """Do a job on the runner that its execution names; any process that reaches the lake can, for any of its shards.

    Shards that are done already cost one look.

    Raises:
        JobFailedError: a worker process failed; with the last line of what it reported.
    """
    taken = list(shards)
    if not taken:
        return []
    with _pipeline(job.execution) as pipeline:
        job.wire(pipeline | "Shards" >> beam.Create(taken, reshuffle=False) | "SpreadShards" >> beam.Reshuffle())
    notes = Progress(Path(job.lake) / "staged", job.run_id)
    return notes.names([shard.index for shard in taken])


def carry_out(
    job: Job,
    shards: Iterable[Shard],
    execute: Executor = run_in_beam,
    *,
    total_bytes: int | None = None,
    asked: Callable[[], str] | None = None,
) -> list[str]:
    """Have a job done by an executor: its workers' notes are drawn on the terminal, and removed however it ends.

    Args:
        total_bytes: of all shards' input; None where nobody knows.
        asked: what models were asked so far, where any is.
    """
    progress = Progress(Path(job.lake) / "staged", job.run_id)
    progress.open()
    try:
        # A list says how many shards it has, a stream does not.
        count = length_hint(shards) or None
        with watching(progress, count, total_bytes, label=job.label, quiet=job.execution.quiet, asked=asked):
            return execute(job, shards)
    finally:
        progress.close()


@contextmanager
def _pipeline(execution: Execution) -> Iterator[beam.Pipeline]:
    """A pipeline that runs when the block ends.

    Raises:
        JobFailedError: see `run_in_beam`.
    """
    try:
        with runner(execution.runner, workers=execution.workers, options=execution.runner_options) as pipeline:
            yield pipeline
    except RuntimeError as error:
        # What fails in another process comes back as the text of its traceback.
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise JobFailedError(
            f"the pipeline failed: {lines[-1].strip()}", hint="mend the cause and run it again"
        ) from error


_REFRESH_S = 0.5
# DaskRunner mixes tagged outputs, loses branches and ignores windows without a word; 'direct' may pick Prism.
_REFUSED = {
    "dask": "it loses branches and ignores windows without an error",
    "daskrunner": "it loses branches and ignores windows without an error",
    "direct": "which runner it means depends on what is installed",
    "directrunner": "which runner it means depends on what is installed",
}


@contextmanager
def watching(
    progress: Progress,
    shards: int | None,
    total_bytes: int | None,
    *,
    label: str,
    quiet: bool,
    asked: Callable[[], str] | None = None,
) -> Iterator[None]:
    """Draw a run's progress on stderr until the block ends; draw nothing where stderr is no terminal.

    Args:
        asked: what models were asked so far, where any is. All input is read long before they have answered: the bar
            then only tells that the run is alive, as it does where nobody knows how many shards there are.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn() if total_bytes else TaskProgressColumn(),
        TextColumn("{task.fields[shards]} shards, {task.fields[turns]} turns{task.fields[asked]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    stop = threading.Event()
    with bar:
        total = float(total_bytes or 1)
        of_all = "" if shards is None else f"/{shards}"
        task = bar.add_task(label, total=total, shards=f"0{of_all}", turns="0", asked="")
        shown = 0.0

        def draw() -> None:
            nonlocal shown
            last = False
            while not last:
                last = stop.wait(_REFRESH_S)
                done = progress.done(shards)
                # A shard that is larger than those before it makes the whole larger; what was shown stays.
                shown = max(shown, (done.share or 0.0) * total)
                more = f", {asked()}" if asked else ""
                waiting = done.share is None or (asked is not None and shown >= total)
                # rich takes no total for "leave it as it is" in `update`.
                bar.tasks[0].total = None if waiting else total
                bar.update(task, completed=shown, shards=f"{done.shards}{of_all}", turns=f"{done.turns:,}", asked=more)

        thread = threading.Thread(target=draw, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


@contextmanager
def runner(name: str, *, workers: int, options: tuple[str, ...] = ()) -> Iterator[beam.Pipeline]:
    """A pipeline that runs when the block ends, on the named runner.

    Args:
        name: 'fnapi' (this process, or `workers` processes), 'prism', or a Beam runner's own name.
        options: 'NAME=VALUE' for the runner, as Beam spells them.

    Raises:
        UsageError: a runner that is known to lose data, or that is not there.
    """
    if name.lower() in _REFUSED:
        raise UsageError(
            f"runner={name!r} is refused: {_REFUSED[name.lower()]}", hint="--runner fnapi or --runner prism"
        )
    flags = [option if option.startswith("--") else f"--{option}" for option in options]
    if name == "fnapi":
        with beam.Pipeline(
            _fnapi(workers), options=PipelineOptions([f"--direct_num_workers={workers}", *flags])
        ) as made:
            yield made
    elif name == "prism":
        with prism() as endpoint:
            server = [f"--job_endpoint={endpoint}", "--environment_type=LOOPBACK"]
            with beam.Pipeline(PortableRunner(), options=PipelineOptions([*server, *flags])) as pipeline:
                yield pipeline
    else:
        try:
            pipeline = beam.Pipeline(name, options=PipelineOptions(flags))
        except ValueError as error:
            raise UsageError(f"runner={name!r} is not known to Beam: {error}", hint="--runner fnapi") from error
        with pipeline:
            yield pipeline


def _fnapi(workers: int) -> FnApiRunner:
    """Beam's local runner, in this process or over worker processes of our own making."""
    if workers == 1:
        return FnApiRunner()
    # It warns that several workers want another running mode, whose workers print every step they take.
    logging.getLogger("apache_beam.runners.portability.fn_api_runner.fn_runner").setLevel(logging.ERROR)
    command = (
        f"exec {shlex.quote(sys.executable)} -m memlake.flows.run.worker"  # exec: the worker sees us as its parent
    )
    return FnApiRunner(default_environment=SubprocessSDKEnvironment.from_command_string(command))
