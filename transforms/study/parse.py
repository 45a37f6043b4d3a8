"""A study read from TOML and checked before anything runs: all that is wrong with it is said at once."""

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from memlake.transforms.answer.spec import JudgeSpec, ReaderSpec
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.retrieve.plan import Plan, find_plan, parse_plan
from memlake.transforms.retrieve.steps.search import Cutoffs
from memlake.transforms.study.checks import declared_names, name_faults, study_faults
from memlake.transforms.study.faults import Fault, fault_error, section_faults
from memlake.transforms.study.file import CellSection, CutoffsSection, StudyFile
from memlake.transforms.study.study import HeadlineSection, Measure, Study, StudyCell, StudyCorpus


def parse_study(text: str, *, source: str) -> Study:
    """Read a study from TOML text; `source` names it in errors.

    Raises:
        UsageError: it is no TOML, keys are unknown or missing, values are not allowed; says each with its line.
        NotFoundError: nothing is wrong but that a plan, a step, a prompt or the tokeniser does not exist.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"study={source!r} is not TOML: {error}", hint="mend the file") from error
    names = declared_names(tables)
    headline = _headline(tables, names)
    plans, faults = _plans(tables)
    faults += name_faults(tables)
    try:
        file = StudyFile.model_validate(tables, context={**names, "headline": headline.said()})
    except ValidationError as error:
        raise fault_error(source, text, [*faults, *section_faults(error, tables)]) from error
    if not faults:
        study = _study(file, plans, headline)
        faults = list(study_faults(study))
    if faults:
        raise fault_error(source, text, faults)
    return study


def _plans(tables: Mapping[str, Any]) -> tuple[dict[str, Plan], list[Fault]]:
    """The study's own plans, as far as they have steps, and what is wrong with their steps."""
    plans, faults = dict[str, Plan](), list[Fault]()
    declared = tables.get("plans")
    for name, table in declared.items() if isinstance(declared, dict) else ():
        steps = table.get("steps") if isinstance(table, dict) else None
        if isinstance(steps, list) and all(isinstance(step, dict) for step in steps):
            try:
                plans[name] = parse_plan(name, steps)
            except UsageError as error:
                for problem, line in zip(error.problems, error.message.split("\n"), strict=True):
                    path = ("plans", name, *problem.path)
                    faults.append(Fault(path, line, error.hint, problem.code == NotFoundError.code))
    return plans, faults


def _study(file: StudyFile, plans: Mapping[str, Plan], headline: Measure) -> Study:
    return Study(
        name=file.name,
        corpora=_corpora(file),
        cells=tuple(_cell(cell, plans) for cell in file.cells),
        cutoffs=_cutoffs(file.cutoffs),
        headline=headline,
        embedder=file.embedder,
        tokeniser=file.tokeniser,
        depth=file.depth,
        answers=_cutoffs(file.answers),
        readers={name: ReaderSpec(name, **reader.model_dump()) for name, reader in file.readers.items()},
        judges=tuple(JudgeSpec(name, **judge.model_dump()) for name, judge in file.judges.items()),
        comparisons=file.comparisons,
        repeats=file.repeats,
        published=file.published,
        gates=file.gates,
        seed=file.seed,
    )


def _corpora(file: StudyFile) -> tuple[StudyCorpus, ...]:
    """What is said at the top of the file holds for each corpus that does not say its own."""
    common = {"label_sets": file.label_sets, "categories": file.categories, "language": file.language}
    named = (
        [{"name": file.corpus}] if file.corpus else [corpus.model_dump(exclude_none=True) for corpus in file.corpora]
    )
    return tuple(StudyCorpus(**(common | corpus)) for corpus in named)


def _cell(cell: CellSection, plans: Mapping[str, Plan]) -> StudyCell:
    return StudyCell(
        cell.name,
        cell.representations,
        plans.get(cell.plan) or find_plan(cell.plan),
        reader=cell.reader,
        corpora=cell.corpora,
        cutoffs=_cutoffs(cell.cutoffs) if cell.cutoffs else None,
        answers=_cutoffs(cell.answers) if cell.answers else None,
    )


def _cutoffs(section: CutoffsSection) -> Cutoffs:
    return Cutoffs(tokens=section.tokens, k=section.k)


def _headline(tables: Mapping[str, Any], names: Mapping[str, Sequence[str]]) -> Measure:
    """The study's own; else, or where that is wrong, survival at 1,000 tokens, or at the study's first cutoff."""
    with suppress(KeyError, ValidationError):
        return HeadlineSection.model_validate(tables["headline"], context=names).measure
    cutoffs = Cutoffs(tokens=(1000,))
    with suppress(KeyError, ValidationError):
        cutoffs = _cutoffs(CutoffsSection.model_validate(tables["cutoffs"]))
    at = next(iter(cutoffs.pairs()), ("tokens", 1000))
    return Measure("answer_survival_all", *(("tokens", 1000) if 1000 in cutoffs.tokens else at))
