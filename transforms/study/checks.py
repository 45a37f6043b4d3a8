"""What no section of a study's file can say by itself: that names are its own, and that cells will have the measures."""

from collections.abc import Iterator, Mapping
from typing import Any

from memlake.schemas.metrics import METRICS
from memlake.transforms.study.faults import Fault
from memlake.transforms.study.lines import Path
from memlake.transforms.study.study import JUDGE_HINT, Measure, Study, judge_fault


def declared_names(tables: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names that each section of a file declares, whatever else is wrong with it."""
    names = {section: [name for name, _ in _named(tables, section)] for section in ("cells", "corpora", "comparisons")}
    if isinstance(tables.get("corpus"), str):
        names["corpora"].append(tables["corpus"])
    for section in ("plans", "readers", "judges"):
        names[section] = list(tables[section]) if isinstance(tables.get(section), dict) else []
    return names


def name_faults(tables: Mapping[str, Any]) -> Iterator[Fault]:
    """Names that come twice, corpora that are declared in both ways or in none, and a file without cells."""
    if bool(tables.get("corpus")) == bool(tables.get("corpora")):
        what = "both corpus and corpora" if tables.get("corpus") else "no corpus"
        hint = "corpus = NAME, or one [[corpora]] with a name for each"
        yield Fault(("corpus",), f"it has {what}: one of the two is allowed", hint)
    if tables.get("cells") == []:
        yield Fault(("cells",), "it has no cells", "add [[cells]] with name, representations and plan")
    for section, what in (("cells", "cell"), ("corpora", "corpus"), ("comparisons", "comparison")):
        seen = set[str]()
        for name, place in _named(tables, section):
            if name in seen:
                yield Fault((section, place, "name"), f"{what}={name!r} comes twice", f"give every {what} its own name")
            seen.add(name)


def _named(tables: Mapping[str, Any], section: str) -> Iterator[tuple[str, int]]:
    listed = tables.get(section)
    for place, table in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(table, dict) and isinstance(table.get("name"), str):
            yield table["name"], place


def study_faults(study: Study) -> Iterator[Fault]:
    """Cells that end nowhere, corpora without a cell, and measures that a cell will not have."""
    for place, cell in enumerate(study.cells):
        if cell.reader and not study.answered(cell).pairs():
            hint = "add [answers] with tokens = [...] or k = [...]"
            said = f"cell={cell.name!r} has a reader and no cutoff at which it is asked"
            yield Fault(("cells", place, "reader"), said, hint)
        elif not study.cutoffs_of(cell).pairs():
            hint = "add [cutoffs] with tokens = [...] or k = [...]"
            yield Fault(("cells", place), f"it has no cutoffs, and cell={cell.name!r} none of its own", hint)
    for place, corpus in enumerate(study.corpora):
        if not study.cells_of(corpus.name):
            hint = "leave it out, or name it in a cell's corpora"
            yield Fault(("corpora", place), f"corpus={corpus.name!r} has no cell", hint)
    for place, comparison in enumerate(study.comparisons):
        at, what = ("comparisons", place), f"comparison={comparison.name!r}"
        if said := judge_fault(comparison.measure):
            yield Fault(at, f"{what}: {said}", JUDGE_HINT)
        for name in (comparison.a, comparison.b):
            yield from _at_no_cutoff(study, at, what, comparison.measure, name)
    # A published number may be of a cutoff that is not measured here: it is then not shown beside ours.
    for place, gate in enumerate(study.gates):
        yield from _at_no_cutoff(study, ("gates", place), f"gate of cell={gate.cell!r}", gate.measure, gate.cell)


def _at_no_cutoff(study: Study, path: Path, what: str, measure: Measure, name: str) -> Iterator[Fault]:
    cell, card = study.cell(name), METRICS[measure.metric]
    there: list[tuple[str, int]] = [("none", 0)]
    if card.is_of_readers:
        there = [*study.answered(cell).pairs()]
    elif card.of == "context":
        there = [*study.cutoffs_of(cell).pairs()]
    if (measure.cutoff_kind, measure.cutoff) not in there:
        has = ", ".join(f"{cutoff} {kind}" for kind, cutoff in there) or "no reader"
        at = f"{measure.metric} at {measure.cutoff} {measure.cutoff_kind}"
        hint = "name one of these, or add the cutoff to the study or to the cell"
        yield Fault(path, f"{what}: {at}: cell={name!r} has it at {has}", hint)
