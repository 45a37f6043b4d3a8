"""A study read from TOML and checked before anything runs: all that is wrong with it is said at once."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from pydantic import ValidationError

from memlake.transforms.answer.spec import JudgeSpec, ReaderSpec
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.retrieve.plan import Plan, find_plan, parse_plan
from memlake.transforms.retrieve.steps.search import Cutoffs
from memlake.transforms.study.checks import declared_names, name_faults, study_faults
from memlake.transforms.study.faults import Fault, fault_error, section_faults
from memlake.transforms.study.file import CellSection, ComparisonSection, CutoffsSection, StudyFile
from memlake.transforms.study.study import Comparison, Measure, Study, StudyCell, StudyCorpus


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
    plans, faults = _plans(tables)
    faults += name_faults(tables)
    try:
        file = StudyFile.model_validate(tables, context=declared_names(tables))
    except ValidationError as error:
        raise fault_error(source, text, [*faults, *section_faults(error, tables)]) from error
    if not faults:
        study = _study(file, plans)
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
                missing = isinstance(error, NotFoundError)
                faults.append(Fault(("plans", name, "steps"), error.message, error.hint, missing))
    return plans, faults


def _study(file: StudyFile, plans: Mapping[str, Plan]) -> Study:
    cutoffs, headline = _cutoffs(file.cutoffs), _headline(file)
    return Study(
        name=file.name,
        corpora=_corpora(file),
        cells=tuple(_cell(cell, plans) for cell in file.cells),
        cutoffs=cutoffs,
        headline=headline,
        embedder=file.embedder,
        tokeniser=file.tokeniser,
        depth=file.depth,
        answers=_cutoffs(file.answers),
        readers={name: ReaderSpec(name, **reader.model_dump()) for name, reader in file.readers.items()},
        judges=tuple(JudgeSpec(name, **judge.model_dump()) for name, judge in file.judges.items()),
        comparisons=tuple(_comparison(section, headline) for section in file.comparisons),
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


def _headline(file: StudyFile) -> Measure:
    """The study's own; else survival of whole answers at 1,000 tokens, or at the study's first cutoff."""
    if file.headline:
        return file.headline.measure
    at = next(iter(_cutoffs(file.cutoffs).pairs()), ("tokens", 1000))
    return Measure("answer_survival_all", *(("tokens", 1000) if 1000 in file.cutoffs.tokens else at))


def _comparison(section: ComparisonSection, headline: Measure) -> Comparison:
    """What a comparison leaves out of its measure is the headline's."""
    said = asdict(headline) | section.model_dump(exclude_none=True)
    measure = Measure(**{field.name: said.pop(field.name) for field in fields(Measure)})
    return Comparison(measure=measure, **said)
