"""The figures of a report: means against evidence tokens, and by category. Every mean and interval is a row of `statistics`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memlake.transforms.report.data.cells import CellCard, measure_of
from memlake.transforms.report.data.document import Row
from memlake.transforms.report.data.numbers import Numbers, at_of, number
from memlake.transforms.study.study import Measure, Study

# What is drawn against evidence tokens, most telling first; the study's headline metric leads whatever it is.
DRAWN = (
    "judge_accuracy",
    "judge_accuracy_published",
    "multiple_choice_accuracy",
    "answer_survival_all",
    "answer_survival_share",
    "evidence_recall_fraction",
    "token_f1",
)
# Metrics that only a reader's answer has: another reader is another number.
OF_READERS = frozenset(
    {
        "judge_accuracy",
        "judge_accuracy_published",
        "multiple_choice_accuracy",
        "token_f1",
        "token_f1_plain",
        "exact_match",
        "bleu",
        "rouge_l",
        "abstained",
        "abstention_right",
    }
)

Tokens = Mapping[tuple[str, str, str, int], float]


def curves(study: Study, cards: Sequence[CellCard], numbers: Numbers, tokens: Tokens) -> list[Row]:
    """For each corpus, metric, label set and judge a line a cell, its points by the tokens that its contexts really hold.

    Args:
        tokens: the mean of `contexts.tokens` by (corpus, cell, cutoff kind, cutoff).
    """
    control = {(card.corpus, card.cell): card.control for card in cards}
    order = {cell.name: place for place, cell in enumerate(study.cells)}
    ranked = {name: place for place, name in enumerate(dict.fromkeys((study.headline.metric, *DRAWN)))}
    found: dict[tuple[object, ...], dict[str, list[Row]]] = {}
    for row in numbers.of("mean"):
        place = (row["corpus"], row["cell_a"], row["cutoff_kind"], row["cutoff"])
        if (
            row["slice"] != "all"
            or row["metric"] not in ranked
            or row["cutoff_kind"] != "tokens"
            or place not in tokens
        ):
            continue
        figure = (row["corpus"], row["metric"], row["label_set"], row["judge"])
        point = {"cutoff_kind": row["cutoff_kind"], "cutoff": row["cutoff"], "tokens": tokens[place], **number(row)}
        found.setdefault(figure, {}).setdefault(row["cell_a"], []).append(point)
    corpora = {corpus.name: place for place, corpus in enumerate(study.corpora)}
    made: list[Row] = [
        {
            "corpus": corpus,
            "metric": metric,
            "label_set": label_set,
            "judge": judge,
            "lines": [
                {
                    "cell": cell,
                    "control": control.get((str(corpus), cell), ""),
                    "points": sorted(points, key=lambda point: point["tokens"]),
                }
                for cell, points in sorted(lines.items(), key=lambda line: order[line[0]])
            ],
        }
        for (corpus, metric, label_set, judge), lines in found.items()
    ]
    lead, judges = study.headline, {judge.name: place for place, judge in enumerate(study.judges)}
    return sorted(
        made,
        key=lambda one: (
            ranked[one["metric"]],
            corpora[one["corpus"]],
            (one["label_set"] != lead.label_set, one["judge"] != lead.judge),
            one["label_set"],
            judges.get(one["judge"], -1),
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
    names: dict[str, dict[str, None]] = {}
    for row in numbers.of("mean"):
        if row["slice"].startswith("category=") and row["label_set"] == at.label_set and row["metric"] == at.metric:
            names.setdefault(row["corpus"], {})[row["slice"].partition("=")[2]] = None
    for corpus in dict.fromkeys(card.corpus for card in cards):
        found = names.get(corpus, {})
        cells = [
            {
                "cell": card.cell,
                "control": card.control,
                "cutoff_kind": measure_of(card, at).cutoff_kind,
                "cutoff": measure_of(card, at).cutoff,
                "categories": [
                    {"category": name, **number(held)}
                    for name in sorted(found, key=_natural)
                    if (held := numbers.find("mean", corpus, measure_of(card, at), card.cell, which=f"category={name}"))
                    is not None
                ],
            }
            for card in cards
            if card.corpus == corpus
        ]
        cells = [cell for cell in cells if cell["categories"]]
        if len(found) > 1 and cells:
            judge = next(card.judge for card in cards if card.corpus == corpus)
            made.append({"corpus": corpus, "at": at_of(replace(at, judge=judge)), "cells": cells})
    return made


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (10**9, name)
