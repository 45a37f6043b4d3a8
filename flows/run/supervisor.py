"""Run a command for as long as the process that started this script lives: `supervisor.py HOME COMMAND...`.

A process that is killed with SIGKILL cannot stop its children, so this one watches it: when its own standard input closes or
its parent changes, it kills the command with everything that the command started, and removes HOME. It imports nothing of
ours, to start at once, and is started in a session of its own, out of reach of Ctrl-C and of a kill of the parent's group.
"""

import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from types import FrameType

POLL_S = 0.2


def main() -> None:
    """Start the command, wait until it ends or is orphaned, clean up."""
    home, *command = sys.argv[1:]
    parent = os.getppid()
    signal.signal(signal.SIGTERM, _stop)
    try:
        # The group of its own takes one signal for all; an inherited listening socket is handed on.
        child = subprocess.Popen(command, cwd=home, stdin=subprocess.DEVNULL, close_fds=False, process_group=0)
        try:
            # The pipe alone is no proof of life: a forked child of the parent may hold its other end open.
            while child.poll() is None and os.getppid() == parent and not select.select([0], [], [], POLL_S)[0]:
                pass
        finally:
            # Nothing in HOME outlives this process, so there is nothing to shut down politely.
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _stop(number: int, _frame: FrameType | None) -> None:
    """Turn a signal into an orderly end, so that the clean-up runs."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
