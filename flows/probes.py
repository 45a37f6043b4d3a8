"""Probes: synthetic conversations with planted facts and questions, a file for each schema fit."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from memlake.flows.run.settings import ProbesSettings
from memlake.transforms.base.errors import UsageError
from memlake.transforms.lake.storage.place import put_text
from memlake.transforms.probes.check import check
from memlake.transforms.probes.conversation import Probes, conversation_of, tag_of
from memlake.transforms.probes.jsonl import lines_of
from memlake.transforms.probes.plan import MIN_TURNS, plan_of

HINT = "memlake probes --help"


def probes(settings: ProbesSettings) -> dict[str, object]:
    """Write one file a fit into the folder; the document of `memlake probes --json`. Other files there stay.

    Raises:
        UsageError: a setting is out of its range, or the folder is a file.
        MemlakeError: what was made has a fault; nothing is written.
    """
    started = time.monotonic()
    _check_settings(settings)
    plans = [plan_of(settings.seed, settings.split, index, settings.turns) for index in range(settings.conversations)]
    texts, files = [], []
    folder = Path(settings.out)
    for fit in sorted({round(fit, 6) for fit in settings.fit}):  # as many digits as a file's name has
        made = [conversation_of(plan, fit) for plan in plans]
        check(made)
        texts.append(lines_of(made))
        files.append(_summary(folder / f"probes-{tag_of(fit)}.jsonl", fit, made))
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in zip(files, texts, strict=True):
        path = Path(str(file["path"]))
        put_text(path, text)
    return {
        "out": settings.out,
        "seed": settings.seed,
        "split": settings.split,
        "files": files,
        "seconds": time.monotonic() - started,
    }


def _check_settings(settings: ProbesSettings) -> None:
    if not settings.fit:
        raise UsageError("no fit is given: at least one number from 0 to 1 is needed", hint=HINT)
    for fit in settings.fit:
        if not 0 <= fit <= 1:
            raise UsageError(f"fit={fit} is not allowed: from 0 to 1", hint=HINT)
    for name, value, least in (("conversations", settings.conversations, 1), ("turns", settings.turns, MIN_TURNS)):
        if value < least:
            raise UsageError(f"{name}={value} is not allowed: at least {least}", hint=HINT)
    if Path(settings.out).exists() and not Path(settings.out).is_dir():
        raise UsageError(f"out={settings.out!r} is a file: a folder is expected", hint=HINT)


def _summary(path: Path, fit: float, made: Sequence[Probes]) -> dict[str, object]:
    questions = [question for conversation in made for question in conversation.questions]
    return {
        "path": str(path),
        "fit": fit,
        "conversations": len(made),
        "turns": sum(len(conversation.turns) for conversation in made),
        "questions": len(questions),
        "facts": sum(question.answer is not None for question in questions),
        "facts_that_fit": sum(question.fits and question.answer is not None for question in questions),
        "by_category": dict(sorted(Counter(question.category for question in questions).items())),
    }
