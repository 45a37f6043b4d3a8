"""Gold turns by id: each id with the turn that it names and a status, nothing left out and nothing guessed."""

import json
from collections.abc import Collection, Iterable, Iterator

from memlake.transforms.text.clean import as_name, listed

Evidence = list[tuple[str, str | None, str]]


def evidence_of(named: Iterable[tuple[str, str | None, str]], turns: Collection[str]) -> Evidence:
    """Pair each id with the turn that it names.

    Statuses are those of the evidence table: a turn that an earlier id named is a duplicate, an id of no turn is dangling,
    what is no id malformed.

    Args:
        named: each id as the source has it, the turn that it names (None for what is no id) and its status where there is
            such a turn.
        turns: the ids of the conversation's turns.
    """
    evidence: Evidence = []
    used: set[str] = set()
    for raw, name, status in named:
        if name is None:
            evidence.append((raw, None, "malformed"))
        elif name not in turns:
            evidence.append((raw, None, "dangling"))
        else:
            evidence.append((raw, name, "duplicate" if name in used else status))
            used.add(name)
    return evidence


def gold_of(given: object, turns: Collection[str]) -> Evidence:
    """The evidence of a list of turn ids, or of one; ids that stand in a list of their own inside it are normalised."""
    return evidence_of(_named(given), turns)


def raw_id(value: object) -> str:
    """An id as it stands in the source: a text as it is, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _named(given: object) -> Iterator[tuple[str, str | None, str]]:
    for item in listed(given):
        inner = item if isinstance(item, list) else []
        for single in inner or [item]:
            yield raw_id(item), as_name(single), "normalised" if inner else "valid"
