"""A plan: an ordered list of steps, given as data, so that retrieval systems differ by tables and not by code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated, Any, Union, get_args

import numpy as np
import pyarrow as pa
from pydantic import Field, ValidationError

from memlake.transforms.base.arrays import Floats, Ints
from memlake.transforms.base.errors import NotFoundError, Problem, UsageError
from memlake.transforms.base.fields import problem_of
from memlake.transforms.embed.reranker import check_reranker
from memlake.transforms.retrieve.contexts.shown import View
from memlake.transforms.retrieve.steps.expand import Expand
from memlake.transforms.retrieve.steps.filter import Filter
from memlake.transforms.retrieve.steps.fuse import Fuse, FuseRrf, FuseWeighted
from memlake.transforms.retrieve.steps.pack import Pack
from memlake.transforms.retrieve.steps.rank import Rank
from memlake.transforms.retrieve.steps.rerank import Rerank
from memlake.transforms.retrieve.steps.seed import SeedDense, SeedLexical
from memlake.transforms.retrieve.steps.seed_plain import SeedGold, SeedRandom, SeedTime
from memlake.transforms.retrieve.steps.seed_tokens import SeedMulti, SeedSparse
from memlake.transforms.retrieve.steps.show import Merge, Project, Show
from memlake.transforms.retrieve.steps.step import Part, Search, Seed, Stage, Step
from memlake.transforms.retrieve.steps.swap import Swap

# Every step there is, by the name that its `step` field has.
STEPS: dict[str, type[Step]] = {
    get_args(step.model_fields["step"].annotation)[0]: step
    for step in (
        SeedDense,
        SeedLexical,
        SeedSparse,
        SeedMulti,
        SeedRandom,
        SeedGold,
        SeedTime,
        FuseWeighted,
        FuseRrf,
        Filter,
        Rank,
        Expand,
        Rerank,
        Show,
        Merge,
        Project,
        Swap,
        Pack,
    )
}
# A step of any kind, for a JSON schema: see pydantic's TypeAdapter.
AnyStep: Any = Annotated[Union[tuple(STEPS.values())], Field(discriminator="step")]  # noqa: UP007 - made of a table
_STAGES = get_args(Stage)
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


@dataclass(frozen=True)
class Plan:
    """Steps in the order in which they are done."""

    name: str
    steps: tuple[Step, ...]

    @cached_property
    def needs(self) -> frozenset[str]:
        """The outputs of an embedder that units and questions must have for it: 'dense', 'sparse', 'multi'."""
        return frozenset[str]().union(*(step.outputs for step in self.steps))

    @cached_property
    def needs_vectors(self) -> bool:
        """Whether units and questions must be embedded for it."""
        return bool(self.needs)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The tables that it reads beside units."""
        return frozenset[str]().union(*(step.reads for step in self.steps))

    @cached_property
    def rerankers(self) -> tuple[str, ...]:
        """The rerankers that it asks."""
        return tuple(model for step in self.steps for model in step.rerankers)

    @cached_property
    def chat_models(self) -> tuple[str, ...]:
        """The models that it asks through the model edge."""
        return tuple(model for step in self.steps for model in step.chat_models)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The parts of a score that its steps add."""
        return tuple(step.part for step in self.steps if step.part)

    @cached_property
    def view(self) -> View:
        """What of a unit contexts show."""
        return next((step.view for step in self.steps if step.view is not None), View())

    @cached_property
    def seeds(self) -> tuple[Seed, ...]:
        """The steps that score units."""
        return tuple(step for step in self.steps if isinstance(step, Seed))

    @cached_property
    def adds_up(self) -> bool:
        """Whether its best units are among those that its seeds lead with; see Step."""
        return all(step.adds_up for step in self.steps)

    def fused(self, parts: Mapping[str, Part]) -> Floats:
        """What units rank by, from the parts of its seeds."""
        fuse = next((step for step in self.steps if isinstance(step, Fuse)), None)
        return fuse.fused(parts) if fuse else next(iter(parts.values())).whole()

    def partners(self, questions: pa.Table) -> Ints:
        """By whose words each question is searched, as rows of `questions`."""
        rows = np.arange(questions.num_rows)
        for step in self.steps:
            rows = rows[step.partners(questions)]
        return rows

    def with_reranker(self, model: str) -> "Plan":
        """The plan with this model in its rerank step; 'none' takes the step out.

        Raises:
            NotFoundError: there is no such reranker.
        """
        if model != "none":
            check_reranker(model)
        changed = (step.with_reranker(model) for step in self.steps)
        return replace(self, steps=tuple(step for step in changed if step is not None))

    def tables(self) -> list[dict[str, Any]]:
        """The plan as data, every default filled in; a setting that came later stays out while it has its default."""
        return [step.model_dump(mode="json") for step in self.steps]

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


def parse_plan(name: str, tables: Sequence[Any]) -> Plan:
    """Steps from their tables, each {step = NAME, setting = value, ...}.

    Raises:
        UsageError: steps, settings or values are not allowed, or the steps do not follow each other; all that is wrong,
            and as `problems` with the place in {steps = [...]} of each.
        NotFoundError: and nothing is wrong but names that there are not.
    """
    steps: list[Step] = []
    problems: list[Problem] = []
    for place, table in enumerate(tables):
        try:
            steps.append(_parse_step(table))
        except UsageError as error:
            problems += [replace(problem, path=("steps", place, *problem.path)) for problem in error.problems]
    plan = Plan(name, tuple(steps))
    if not problems and (wrong := _wrong_order(plan)):
        problems = [Problem(("steps",), wrong)]
    if problems:
        kind = NotFoundError if all(problem.code == "not_found" for problem in problems) else UsageError
        raise kind("\n".join(_line(name, problem) for problem in problems), hint=_HINT, problems=problems)
    return plan


def _line(name: str, problem: Problem) -> str:
    places = [place + 1 for place in problem.path if isinstance(place, int)]
    return f"plan={name!r}{f' step {places[0]}' if places else ''}: {problem.message}"


def _parse_step(table: Any) -> Step:
    """A step from its table.

    Raises:
        UsageError: with the problems that it has, paths of which begin at the step.
    """
    if not isinstance(table, Mapping) or "step" not in table:
        problems = [Problem((), f"{table!r} is no step: a table with the key 'step' is allowed")]
    elif table["step"] not in STEPS:
        near = get_close_matches(str(table["step"]), STEPS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        words = f"step={table['step']!r} does not exist: allowed are {', '.join(sorted(STEPS))}{hint}"
        problems = [Problem(("step",), words, "not_found")]
    else:
        kind = STEPS[table["step"]]
        try:
            return kind.model_validate(table)
        except ValidationError as error:
            settings = kind.model_fields.keys() - {"step"}
            problems = [problem_of(wrong, settings) for wrong in error.errors(include_url=False)]
    raise UsageError("a step is not allowed", problems=problems)


def _wrong_order(plan: Plan) -> str:
    """Why the steps do not follow each other; '' where they do."""
    stages: list[str] = [step.stage for step in plan.steps]
    seeds = plan.seeds
    parts = [seed.part for seed in seeds]
    wrong = ""
    if stages != sorted(stages, key=_STAGES.index):
        wrong = f"steps stand in the order {', '.join(stages)}"
    elif not seeds or len(set(parts)) < len(parts):
        wrong = f"seeds are {', '.join(seed.step for seed in seeds) or 'none'}"
    elif stages.count("rank") != 1 or stages.count("pack") != 1:
        wrong = f"it has rank steps={stages.count('rank')} and pack steps={stages.count('pack')}"
    elif repeated := [stage for stage in _AT_MOST_ONE if stages.count(stage) > 1]:
        wrong = f"it has {repeated[0]} steps={stages.count(repeated[0])}"
    elif stages.count("fuse") != int(len(seeds) > 1):
        wrong = f"it has seeds={len(seeds)} and fuse steps={stages.count('fuse')}"
    if wrong:
        return (
            f"{wrong}; allowed are one or more different seeds, one fuse if there are several seeds, at most one filter, "
            "one rank, at most one each of expand, rerank, show (or merge, or project) and swap, one pack, in this order"
        )
    return next((words for step in plan.steps if (words := step.problem(seeds))), "")


_HINT = "mend the study, or start from a built-in plan: " + ", ".join(PLANS)
