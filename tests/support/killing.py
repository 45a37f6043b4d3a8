"""A process that kills itself at the n-th call of a function, before or after it did its work."""

import importlib
import os
import signal
from typing import Any


def kill_at(target: str, nth: int, when: str) -> None:
    """Let the n-th call of MODULE.FUNCTION or MODULE.CLASS.FUNCTION end this process by SIGKILL; `when`: before, after."""
    place, name = target.rsplit(".", 1)
    module, _, last = place.rpartition(".")
    owner = getattr(importlib.import_module(module), last) if last[0].isupper() else importlib.import_module(place)
    whole, calls = getattr(owner, name), 0

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        last_call = calls == nth
        if last_call and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        made = whole(*args, **kwargs)
        if last_call:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    setattr(owner, name, dying)
