"""A plan: an ordered list of steps, given as data, so that retrieval systems differ by tables and not by code."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any

from transforms.errors import NotFoundError, UsageError
from transforms.retrieve.fuse import SCALED, FuseRrf, FuseWeighted
from transforms.retrieve.pack import Pack
from transforms.retrieve.rank import Rank
from transforms.retrieve.rerank import Rerank
from transforms.retrieve.reranker import check_reranker
from transforms.retrieve.search import Search, Step
from transforms.retrieve.seed import SeedDense, SeedLexical
from transforms.retrieve.seed_tokens import SeedMulti, SeedSparse

StepTable = Mapping[str, Any]

STEPS: dict[str, type[Any]] = {
    "seed_dense": SeedDense,
    "seed_lexical": SeedLexical,
    "seed_sparse": SeedSparse,
    "seed_multi": SeedMulti,
    "fuse_weighted": FuseWeighted,
    "fuse_rrf": FuseRrf,
    "rank": Rank,
    "rerank": Rerank,
    "pack": Pack,
}
_NAMES = {step: name for name, step in STEPS.items()}
_STAGES = ("seed", "fuse", "rank", "rerank", "pack")

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
    def needs(self) -> frozenset[str]:
        """The outputs of an embedder that units and questions must have for it: 'dense', 'sparse', 'multi'."""
        return frozenset(step.output for step in self.steps if isinstance(step, SeedDense | SeedSparse | SeedMulti))

    @property
    def needs_vectors(self) -> bool:
        """Whether units and questions must be embedded for it."""
        return bool(self.needs)

    @property
    def rerankers(self) -> tuple[str, ...]:
        """The rerankers that it asks."""
        return tuple(step.model for step in self.steps if isinstance(step, Rerank))

    def tables(self) -> list[dict[str, Any]]:
        """The plan as data, every default filled in; a setting that is left out by default stays out."""
        return [{"step": _NAMES[type(step)], **_settings(step)} for step in self.steps]

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
        given[key] = _checked(where, settings[key], value)
    step: Step = kind(**given)
    if isinstance(step, Rerank):
        check_reranker(step.model)
    return step


def _checked(where: str, setting: Field[Any], value: Any) -> Any:
    """A setting's value in its type: one of some texts, any text, a whole number, yes or no, or a number."""
    options = setting.metadata.get("allowed")
    if options:
        fits, allowed = value in options, f"allowed are {', '.join(options)}"
    elif setting.type is str:
        fits, allowed = isinstance(value, str) and bool(value.strip()), "a text is allowed"
    elif setting.type is bool:
        fits, allowed = isinstance(value, bool), "true or false is allowed"
    elif setting.type is int:
        whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
        fits, allowed = whole and 0 < value < _MOST, "a whole number, 1 or more, is allowed"
        value = int(value) if fits else value
    else:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits, allowed = number and 0 <= value < float("inf"), "a number, 0 or more, is allowed"
        value = float(value) if fits else value
    if not fits:
        raise UsageError(f"{where}: {setting.name}={value!r}: {allowed}", hint=_HINT)
    return value


def _settings(step: Step) -> dict[str, Any]:
    """A step's settings; those that are optional and not given are none of them."""
    return {
        setting.name: getattr(step, setting.name)
        for setting in fields(step)  # type: ignore[arg-type]
        if not (setting.metadata.get("optional") and getattr(step, setting.name) is None)
    }


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
    elif stages.count("rerank") > 1:
        problem = f"it has rerank steps={stages.count('rerank')}"
    elif stages.count("fuse") != int(len(seeds) > 1):
        problem = f"it has seeds={len(seeds)} and fuse steps={stages.count('fuse')}"
    if problem:
        raise UsageError(
            f"plan={name!r}: {problem}; allowed are one or more different seeds, one fuse if there are several seeds, "
            "one rank, at most one rerank, one pack, in this order",
            hint=_HINT,
        )
    for step in steps:
        if isinstance(step, FuseWeighted):
            _check_weights(name, step, {seed.removeprefix("seed_") for seed in seeds})


def _check_weights(name: str, step: FuseWeighted, seeds: Collection[str]) -> None:
    """Refuse a seed without a weight, and a weight without its seed: either would go without a word."""
    for part in SCALED:
        weight = getattr(step, part)
        if part in seeds and weight is None:
            raise UsageError(
                f"plan={name!r}: fuse_weighted gives seed_{part} no weight", hint=f"add {part} = 0.3 to it"
            )
        optional = part not in ("dense", "lexical")
        if optional and part not in seeds and weight is not None:
            raise UsageError(f"plan={name!r}: fuse_weighted weighs {part}, and no step seeds it", hint=_HINT)


_MOST = 2**31
_HINT = "mend the study, or start from a built-in plan: " + ", ".join(PLANS)
