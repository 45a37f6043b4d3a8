"""A study: which cells are compared on which questions, read from TOML and checked before anything runs."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas import CELLS
from schemas.table import settings_json
from transforms.errors import NotFoundError, UsageError
from transforms.ids import check_name, content_id
from transforms.retrieve.cell import Cell
from transforms.retrieve.plan import PLANS, Plan, find_plan, parse_plan
from transforms.retrieve.search import Cutoffs
from transforms.retrieve.tables import Section
from transforms.retrieve.tokenisers import find_tokeniser
from transforms.score.content_tokens import Language


@dataclass(frozen=True, slots=True)
class StudyCell:
    """A cell of a study: the representations whose units are searched together, and the plan that searches them."""

    name: str
    representations: tuple[str, ...]
    plan: Plan


@dataclass(frozen=True, slots=True)
class Published:
    """A number from elsewhere that may stand beside ours; `source` says whose, `note` what differs.

    Attributes:
        n: of how many questions, those that its author could not score among them.
        label_set: whose labels it was scored against.
    """

    cell: str
    metric: str
    cutoff_kind: str
    cutoff: int
    value: float
    source: str
    n: int
    label_set: str = "official"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """What a study asks.

    Attributes:
        label_sets: whose labels are scored against; empty for every set that the corpus has.
        categories: which questions are asked; empty for all.
        embedder: of units and questions, for plans that need vectors.
        language: 'english' stems content tokens, 'other' does not.
        depth: how many ranks are kept at least.
    """

    name: str
    corpus: str
    cells: tuple[StudyCell, ...]
    cutoffs: Cutoffs
    embedder: str = "static"
    tokeniser: str = "chars4"
    language: Language = "english"
    depth: int = 100
    label_sets: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    published: tuple[Published, ...] = field(default=())

    def runnable(self, cell: StudyCell, run_id: str) -> Cell:
        """One of its cells, as `run_cell` takes it."""
        return Cell(run_id, cell.name, cell.plan, self.tokeniser, self.cutoffs, self.depth)

    @property
    def needs_vectors(self) -> bool:
        """Whether the plan of any cell needs questions and units embedded."""
        return any(cell.plan.needs_vectors for cell in self.cells)

    def embedder_of(self, cell: StudyCell) -> str:
        """The embedder that the cell's plan needs, '' for none."""
        return self.embedder if cell.plan.needs_vectors else ""


def read_study(path: Path) -> Study:
    """Read a study from a file.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is no TOML, or not a study.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"study={str(path)!r} cannot be read: {error.strerror}", hint="memlake study ls") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"study={str(path)!r} is not UTF-8 text: {error}", hint="save it as UTF-8") from error
    return parse_study(text, source=str(path))


def parse_study(text: str, *, source: str) -> Study:
    """Read a study from TOML text; `source` names it in errors.

    Raises:
        UsageError: it is no TOML, a key is unknown or missing, a value is not allowed.
        NotFoundError: a plan, a step or the tokeniser does not exist.
    """
    try:
        top = Section(f"study={source!r}", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"study={source!r} is not TOML: {error}", hint="mend the file") from error
    plans = {name: _plan(top, name, table) for name, table in top.table("plans", default={}).items()}
    cutoffs = top.section("cutoffs")
    study = Study(
        name=check_name("study", top.text("name")),
        corpus=check_name("corpus", top.text("corpus")),
        cells=tuple(_cell(cell, plans) for cell in top.sections("cells")),
        cutoffs=Cutoffs(tokens=cutoffs.counts("tokens", default=()), k=cutoffs.counts("k", default=())),
        embedder=top.text("embedder", default="static"),
        tokeniser=top.text("tokeniser", default="chars4"),
        language=top.choice("language", ("english", "other"), default="english"),  # type: ignore[arg-type]
        depth=top.count("depth", default=100),
        label_sets=top.texts("label_sets", default=()),
        categories=top.texts("categories", default=()),
        published=tuple(map(_published, top.sections("published", default=()))),
    )
    cutoffs.close()
    top.close()
    find_tokeniser(study.tokeniser)
    _check_cells(top.where, study)
    return study


def cell_rows(study: Study, *, run_id: str, read_snapshot_id: str) -> pa.Table:
    """Rows of the cells schema: each cell of the study with every setting that decides what it retrieves."""
    rows: list[dict[str, object]] = []
    for cell in study.cells:
        settings = {
            "corpus": study.corpus,
            "representations": list(cell.representations),
            "embedder": study.embedder_of(cell),
            "plan": cell.plan.tables(),
            "tokeniser": study.tokeniser,
            "language": study.language,
            "depth": study.depth,
        }
        rows.append(
            {
                "run_id": run_id,
                "cell": cell.name,
                "study": study.name,
                "corpus": study.corpus,
                "representations": list(cell.representations),
                "embedder": study.embedder_of(cell),
                "plan": settings_json(cell.plan.tables()),
                "reader": "",
                "tokeniser": study.tokeniser,
                "settings": settings_json(settings),
                "settings_hash": content_id(settings_json(settings)),
                "read_snapshot_id": read_snapshot_id,
            }
        )
    return CELLS.rows(rows)


def _plan(top: Section, name: str, table: Any) -> Plan:
    section = Section(f"{top.where} plans.{name}", table)
    plan = parse_plan(check_name("plan", name), section.tables("steps"))
    section.close()
    return plan


def _cell(section: Section, plans: Mapping[str, Plan]) -> StudyCell:
    name, plan = check_name("cell", section.text("name")), section.text("plan")
    if plan not in plans and plan not in PLANS:
        raise NotFoundError(
            f"{section.where}: plan={plan!r} does not exist: declared are {', '.join(plans) or 'none'}, "
            f"built in are {', '.join(PLANS)}",
            hint=f"add [plans.{plan}] steps = [...] to the study",
        )
    representations = section.texts("representations")
    section.close()
    for representation in representations:
        check_name("representation", representation)
    return StudyCell(name, representations, plans.get(plan) or find_plan(plan))


def _published(section: Section) -> Published:
    published = Published(
        cell=section.text("cell"),
        metric=section.text("metric"),
        cutoff_kind=section.choice("cutoff_kind", ("tokens", "k", "none")),
        cutoff=section.count("cutoff", least=0),
        value=section.number("value"),
        source=section.text("source"),
        n=section.count("n"),
        label_set=section.text("label_set", default="official"),
        note=section.text("note", default=""),
    )
    section.close()
    return published


def _check_cells(where: str, study: Study) -> None:
    names = [cell.name for cell in study.cells]
    if not names:
        raise UsageError(f"{where}: it has no cells", hint="add [[cells]] with name, representations and plan")
    if repeated := _repeated(names):
        raise UsageError(f"{where}: cell={repeated!r} comes twice", hint="give every cell its own name")
    for cell in study.cells:
        if not cell.representations or _repeated(cell.representations):
            raise UsageError(
                f"{where}: cell={cell.name!r} has representations={list(cell.representations)}: one or more, "
                "each once, are allowed",
                hint="memlake tables show representations",
            )
    if not study.cutoffs.pairs():
        raise UsageError(f"{where}: it has no cutoffs", hint="add [cutoffs] with tokens = [...] or k = [...]")


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for place, name in enumerate(names) if name in names[:place]), None)
