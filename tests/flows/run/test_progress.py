"""What a terminal shows while a job runs."""

import io
import sys

import pytest

from memlake.flows.run.jobs import watching
from memlake.transforms.lake.stage.progress import Progress


class Terminal(io.StringIO):
    """A stderr that people read."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("total_bytes", [0, 1000])
@pytest.mark.parametrize("asked", [None, lambda: "7 calls, 2 from the cache"])
def test_a_run_that_waits_for_models_shows_their_calls_and_never_that_all_is_done(
    tmp_path, monkeypatch, total_bytes, asked
):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    progress = Progress(tmp_path, "r")
    progress.open()
    progress.name_shard(0, "shard", 1000)
    progress.finish_shard(0)
    with watching(progress, 1, total_bytes, label="staging", quiet=False, asked=asked):
        pass  # the last look comes as the block ends
    text = shown.getvalue()
    done = "1.0/1.0 kB" if total_bytes else "100%"
    assert ("7 calls, 2 from the cache" in text) == (asked is not None)
    assert (done in text) == (asked is None)
