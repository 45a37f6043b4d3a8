"""Gold turns by id: each id with the turn that it names and a status, nothing left out and nothing guessed."""

import json
from collections.abc import Collection

from memlake.transforms.text.clean import as_name

Evidence = list[tuple[str, str | None, str]]


def gold_of(given: object, turns: Collection[str]) -> Evidence:
    """Pair each id with the turn of that name.

    Statuses are those of the evidence table: valid, duplicate, dangling (names no turn), malformed (is no id). Ids that
    stand in a list of their own inside the list are taken out of it (normalised).
    """
    evidence: Evidence = []
    used: set[str] = set()
    for item in given if isinstance(given, list) else [] if given is None else [given]:
        inner = item if isinstance(item, list) else []
        for single in inner or [item]:
            raw, name = _raw(item), as_name(single)
            if name is None:
                evidence.append((raw, None, "malformed"))
            elif name not in turns:
                evidence.append((raw, None, "dangling"))
            else:
                status = "duplicate" if name in used else "normalised" if inner else "valid"
                evidence.append((raw, name, status))
                used.add(name)
    return evidence


def _raw(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
