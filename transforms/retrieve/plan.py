"""A plan: an ordered list of steps, given as data, so that retrieval systems differ by tables and not by code."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.embed.reranker import check_reranker
from memlake.transforms.retrieve.steps.expand import Expand
from memlake.transforms.retrieve.steps.filter import Filter
from memlake.transforms.retrieve.steps.fuse import SCALED, FuseRrf, FuseWeighted
from memlake.transforms.retrieve.steps.pack import Pack
from memlake.transforms.retrieve.steps.rank import Rank
from memlake.transforms.retrieve.steps.rerank import Rerank
from memlake.transforms.retrieve.steps.search import Search, Step
from memlake.transforms.retrieve.steps.seed import SeedDense, SeedLexical
from memlake.transforms.retrieve.steps.seed_plain import SeedGold, SeedRandom, SeedTime
from memlake.transforms.retrieve.steps.seed_tokens import SeedMulti, SeedSparse
from memlake.transforms.retrieve.steps.settings import checked_settings, settings_of
from memlake.transforms.retrieve.steps.show import Merge, Project, Show
from memlake.transforms.retrieve.steps.swap import Swap

StepTable = Mapping[str, Any]

STEPS: dict[str, type[Any]] = {
    "seed_dense": SeedDense,
    "seed_lexical": SeedLexical,
    "seed_sparse": SeedSparse,
    "seed_multi": SeedMulti,
    "seed_random": SeedRandom,
    "seed_gold": SeedGold,
    "seed_time": SeedTime,
    "fuse_weighted": FuseWeighted,
    "fuse_rrf": FuseRrf,
    "filter": Filter,
    "rank": Rank,
    "expand": Expand,
    "rerank": Rerank,
    "show": Show,
    "merge": Merge,
    "project": Project,
    "swap": Swap,
    "pack": Pack,
}
_NAMES = {step: name for name, step in STEPS.items()}
_STAGES = ("seed", "fuse", "filter", "rank", "expand", "rerank", "show", "swap", "pack")
# Stages of which a plan has one step or none.
_AT_MOST_ONE = ("filter", "expand", "rerank", "show", "swap")

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
    # Bounds: what chance gives, the gold turns alone, the most recent units in the order of the source, the question alone.
    "random": [{"step": "seed_random"}, {"step": "rank"}, {"step": "pack"}],
    "gold": [{"step": "seed_gold"}, {"step": "rank"}, {"step": "pack", "order": "time"}],
    "full": [{"step": "seed_time"}, {"step": "rank"}, {"step": "pack", "order": "time"}],
    "nothing": [{"step": "seed_random"}, {"step": "rank", "candidates": 0}, {"step": "pack", "most": 0}],
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

    @property
    def reads(self) -> frozenset[str]:
        """The tables that it reads beside units: 'provenance', 'turns', 'links', 'evidence'."""
        return frozenset[str]().union(*(step.reads for step in self.steps))

    @property
    def label_sets(self) -> tuple[str, ...]:
        """Whose gold turns it looks for."""
        return tuple(step.label_set for step in self.steps if isinstance(step, SeedGold))

    @property
    def expand(self) -> Expand | None:
        """The step that follows links."""
        return next((step for step in self.steps if isinstance(step, Expand)), None)

    @property
    def swap(self) -> Swap | None:
        """The step that shows each question another one's context."""
        return next((step for step in self.steps if isinstance(step, Swap)), None)

    @property
    def only_new(self) -> Literal["", "spans", "turns"]:
        """Whether a unit shows only what no better one has shown; see `View`."""
        kinds = {type(step) for step in self.steps}
        return "spans" if Merge in kinds else "turns" if Project in kinds else ""

    def with_reranker(self, model: str) -> "Plan":
        """The plan with this model in its rerank step; 'none' takes the step out.

        Raises:
            NotFoundError: there is no such reranker.
        """
        if model == "none":
            return replace(self, steps=tuple(step for step in self.steps if not isinstance(step, Rerank)))
        check_reranker(model)
        steps = (replace(step, model=model) if isinstance(step, Rerank) else step for step in self.steps)
        return replace(self, steps=tuple(steps))

    def tables(self) -> list[dict[str, Any]]:
        """The plan as data, every default filled in; a setting that is left out by default stays out."""
        return [{"step": _NAMES[type(step)], **settings_of(step)} for step in self.steps]

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
    given = checked_settings(where, kind, {key: value for key, value in table.items() if key != "step"}, _HINT)
    step: Step = kind(**given)
    if isinstance(step, Rerank):
        check_reranker(step.model)
    return step


def _check_order(name: str, steps: Sequence[Step]) -> None:
    stages: list[str] = [step.stage for step in steps]
    seeds = [_NAMES[type(step)] for step in steps if step.stage == "seed"]
    problem = ""
    if stages != sorted(stages, key=_STAGES.index):
        problem = f"steps stand in the order {', '.join(stages)}"
    elif not seeds or len(set(seeds)) < len(seeds):
        problem = f"seeds are {', '.join(seeds) or 'none'}"
    elif stages.count("rank") != 1 or stages.count("pack") != 1:
        problem = f"it has rank steps={stages.count('rank')} and pack steps={stages.count('pack')}"
    elif repeated := [stage for stage in _AT_MOST_ONE if stages.count(stage) > 1]:
        problem = f"it has {repeated[0]} steps={stages.count(repeated[0])}"
    elif stages.count("fuse") != int(len(seeds) > 1):
        problem = f"it has seeds={len(seeds)} and fuse steps={stages.count('fuse')}"
    elif any(step == Filter() for step in steps):
        problem = "its filter has no setting and keeps everything"
    if problem:
        raise UsageError(
            f"plan={name!r}: {problem}; allowed are one or more different seeds, one fuse if there are several seeds, "
            "at most one filter, one rank, at most one each of expand, rerank, show (or merge, or project) and swap, one "
            "pack, in this order",
            hint=_HINT,
        )
    for step in steps:
        if isinstance(step, FuseWeighted):
            _check_weights(name, step, {seed.removeprefix("seed_") for seed in seeds})


def _check_weights(name: str, step: FuseWeighted, seeds: Collection[str]) -> None:
    """Refuse a seed without a weight, and a weight without its seed: either would go without a word."""
    if other := sorted(set(seeds) - set(SCALED)):
        raise UsageError(
            f"plan={name!r}: fuse_weighted has no weight for seed_{other[0]}: it weighs {', '.join(SCALED)}",
            hint="fuse_rrf adds ranks of any seeds",
        )
    for part in SCALED:
        weight = getattr(step, part)
        if part in seeds and weight is None:
            raise UsageError(
                f"plan={name!r}: fuse_weighted gives seed_{part} no weight", hint=f"add {part} = 0.3 to it"
            )
        optional = part not in ("dense", "lexical")
        if optional and part not in seeds and weight is not None:
            raise UsageError(f"plan={name!r}: fuse_weighted weighs {part}, and no step seeds it", hint=_HINT)


_HINT = "mend the study, or start from a built-in plan: " + ", ".join(PLANS)
