"""The figures of a report: means against evidence tokens, and by category. Every mean and interval is a row of `statistics`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memlake.schemas.metrics import METRICS
from memlake.transforms.report.data.cells import CellCard, measure_of
from memlake.transforms.report.data.document import Row
from memlake.transforms.report.data.numbers import Numbers, at_of, number
from memlake.transforms.study.study import Measure, Study

Tokens = Mapping[tuple[str, str, str, int], float]


def curves(study: Study, cards: Sequence[CellCard], numbers: Numbers, tokens: Tokens) -> list[Row]:
    """For each corpus, metric, label set and judge a line a cell, its points by the tokens that its contexts really hold.

    The study's headline metric leads, then those whose cards say so.

    Args:
        tokens: the mean of `contexts.tokens` by (corpus, cell, cutoff kind, cutoff).
    """
    control = {(card.corpus, card.cell): card.control for card in cards}
    order = {cell.name: place for place, cell in enumerate(study.cells)}
    drawn = {card.name: card.figure for card in METRICS.values() if card.figure is not None} | {
        study.headline.metric: 0
    }
    found: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in numbers.of("mean"):
        place = (row["corpus"], row["cell_a"], row["cutoff_kind"], row["cutoff"])
        if row["metric"] in drawn and row["cutoff_kind"] == "tokens" and place in tokens:
            curve = (row["corpus"], row["metric"], row["label_set"], row["judge"])
            point = {"cutoff_kind": row["cutoff_kind"], "cutoff": row["cutoff"], "tokens": tokens[place], **number(row)}
            found.setdefault(curve, {}).setdefault(row["cell_a"], []).append(point)
    made: list[Row] = [
        {
            "corpus": corpus,
            "metric": metric,
            "label_set": label_set,
            "judge": judge,
            "lines": [
                {
                    "cell": cell,
                    "control": control.get((corpus, cell), ""),
                    "points": sorted(points, key=lambda point: point["tokens"]),
                }
                for cell, points in sorted(lines.items(), key=lambda line: order[line[0]])
            ],
        }
        for (corpus, metric, label_set, judge), lines in found.items()
    ]
    corpora = {corpus.name: place for place, corpus in enumerate(study.corpora)}
    lead, judges = study.headline, {judge.name: place for place, judge in enumerate(study.judges)}
    return sorted(
        made,
        key=lambda curve: (
            drawn[curve["metric"]],
            corpora[curve["corpus"]],
            (curve["label_set"] != lead.label_set, curve["judge"] != lead.judge),
            curve["label_set"],
            judges.get(curve["judge"], -1),
        ),
    )


def means_at(cards: Sequence[CellCard], numbers: Numbers, at: Measure) -> list[Row]:
    """Every cell's mean at a measure, at the cutoff that is shown of it; without a value where the run has none."""
    made = []
    for card in cards:
        own = measure_of(card, at)
        row = number(numbers.find("mean", card.corpus, own, card.cell))
        place = {"cutoff_kind": own.cutoff_kind, "cutoff": own.cutoff, "judge": own.judge}
        made.append({"corpus": card.corpus, "cell": card.cell, "control": card.control, **place, **row})
    return made


def categories(cards: Sequence[CellCard], numbers: Numbers, at: Measure) -> list[Row]:
    """For each corpus with more than one category each cell's mean by category, at one measure."""
    made: list[Row] = []
    names: dict[str, set[str]] = {}
    for row in numbers.of("mean", every_slice=True):
        if row["slice"].startswith("category=") and row["label_set"] == at.label_set and row["metric"] == at.metric:
            names.setdefault(row["corpus"], set()).add(row["slice"].partition("=")[2])
    for corpus in dict.fromkeys(card.corpus for card in cards):
        found = sorted(names.get(corpus, ()), key=_natural)
        here = [card for card in cards if card.corpus == corpus]
        cells = []
        for card in here:
            own = measure_of(card, at)
            rows = [(name, numbers.find("mean", corpus, own, card.cell, which=f"category={name}")) for name in found]
            cells.append(
                {
                    "cell": card.cell,
                    "control": card.control,
                    "cutoff_kind": own.cutoff_kind,
                    "cutoff": own.cutoff,
                    "categories": [{"category": name, **number(row)} for name, row in rows if row is not None],
                }
            )
        cells = [cell for cell in cells if cell["categories"]]
        if len(found) > 1 and cells:
            made.append({"corpus": corpus, "at": at_of(replace(at, judge=here[0].judge)), "cells": cells})
    return made


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (10**9, name)
