"""A Beam worker process of `--workers N`: quiet, and gone when the command that started it is gone."""

import logging
import os
import sys
import threading
import time

PARENT_POLL_S = 1.0


def main() -> None:
    """Serve the runner that started this process; what goes wrong is reported to it, not to the terminal."""
    logging.disable(logging.WARNING)
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


def _watch_parent(parent: int) -> None:
    """End this process when its parent has: a killed command cannot stop its workers."""
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_S)
    os._exit(1)


if __name__ == "__main__":
    main()
