"""A study read from TOML and checked before anything runs."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from memlake.transforms.answer.spec import JUDGES, READERS, JudgeSpec, ReaderSpec
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.ids import check_name
from memlake.transforms.llm.prompting import prompt
from memlake.transforms.retrieve.plan import PLANS, Plan, find_plan, parse_plan
from memlake.transforms.retrieve.steps.search import Cutoffs
from memlake.transforms.study.measures import check_measures
from memlake.transforms.study.section import Section
from memlake.transforms.study.study import (
    Comparison,
    Gate,
    Measure,
    PublishedNumber,
    Repeats,
    Study,
    StudyCell,
    StudyCorpus,
)
from memlake.transforms.text.tokenisers import find_tokeniser

_KINDS = ("tokens", "k", "none")
_LANGUAGES = ("english", "other")


def read_study(path: Path) -> Study:
    """Read a study from a file.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is no TOML, or not a study.
    """
    return parse_study(study_text(path), source=str(path))


def study_text(path: Path) -> str:
    """The text of a study's file.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is no UTF-8 text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"study={str(path)!r} cannot be read: {error.strerror}", hint="memlake study ls") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"study={str(path)!r} is not UTF-8 text: {error}", hint="save it as UTF-8") from error


def parse_study(text: str, *, source: str) -> Study:
    """Read a study from TOML text; `source` names it in errors.

    Raises:
        UsageError: it is no TOML, a key is unknown or missing, a value is not allowed.
        NotFoundError: a plan, a step, a prompt or the tokeniser does not exist.
    """
    try:
        top = Section(f"study={source!r}", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"study={source!r} is not TOML: {error}", hint="mend the file") from error
    plans = {name: _plan(top, name, table) for name, table in top.table("plans", default={}).items()}
    cutoffs = _cutoffs(top.section("cutoffs"))
    readers = {name: _reader(top, name, table) for name, table in top.table("readers", default={}).items()}
    judges = [_judge(top, name, table) for name, table in top.table("judges", default={}).items()]
    headline = _headline(top, cutoffs)
    study = Study(
        name=check_name("study", top.text("name")),
        corpora=_corpora(top),
        cells=tuple(_cell(cell, plans) for cell in top.sections("cells")),
        cutoffs=cutoffs,
        headline=headline,
        embedder=top.text("embedder", default="static"),
        tokeniser=top.text("tokeniser", default="chars4"),
        depth=top.count("depth", default=100),
        answers=_cutoffs(top.section("answers", default={})),
        readers=readers,
        judges=tuple(judges),
        comparisons=tuple(_comparison(section, headline) for section in top.sections("comparisons", default=())),
        repeats=tuple(map(_repeats, top.sections("repeats", default=()))),
        published=tuple(map(_published, top.sections("published", default=()))),
        gates=tuple(map(_gate, top.sections("gates", default=()))),
        seed=top.count("seed", default=7, least=0),
    )
    top.close()
    find_tokeniser(study.tokeniser)
    _check(top.where, study)
    return study


def _corpora(top: Section) -> tuple[StudyCorpus, ...]:
    """One corpus by `corpus`, or several by [[corpora]]; what is said at the top holds for each that does not say its own."""
    common = StudyCorpus(
        name="",
        label_sets=top.texts("label_sets", default=()),
        categories=top.texts("categories", default=()),
        language=top.choice("language", _LANGUAGES, default="english"),  # type: ignore[arg-type]
    )
    one, several = top.text("corpus", default=""), top.sections("corpora", default=())
    if bool(one) == bool(several):
        raise UsageError(
            f"{top.where}: it has {'both corpus and corpora' if one else 'no corpus'}: one of the two is allowed",
            hint="corpus = NAME, or one [[corpora]] with a name for each",
        )
    if one:
        return (replace(common, name=check_name("corpus", one)),)
    made = []
    for section in several:
        made.append(
            StudyCorpus(
                name=check_name("corpus", section.text("name")),
                label_sets=section.texts("label_sets", default=common.label_sets),
                categories=section.texts("categories", default=common.categories),
                language=section.choice("language", _LANGUAGES, default=common.language),  # type: ignore[arg-type]
                dial=section.number("dial", default=None),
            )
        )
        section.close()
    return tuple(made)


def _plan(top: Section, name: str, table: Any) -> Plan:
    section = Section(f"{top.where} plans.{name}", table)
    plan = parse_plan(check_name("plan", name), section.tables("steps"))
    section.close()
    return plan


def _cutoffs(section: Section) -> Cutoffs:
    made = Cutoffs(tokens=section.counts("tokens", default=()), k=section.counts("k", default=()))
    section.close()
    return made


def _reader(top: Section, name: str, table: Any) -> ReaderSpec:
    section = Section(f"{top.where} readers.{name}", table)
    kind = section.choice("kind", READERS)
    reader = ReaderSpec(check_name("reader", name), kind)  # type: ignore[arg-type]
    if reader.asks_model:
        reader = replace(
            reader,
            model=section.text("model", default=""),
            prompt=section.text("prompt", default="answer"),
            max_tokens=section.count("max_tokens", default=200),
            temperature=section.number("temperature", default=0.0),
            seed=section.count("seed", default=0, least=0),
            repeats=section.count("repeats", default=1),
            question_date=section.truth("question_date", default=True),
        )
        prompt(reader.prompt)
    section.close()
    return reader


def _judge(top: Section, name: str, table: Any) -> JudgeSpec:
    section = Section(f"{top.where} judges.{name}", table)
    judge = JudgeSpec(check_name("judge", name), section.choice("kind", JUDGES))  # type: ignore[arg-type]
    if judge.asks_model:
        judge = replace(
            judge,
            model=section.text("model", default=""),
            prompt=section.text("prompt", default=""),
            max_tokens=section.count("max_tokens", default=10),
            temperature=section.number("temperature", default=0.0),
            seed=section.count("seed", default=0, least=0),
            repeats=section.count("repeats", default=1),
            corpora=section.texts("corpora", default=()),
        )
        if judge.prompt:
            prompt(judge.prompt)
    section.close()
    return judge


def _cell(section: Section, plans: Mapping[str, Plan]) -> StudyCell:
    name, plan = check_name("cell", section.text("name")), section.text("plan")
    if plan not in plans and plan not in PLANS:
        raise NotFoundError(
            f"{section.where}: plan={plan!r} does not exist: declared are {', '.join(plans) or 'none'}, "
            f"built in are {', '.join(PLANS)}",
            hint=f"add [plans.{plan}] steps = [...] to the study",
        )
    own = [section.section(key, default=None) for key in ("cutoffs", "answers")]
    cell = StudyCell(
        name,
        section.texts("representations"),
        plans.get(plan) or find_plan(plan),
        reader=section.text("reader", default=""),
        corpora=section.texts("corpora", default=()),
        cutoffs=_cutoffs(own[0]) if own[0] else None,
        answers=_cutoffs(own[1]) if own[1] else None,
    )
    section.close()
    for representation in cell.representations:
        check_name("representation", representation)
    return cell


def _headline(top: Section, cutoffs: Cutoffs) -> Measure:
    """The study's own headline; else survival of whole answers at 1,000 tokens, or at the study's first cutoff."""
    section = top.section("headline", default=None)
    if section:
        made = _measure(section, None)
        section.close()
        return made
    at = next(iter(cutoffs.pairs()), ("tokens", 1000))
    kind, cutoff = ("tokens", 1000) if 1000 in cutoffs.tokens else at
    return Measure("answer_survival_all", kind, cutoff)


def _measure(section: Section, common: Measure | None) -> Measure:
    """A metric and its cutoff; what is left out is the headline's, where there is one to take it from."""
    given = {} if common is None else {"default": common.metric}
    metric = section.text("metric", **given)
    kind = section.choice("cutoff_kind", _KINDS, **({} if common is None else {"default": common.cutoff_kind}))
    cutoff = section.count("cutoff", least=0, **({} if common is None else {"default": common.cutoff}))
    return Measure(
        metric,
        kind,
        cutoff,
        section.text("label_set", default="official" if common is None else common.label_set),
        section.text("judge", default="" if common is None else common.judge),
    )


def _comparison(section: Section, headline: Measure) -> Comparison:
    made = Comparison(
        name=section.text("name"),
        a=section.text("a"),
        b=section.text("b"),
        measure=_measure(section, headline),
        corpus=section.text("corpus", default=""),
        categories=section.texts("categories", default=()),
        against=section.text("against", default=""),
        defect=section.text("defect", default=""),
        published=section.number("published", default=None),
        source=section.text("source", default=""),
    )
    section.close()
    return made


def _repeats(section: Section) -> Repeats:
    of = section.choice("of", ("extraction",))
    made = Repeats(of, section.texts("cells"))  # type: ignore[arg-type]
    section.close()
    return made


def _published(section: Section) -> PublishedNumber:
    made = PublishedNumber(
        cell=section.text("cell"),
        measure=_measure(section, None),
        value=section.number("value"),
        source=section.text("source"),
        n=section.count("n"),
        corpus=section.text("corpus", default=""),
        note=section.text("note", default=""),
    )
    section.close()
    return made


def _gate(section: Section) -> Gate:
    made = Gate(
        cell=section.text("cell"),
        measure=_measure(section, None),
        value=section.number("value"),
        tolerance=section.number("tolerance"),
        corpus=section.text("corpus", default=""),
        category=section.text("category", default=""),
    )
    section.close()
    if made.tolerance < 0:
        raise UsageError(f"{section.where}: tolerance={made.tolerance}: a number, 0 or more, is allowed")
    return made


def _check(where: str, study: Study) -> None:
    names = [cell.name for cell in study.cells]
    corpora = [corpus.name for corpus in study.corpora]
    if not names:
        raise UsageError(f"{where}: it has no cells", hint="add [[cells]] with name, representations and plan")
    for what, given in (("cell", names), ("corpus", corpora), ("comparison", [c.name for c in study.comparisons])):
        if repeated := _repeated(given):
            raise UsageError(f"{where}: {what}={repeated!r} comes twice", hint=f"give every {what} its own name")
    for cell in study.cells:
        if not cell.representations or _repeated(cell.representations):
            raise UsageError(
                f"{where}: cell={cell.name!r} has representations={list(cell.representations)}: one or more, "
                "each once, are allowed",
                hint="memlake tables show representations",
            )
        _known(where, f"cell={cell.name!r} corpora", cell.corpora, corpora)
        _known(where, f"cell={cell.name!r} reader", [cell.reader] if cell.reader else [], study.readers)
        if cell.reader and not study.answered(cell).pairs():
            raise UsageError(
                f"{where}: cell={cell.name!r} has a reader and no cutoff at which it is asked",
                hint="add [answers] with tokens = [...] or k = [...]",
            )
        if not study.cutoffs_of(cell).pairs():
            raise UsageError(f"{where}: it has no cutoffs", hint="add [cutoffs] with tokens = [...] or k = [...]")
    _check_references(where, study, names, corpora)
    check_measures(where, study)


def _check_references(where: str, study: Study, cells: Sequence[str], corpora: Sequence[str]) -> None:
    for judge in study.judges:
        _known(where, f"judge={judge.name!r} corpora", judge.corpora, corpora)
    judges, families = ["", *(judge.name for judge in study.judges)], [one.name for one in study.comparisons]
    _known(where, "headline judge", [study.headline.judge], judges)
    for corpus in corpora:
        if not study.cells_of(corpus):
            raise UsageError(
                f"{where}: corpus={corpus!r} has no cell", hint="leave it out, or name it in a cell's corpora"
            )
    for comparison in study.comparisons:
        if comparison.a == comparison.b:
            raise UsageError(f"{where}: comparison={comparison.name!r} is of a cell with itself: two cells are allowed")
        here = f"comparison={comparison.name!r}"
        _known(where, f"{here} cell", (comparison.a, comparison.b), cells)
        _known(where, f"{here} corpus", [comparison.corpus] if comparison.corpus else [], corpora)
        _known(where, f"{here} against", [comparison.against] if comparison.against else [], families)
        _known(where, f"{here} judge", [comparison.measure.judge], judges)
    stated: list[PublishedNumber | Gate] = [*study.published, *study.gates]
    for one in stated:
        here = "published" if isinstance(one, PublishedNumber) else "gate"
        _known(where, f"{here} cell", [one.cell], cells)
        _known(where, f"{here} corpus", [one.corpus] if one.corpus else [], corpora)
        if not one.corpus and len(corpora) > 1:
            raise UsageError(f"{where}: {here} of cell={one.cell!r} names no corpus, and there are several")
    for repeats in study.repeats:
        _known(where, "repeats cells", repeats.cells, cells)


def _known(where: str, what: str, given: Collection[str], there: Collection[str]) -> None:
    if missing := [name for name in given if name not in there]:
        raise UsageError(
            f"{where}: {what}={missing[0]!r} does not exist: there are {', '.join(filter(None, there)) or 'none'}",
            hint="mend the file; flows/studies has examples",
        )


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for place, name in enumerate(names) if name in names[:place]), None)
