"""Progress on a terminal while a job runs: input read, shards, turns, time left."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from transforms.lake.progress import Progress

_REFRESH_S = 0.5


@contextmanager
def watching(progress: Progress, shards: int, total_bytes: int, *, label: str, quiet: bool) -> Iterator[None]:
    """Draw a run's progress on stderr until the block ends; draw nothing where stderr is no terminal."""
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
        TextColumn("{task.fields[shards]} shards, {task.fields[turns]} turns"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    stop = threading.Event()
    with bar:
        total = float(total_bytes or 1)
        task = bar.add_task(label, total=total, shards=f"0/{shards}", turns="0")
        shown = 0.0

        def draw() -> None:
            nonlocal shown
            last = False
            while not last:
                last = stop.wait(_REFRESH_S)
                done = progress.done(shards)
                # A shard that is larger than those before it makes the whole larger; what was shown stays.
                shown = max(shown, done.share * total)
                bar.update(task, completed=shown, shards=f"{done.shards}/{shards}", turns=f"{done.turns:,}")

        thread = threading.Thread(target=draw, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
