"""A study read from TOML and checked before anything runs, all that is wrong with it said at once; and the studies that come along."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memlake.schemas.metrics import METRICS
from memlake.transforms.answer.spec import JudgeSpec, ReaderSpec
from memlake.transforms.base.errors import NotFoundError, Problem, UsageError
from memlake.transforms.retrieve.plan import Plan, find_plan, parse_plan
from memlake.transforms.retrieve.steps.step import Cutoffs
from memlake.transforms.study import lines
from memlake.transforms.study.faults import fault_error, section_faults
from memlake.transforms.study.file import CellSection, CutoffsSection, StudyFile
from memlake.transforms.study.study import (
    JUDGE_HINT,
    HeadlineSection,
    Measure,
    Study,
    StudyCell,
    StudyCorpus,
    judge_fault,
)


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


def _plans(tables: Mapping[str, Any]) -> tuple[dict[str, Plan], list[Problem]]:
    """The study's own plans, as far as they have steps, and what is wrong with their steps."""
    plans, faults = dict[str, Plan](), list[Problem]()
    declared = tables.get("plans")
    for name, table in declared.items() if isinstance(declared, dict) else ():
        steps = table.get("steps") if isinstance(table, dict) else None
        if isinstance(steps, list) and all(isinstance(step, dict) for step in steps):
            try:
                plans[name] = parse_plan(name, steps)
            except UsageError as error:
                for problem, line in zip(error.problems, error.message.split("\n"), strict=True):
                    faults.append(replace(problem, path=("plans", name, *problem.path), message=line, hint=error.hint))
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
    at = next(iter(cutoffs.pairs), ("tokens", 1000))
    return Measure("answer_survival_all", *(("tokens", 1000) if 1000 in cutoffs.tokens else at))


def declared_names(tables: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names that each section of a file declares, whatever else is wrong with it."""
    names = {section: [name for name, _ in _named(tables, section)] for section in ("cells", "corpora", "comparisons")}
    if isinstance(tables.get("corpus"), str):
        names["corpora"].append(tables["corpus"])
    for section in ("plans", "readers", "judges"):
        names[section] = list(tables[section]) if isinstance(tables.get(section), dict) else []
    return names


def name_faults(tables: Mapping[str, Any]) -> Iterator[Problem]:
    """Names that come twice, corpora that are declared in both ways or in none, and a file without cells."""
    if bool(tables.get("corpus")) == bool(tables.get("corpora")):
        what = "both corpus and corpora" if tables.get("corpus") else "no corpus"
        hint = "corpus = NAME, or one [[corpora]] with a name for each"
        yield Problem(("corpus",), f"it has {what}: one of the two is allowed", hint=hint)
    if tables.get("cells") == []:
        yield Problem(("cells",), "it has no cells", hint="add [[cells]] with name, representations and plan")
    for section, what in (("cells", "cell"), ("corpora", "corpus"), ("comparisons", "comparison")):
        seen = set[str]()
        for name, place in _named(tables, section):
            if name in seen:
                yield Problem(
                    (section, place, "name"), f"{what}={name!r} comes twice", hint=f"give every {what} its own name"
                )
            seen.add(name)


def _named(tables: Mapping[str, Any], section: str) -> Iterator[tuple[str, int]]:
    listed = tables.get(section)
    for place, table in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(table, dict) and isinstance(table.get("name"), str):
            yield table["name"], place


def study_faults(study: Study) -> Iterator[Problem]:
    """Cells that end nowhere, corpora without a cell, and measures that a cell will not have."""
    for place, cell in enumerate(study.cells):
        if cell.reader and not study.answered(cell).pairs:
            hint = "add [answers] with tokens = [...] or k = [...]"
            said = f"cell={cell.name!r} has a reader and no cutoff at which it is asked"
            yield Problem(("cells", place, "reader"), said, hint=hint)
        elif not study.cutoffs_of(cell).pairs:
            hint = "add [cutoffs] with tokens = [...] or k = [...]"
            yield Problem(("cells", place), f"it has no cutoffs, and cell={cell.name!r} none of its own", hint=hint)
    for place, corpus in enumerate(study.corpora):
        if not study.cells_of(corpus.name):
            hint = "leave it out, or name it in a cell's corpora"
            yield Problem(("corpora", place), f"corpus={corpus.name!r} has no cell", hint=hint)
    for place, comparison in enumerate(study.comparisons):
        at, what = ("comparisons", place), f"comparison={comparison.name!r}"
        if said := judge_fault(comparison.measure):
            yield Problem(at, f"{what}: {said}", hint=JUDGE_HINT)
        for name in (comparison.a, comparison.b):
            yield from _at_no_cutoff(study, at, what, comparison.measure, name)
    # A published number may be of a cutoff that is not measured here: it is then not shown beside ours.
    for place, gate in enumerate(study.gates):
        yield from _at_no_cutoff(study, ("gates", place), f"gate of cell={gate.cell!r}", gate.measure, gate.cell)


def _at_no_cutoff(study: Study, path: lines.Path, what: str, measure: Measure, name: str) -> Iterator[Problem]:
    cell, card = study.cell(name), METRICS[measure.metric]
    there: list[tuple[str, int]] = [("none", 0)]
    if card.is_of_readers:
        there = [*study.answered(cell).pairs]
    elif card.of == "context":
        there = [*study.cutoffs_of(cell).pairs]
    if (measure.cutoff_kind, measure.cutoff) not in there:
        has = ", ".join(f"{cutoff} {kind}" for kind, cutoff in there) or "no reader"
        at = f"{measure.metric} at {measure.cutoff} {measure.cutoff_kind}"
        hint = "name one of these, or add the cutoff to the study or to the cell"
        yield Problem(path, f"{what}: {at}: cell={name!r} has it at {has}", hint=hint)


def find_study(name: str) -> Study:
    """A study by path, or by its name among those that come with memlake.

    Raises:
        NotFoundError: there is none; says which there are.
        UsageError: it is no TOML, or not a study.
    """
    return parse_study(study_text(name), source=str(study_path(name)))


def study_text(name: str) -> str:
    """The text of a study's file.

    Raises:
        NotFoundError: there is none.
        UsageError: it is no UTF-8 text.
    """
    path = study_path(name)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"study={str(path)!r} cannot be read: {error.strerror}", hint="memlake study ls") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"study={str(path)!r} is not UTF-8 text: {error}", hint="save it as UTF-8") from error


def study_path(name: str) -> Path:
    """Where a study stands: the path itself, or that of one that comes with memlake.

    Raises:
        NotFoundError: none of those that come with memlake is named so.
    """
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    if name not in study_names():
        raise NotFoundError(
            f"study={name!r} is unknown; there are: {', '.join(study_names())}", hint="memlake study ls, or a path"
        )
    return Path(str(resources.files("memlake").joinpath("flows", "studies", f"{name}.toml")))


def study_names() -> list[str]:
    """The studies that come with memlake."""
    folder = resources.files("memlake").joinpath("flows", "studies")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
