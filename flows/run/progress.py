"""Progress on a terminal while a job runs: input read, shards, turns, calls to models, time left."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memlake.transforms.lake.stage.progress import Progress

_REFRESH_S = 0.5


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
