"""A plan: an ordered list of steps, given as data, so that retrieval systems differ by tables and not by code."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from transforms.errors import NotFoundError, UsageError
from transforms.retrieve.fuse import FuseRrf, FuseWeighted
from transforms.retrieve.pack import Pack
from transforms.retrieve.rank import Rank
from transforms.retrieve.search import Search, Step
from transforms.retrieve.seed import SeedDense, SeedLexical

StepTable = Mapping[str, Any]

STEPS: dict[str, type[Any]] = {
    "seed_dense": SeedDense,
    "seed_lexical": SeedLexical,
    "fuse_weighted": FuseWeighted,
    "fuse_rrf": FuseRrf,
    "rank": Rank,
    "pack": Pack,
}
_NAMES = {step: name for name, step in STEPS.items()}
_STAGES = ("seed", "fuse", "rank", "pack")

# The plans that need no study file; a study may declare its own beside them.
PLANS: dict[str, list[dict[str, Any]]] = {
    "hybrid": [
        {"step": "seed_dense"},
        {"step": "seed_lexical"},
        {"step": "fuse_weighted", "dense": 0.7, "lexical": 0.3},
        {"step": "rank"},
        {"step": "pack"},
    ],
    "rrf": [
        {"step": "seed_dense"},
        {"step": "seed_lexical"},
        {"step": "fuse_rrf", "k0": 60.0},
        {"step": "rank"},
        {"step": "pack"},
    ],
    "dense": [{"step": "seed_dense"}, {"step": "rank"}, {"step": "pack"}],
    "lexical": [{"step": "seed_lexical"}, {"step": "rank"}, {"step": "pack"}],
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they are done."""

    name: str
    steps: tuple[Step, ...]

    @property
    def needs_vectors(self) -> bool:
        """Whether units and questions must be embedded for it."""
        return any(isinstance(step, SeedDense) for step in self.steps)

    def tables(self) -> list[dict[str, Any]]:
        """The plan as data, every default filled in."""
        return [{"step": _NAMES[type(step)], **asdict(step)} for step in self.steps]  # type: ignore[call-overload]

    def run(self, search: Search) -> Search:
        """The search with every step done."""
        for step in self.steps:
            search = step.apply(search)
        return search


def find_plan(name: str) -> Plan:
    """A built-in plan.

    Raises:
        NotFoundError: there is none of this name.
    """
    if name not in PLANS:
        raise NotFoundError(
            f"plan={name!r} does not exist: built in are {', '.join(sorted(PLANS))}",
            hint="name one of these, or declare the plan in a study as [plans.NAME] steps = [...]",
        )
    return parse_plan(name, PLANS[name])


def parse_plan(name: str, tables: Sequence[StepTable]) -> Plan:
    """Steps from their tables, each {step = NAME, setting = value, ...}.

    Raises:
        UsageError: a step, a setting or a value is not allowed, or the steps do not follow each other.
        NotFoundError: a step has an unknown name.
    """
    steps = tuple(_parse_step(f"plan={name!r} step {place}", table) for place, table in enumerate(tables, 1))
    _check_order(name, steps)
    return Plan(name, steps)


def _parse_step(where: str, table: StepTable) -> Step:
    if not isinstance(table, Mapping) or "step" not in table:
        raise UsageError(f"{where} is {table!r}: a table with the key 'step' is allowed", hint=_HINT)
    if table["step"] not in STEPS:
        raise NotFoundError(
            f"{where}: step={table['step']!r} does not exist: allowed are {', '.join(sorted(STEPS))}", hint=_HINT
        )
    kind = STEPS[table["step"]]
    settings = {field.name: field for field in fields(kind)}
    given = {key: value for key, value in table.items() if key != "step"}
    if unknown := sorted(given.keys() - settings.keys()):
        allowed = ", ".join(sorted(settings)) or "none"
        raise UsageError(f"{where}: setting={unknown[0]!r} is unknown: allowed are {allowed}", hint=_HINT)
    for key, value in given.items():
        if options := settings[key].metadata.get("allowed"):
            if value not in options:
                raise UsageError(f"{where}: {key}={value!r}: allowed are {', '.join(options)}", hint=_HINT)
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise UsageError(f"{where}: {key}={value!r}: a number, 0 or more, is allowed", hint=_HINT)
        else:
            given[key] = float(value)
    step: Step = kind(**given)
    return step


def _check_order(name: str, steps: Sequence[Step]) -> None:
    stages = [step.stage for step in steps]
    seeds = [_NAMES[type(step)] for step in steps if step.stage == "seed"]
    problem = ""
    if stages != sorted(stages, key=_STAGES.index):
        problem = f"steps stand in the order {', '.join(stages)}"
    elif not seeds or len(set(seeds)) < len(seeds):
        problem = f"seeds are {', '.join(seeds) or 'none'}"
    elif stages.count("rank") != 1 or stages.count("pack") != 1:
        problem = f"it has rank steps={stages.count('rank')} and pack steps={stages.count('pack')}"
    elif stages.count("fuse") != int(len(seeds) > 1):
        problem = f"it has seeds={len(seeds)} and fuse steps={stages.count('fuse')}"
    if problem:
        raise UsageError(
            f"plan={name!r}: {problem}; allowed are one or more different seeds, one fuse if there are several seeds, "
            "one rank, one pack, in this order",
            hint=_HINT,
        )


_HINT = "mend the study, or start from a built-in plan: " + ", ".join(PLANS)
