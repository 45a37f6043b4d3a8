"""What a conversation plants and where, before it is put into words: the same plan whatever the schema fit."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from memlake.transforms.probes.dice import Dice
from memlake.transforms.probes.template import DOMAINS, Numbers, Template, Value, pools, templates

MIN_TURNS = 20
_TURNS_A_FACT, _TURNS_A_TRAP = 10, 30
# A template is used once a conversation, so no conversation has more than these, however long.
_MOST_FACTS, _MOST_TRAPS = 12, 4
# So few are spoken of in one conversation that most of them come up in several facts.
_SUBJECTS = {"cast": 10, "project": 8, "site": 6}


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, or a trap: a question whose fact is not stated.

    Attributes:
        draw: in [0, 1); the fact fits the schema where this is below the fit asked for.
        stated_at: the exchange of each statement; none of a trap.
        near_at: the exchange of each near miss, by its kind.
    """

    template: Template
    values: dict[str, str]
    draw: float
    stated_at: tuple[int, ...]
    near_at: dict[str, int]

    @property
    def is_trap(self) -> bool:
        """Whether its question has no answer."""
        return not self.stated_at


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """A conversation before it is put into words; `exchanges` are pairs of turns, the last of one where turns is odd."""

    name: str
    domain: str
    speakers: tuple[str, str]
    subjects: dict[str, tuple[str, ...]]
    turns: int
    exchanges: int
    facts: tuple[Fact, ...]


def plan_of(seed: int, split: str, index: int, turns: int) -> ProbePlan:
    """The plan of one conversation; about a fact in ten turns and a trap in thirty, each with its near misses.

    Raises:
        UsageError: there is no such split.
    """
    dice = Dice("probes", seed, split, index)
    domain = DOMAINS[index % len(DOMAINS)]
    drawn = dice.shuffled(templates(split, domain), "templates")
    facts, traps = min(turns // _TURNS_A_FACT, _MOST_FACTS), min(max(turns // _TURNS_A_TRAP, 1), _MOST_TRAPS)
    stated = drawn[:facts]
    # An older value without a newer one would be an answer, so a trap needs another near miss.
    traps_of = [template for template in drawn[facts:] if set(template.near) - {"older"}][:traps]
    subjects = {pool: tuple(dice.shuffled(pools().subjects[pool], pool)[:most]) for pool, most in _SUBJECTS.items()}
    draw_values = _Values(dice, subjects)
    exchanges = (turns + 1) // 2
    places = iter(dice.shuffled(range(turns // 2), "places"))
    speakers = dice.shuffled(pools().values["speakers"], "speakers")
    return ProbePlan(
        name=f"s{seed}-{split}-c{index:04d}",
        domain=domain,
        speakers=(str(speakers[0]), str(speakers[1])),
        subjects=subjects,
        turns=turns,
        exchanges=exchanges,
        facts=tuple(
            _fact(template, draw_values.of(template), dice, places, is_trap=place >= len(stated))
            for place, template in enumerate([*stated, *traps_of])
        ),
    )


def _fact(template: Template, values: dict[str, str], dice: Dice, places: Iterator[int], *, is_trap: bool) -> Fact:
    draw = dice.number("fit", template.name)
    kinds = [kind for kind in template.near if not (is_trap and kind == "older")]
    free = [kind for kind in kinds if kind != "older"]
    # What was so before is said before; the statements of a fact come in either order.
    statements = () if is_trap else template.fit
    in_order = sorted(next(places) for _ in range(len(statements) + ("older" in kinds)))
    near_at = {"older": in_order.pop(0)} if "older" in kinds else {}
    if dice.number("order", template.name) < 0.5:
        in_order.reverse()
    return Fact(template, values, draw, tuple(in_order), near_at | {kind: next(places) for kind in free})


class _Values:
    """Values for slots: no value twice, and no subject in two facts about the same kind of value."""

    def __init__(self, dice: Dice, subjects: dict[str, tuple[str, ...]]) -> None:
        self.dice, self.subjects = dice, subjects
        self.taken: dict[str, set[str]] = {}
        self.streams: dict[str, Iterator[Value]] = {}

    def of(self, template: Template) -> dict[str, str]:
        """A value for each slot of the template."""
        values: dict[str, str] = {}
        kinds = [pool for pool in dict.fromkeys(template.slots.values()) if pool not in self.subjects]
        for pool in dict.fromkeys(template.slots.values()):
            slots = [slot for slot, source in template.slots.items() if source == pool]
            if pool not in self.subjects:
                for slot in slots:
                    values |= _named(slot, next(self._stream(pool)))
                continue
            taken = {name for kind in kinds for name in self.taken.get(kind, ())}
            free = [name for name in self.dice.shuffled(self.subjects[pool], pool, template.name) if name not in taken]
            values |= dict(zip(slots, free[: len(slots)], strict=True))
            for kind in kinds:
                self.taken.setdefault(kind, set()).update(free[: len(slots)])
        return values

    def _stream(self, pool: str) -> Iterator[Value]:
        if pool not in self.streams:
            numbers = pools().numbers.get(pool)
            self.streams[pool] = (
                iter(self.dice.shuffled(pools().values[pool], pool))
                if numbers is None
                else _distinct(numbers, self.dice, pool)
            )
        return self.streams[pool]


def _distinct(numbers: Numbers, dice: Dice, pool: str) -> Iterator[str]:
    seen: set[int] = set()
    for place in count():
        number = numbers.low + dice.below(numbers.high - numbers.low + 1, pool, place)
        if number not in seen:
            seen.add(number)
            yield f"{numbers.unit}{number}"


def _named(slot: str, value: Value) -> dict[str, str]:
    """A plain value under its slot; one of three parts as SLOT_from, SLOT_to and what lies between."""
    if isinstance(value, str):
        return {slot: value}
    return dict(zip((f"{slot}_from", f"{slot}_to", slot), value, strict=True))
