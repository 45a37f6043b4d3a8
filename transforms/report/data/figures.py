"""The figures of a report: means against tokens and by category, where answers are lost, and what cells cost."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import duckdb

from memlake.schemas.metrics import METRICS
from memlake.transforms.report.data.cells import CellCard, Numbers, at_of, measure_of, number
from memlake.transforms.report.data.document import Costs, Number, Row
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
        made.append({**card.row("corpus", "cell", "control"), **place, **row})
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
                    **card.row("cell", "control"),
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


_VERDICTS = """
select
    corpus, cell, cutoff_kind, cutoff, judge, label_set,
    count(correct) as judged,
    count(*) filter (where correct) as correct,
    count(*) - count(correct) as excluded
from judgements
where run_id = $run_id
group by corpus, cell, cutoff_kind, cutoff, judge, label_set
order by corpus, cutoff_kind, cutoff, label_set, judge, cell
"""
_LOSSES = """
select corpus, cell, cutoff_kind, cutoff, judge, label_set, loss, wrong, disputed from loss_counts
where run_id = $run_id and category is null
order by all
"""
_SPLIT = "select * from survival_split where run_id = $run_id and label_set = $label_set"
_NO_SCORES: Row = {"asked": 0, "n": 0, "beside": 0}
_PLACE = ("corpus", "cell", "cutoff_kind", "cutoff", "judge", "label_set")


def loss_bars(
    connection: duckdb.DuckDBPyConnection, run_id: str, cards: Sequence[CellCard], judges: Sequence[str]
) -> list[Row]:
    """A bar for each cell, cutoff, judge and label set: counts of verdicts, the correct ones among them; repeats count.

    `unclassified` is a wrong verdict that `losses` has no row of.

    Args:
        cards, judges: in which order the bars come.
    """
    wrong: dict[tuple[object, ...], list[Row]] = {}
    for row in connection.sql(_LOSSES, params={"run_id": run_id}).to_arrow_table().to_pylist():
        wrong.setdefault(tuple(row[name] for name in _PLACE), []).append(row)
    bars = []
    for row in connection.sql(_VERDICTS, params={"run_id": run_id}).to_arrow_table().to_pylist():
        lost = wrong.get(tuple(row[name] for name in _PLACE), [])
        counts = {"correct": row["correct"], **{loss["loss"]: loss["wrong"] for loss in lost}}
        if rest := row["judged"] - sum(counts.values()):
            counts["unclassified"] = rest
        bars.append({**row, "counts": counts, "disputed": sum(loss["disputed"] for loss in lost)})
    order = {(card.corpus, card.cell): place for place, card in enumerate(cards)}
    places = {judge: place for place, judge in enumerate(judges)}
    return sorted(bars, key=lambda bar: (places.get(bar["judge"], len(places)), order[bar["corpus"], bar["cell"]]))


def survival_split(
    connection: duckdb.DuckDBPyConnection, run_id: str, cards: Sequence[CellCard], *, label_set: str
) -> list[Row]:
    """Without a reader: which share of answers is shown whole, stored and not shown, and not stored, by cell.

    Counted by question. A cell of which the three are no parts of one whole has no shares, and `why` says so: one whose
    plan shows other text than it searched, and one of which a context held what its units do not.
    """
    rows = connection.sql(_SPLIT, params={"run_id": run_id, "label_set": label_set}).to_arrow_table().to_pylist()
    found = {tuple(row[name] for name in ("corpus", "cell", "cutoff_kind", "cutoff")): row for row in rows}
    return [
        _split(card, found.get((card.corpus, card.cell, card.cutoff_kind, card.cutoff), _NO_SCORES), label_set)
        for card in cards
    ]


def _split(card: CellCard, row: Row, label_set: str) -> Row:
    n = row["n"]
    why = ""
    if card.changes:
        why = f"its plan shows other text than it searched ({', '.join(card.changes)})"
    elif not n:
        why = "no question has both scores here"
    elif row["beside"]:
        why = f"{row['beside']:,} contexts hold an answer that its units do not"
    return {
        **card.row("corpus", "cell", "control"),
        "at": at_of(Measure("answer_survival_all", card.cutoff_kind, card.cutoff, label_set)),
        "n": n,
        "excluded": row["asked"] - n,
        **{name: None if why else row[name] / n for name in ("shown", "stored_not_shown", "not_stored")},
        "why": why,
    }


_COST = re.compile(r"(usd|tokens|seconds)_")
_DOLLARS = "usd_read_per_question"
_READING = ("tokens_read_per_question", _DOLLARS)
_OF_THE_CELL = ("usd_write", "seconds_local")
_OF_CORRECT = ("usd_per_1000_correct", "usd_per_1000_correct_with_write")
_KEY = ("corpus", "statistic", "metric", "cutoff_kind", "cutoff", "label_set", "judge")


def costs(cards: Sequence[CellCard], numbers: Numbers, tokens: Tokens, at: Measure) -> Costs:
    """Every cost, what each cell costs beside its mean, and a point a cell.

    A point stands at US dollars of reading where two of its corpus have them, and is left out where it has none; else it
    stands at evidence tokens.
    """
    rows = [
        {"cell": row["cell_a"], **{name: row[name] for name in _KEY}, "method": row["method"], **number(row)}
        for row in numbers.rows
        if _COST.match(row["statistic"])
    ]
    cells = [_beside(card, numbers, tokens, at) for card in cards]
    points: list[Row] = []
    for corpus in dict.fromkeys(card.corpus for card in cards):
        here = [cell for cell in cells if cell["corpus"] == corpus and cell["mean"] is not None]
        dollars = [cell["costs"][_DOLLARS]["value"] for cell in here]
        by_dollars = sum(usd is not None for usd in dollars) > 1
        for cell, usd in zip(here, dollars, strict=True):
            cost = usd if by_dollars else cell["evidence_tokens"]
            if cost is None:
                continue
            place = {name: cell[name] for name in ("corpus", "cell", "control", "cutoff_kind", "cutoff", "judge")}
            x = {"x": _DOLLARS if by_dollars else "evidence_tokens", "cost": cost}
            points.append({**place, **x, **cell["mean"]})
    return Costs(rows=rows, cells=[cell | {"mean": cell["mean"] or number(None)} for cell in cells], points=points)


def _beside(card: CellCard, numbers: Numbers, tokens: Tokens, at: Measure) -> Row:
    """A cell's mean and its costs, each at the same cutoff, under the same labels, by the same judge, where it has one."""
    own = measure_of(card, at)
    mean = numbers.find("mean", card.corpus, own, card.cell)
    reading = Measure("", own.cutoff_kind, own.cutoff, label_set="", judge="")
    whole = replace(reading, cutoff_kind="none", cutoff=0)

    def of(names: Sequence[str], measure: Measure) -> dict[str, Number]:
        return {name: number(numbers.find(name, card.corpus, measure, card.cell)) for name in names}

    return {
        **card.row("corpus", "cell", "control"),
        "cutoff_kind": own.cutoff_kind,
        "cutoff": own.cutoff,
        "judge": own.judge,
        "mean": None if mean is None else number(mean),
        "evidence_tokens": tokens.get((card.corpus, card.cell, own.cutoff_kind, own.cutoff)),
        "costs": {**of(_READING, reading), **of(_OF_THE_CELL, whole), **of(_OF_CORRECT, own)},
    }
