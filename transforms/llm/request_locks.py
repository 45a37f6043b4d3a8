"""Which process asks what: two runs on one lake that want the same reply at the same time pay for it once.

A claim is a lock on one byte of a file in the lake, at a place that the request's hash names. The kernel frees it when its
process ends, however it ends. Within one process claims never stand against each other.
"""

import fcntl
import os
from pathlib import Path

_BITS = 128
_PLACES = 62


class RequestLocks:
    """One process's claims; used by its event loop only."""

    def __init__(self, root: Path) -> None:
        self._path = root / "staged" / "calls" / "claims.lock"
        self._file: int | None = None

    def take(self, request_hash: str) -> bool:
        """Claim a request; False while another process has it."""
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(request_hash))
        except (BlockingIOError, PermissionError):  # POSIX allows either
            return False
        return True

    def give(self, request_hash: str) -> None:
        """Let go of a claim."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(request_hash))

    def close(self) -> None:
        """Let go of all."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _place(request_hash: str) -> int:
    return int(request_hash, 16) >> (_BITS - _PLACES)
