"""What can be planted: templates, the pools that fill their slots, and filler talk, all read from templates/*.toml.

Keys of a [[probe]] in SPLIT_DOMAIN.toml:
    slots: a pool and the slots that it fills ('s' is asked about, 'v' is the answer, others are near misses or bridges).
    question, answer: the answer is short, and none of its content words is in the question.
    needs: what has to be known for the answer, where that is more than the answer or the answer is derived from it.
    derived: true where the answer stands nowhere and is worked out (a duration from two years).
    fit: a sentence for each statement of the fact, which the typed artifact schema holds completely.
    loose: for each statement the two turns in which the same is told so that the schema does not hold it.
    other, older, hypothetical: near misses: of somebody else, of an earlier time (told before the fact), of what is not so.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memlake.transforms.base.errors import UsageError

SPLITS = ("test", "train")
DOMAINS = ("everyday", "work")
NEAR = ("older", "other", "hypothetical")
CATEGORIES = (
    "single_hop",
    "multi_hop",
    "temporal_order",
    "temporal_duration",
    "temporal_update",
    "temporal_as_of",
    "qualifier_everywhere",
    "qualifier_except",
    "qualifier_only",
    "qualifier_until",
    "negation",
    "attribution",
    "number",
)
UNANSWERABLE = "unanswerable"

_FOLDER = Path(__file__).parent / "templates"
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A fact in both of its shapes, its question and its near misses; `slots` is the pool of each slot."""

    name: str
    category: str
    domain: str
    slots: dict[str, str]
    question: str
    answer: str
    needs: str
    derived: bool
    fit: tuple[str, ...]
    loose: tuple[tuple[str, ...], ...]
    near: dict[str, str]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A pool of whole numbers from low to high, each written behind its unit."""

    low: int
    high: int
    unit: str


Value = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pools:
    """What fills slots: subjects, who come up again; values, which do not; numbers."""

    subjects: dict[str, tuple[str, ...]]
    values: dict[str, tuple[Value, ...]]
    numbers: dict[str, Numbers]


@dataclass(frozen=True, slots=True)
class Fillers:
    """Talk of one domain in which nothing is planted; acks answer, and leads open, turns in which something is."""

    openers: tuple[str, ...]
    replies: tuple[str, ...]
    acks: tuple[str, ...]
    leads: tuple[str, ...]


@cache
def templates(split: str, domain: str) -> tuple[Template, ...]:
    """The templates of one split and domain, in the order of their file.

    Raises:
        UsageError: there is no such split.
    """
    if split not in SPLITS:
        raise UsageError(f"split={split!r} is not one of {', '.join(SPLITS)}", hint="memlake probes OUT --split test")
    return tuple(_template(entry, domain) for entry in _read(f"{split}_{domain}")["probe"])


@cache
def pools() -> Pools:
    """What fills the slots of every template."""
    held = _read("pools")
    return Pools(
        subjects={name: tuple(names) for name, names in held["subjects"].items()},
        values={
            name: tuple(value if isinstance(value, str) else tuple(value) for value in values)
            for name, values in held["values"].items()
        },
        numbers={name: Numbers(**given) for name, given in held["numbers"].items()},
    )


@cache
def fillers(domain: str) -> Fillers:
    """The filler talk of a domain."""
    held = _read("fillers")
    of_domain = held[domain]
    return Fillers(
        *(tuple(lines) for lines in (of_domain["openers"], of_domain["replies"], held["acks"], held["leads"]))
    )


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its slots filled, in one pass, so that a value is never searched for slots."""
    return _SLOT.sub(lambda slot: values[slot[1]], text)


def _template(entry: dict[str, Any], domain: str) -> Template:
    return Template(
        name=entry["name"],
        category=entry["category"],
        domain=domain,
        slots={slot: pool for pool, slots in entry["slots"].items() for slot in slots.split()},
        question=entry["question"],
        answer=entry["answer"],
        needs=entry.get("needs", entry["answer"]),
        derived=entry.get("derived", False),
        fit=tuple(entry["fit"]),
        loose=tuple(map(tuple, entry["loose"])),
        near={kind: entry[kind] for kind in NEAR if kind in entry},
    )


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
