"""The study's comparisons and published numbers, ours beside theirs, and comparisons along a dial that corpora turn."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from memlake.schemas.metrics import METRICS
from memlake.transforms.answer.spec import JudgeSpec, ReaderSpec
from memlake.transforms.report.data.cells import CellCard, Numbers, at_of, number
from memlake.transforms.report.data.document import Agrees, Compared, Dial, Number, Row
from memlake.transforms.study.study import Comparison, Measure, Study

# A model as a source names it.
_NAME = re.compile(r"[\w.:/-]*\w")


def comparisons(study: Study, declared: Study | None, numbers: Numbers, settings: Mapping[str, Any]) -> list[Compared]:
    """Every comparison of the study on each corpus that it is on, in the study's order.

    Args:
        study: as the run's settings changed it.
        declared: as its text has it; None where nobody knows.
    """
    return [
        _compared(study, declared, comparison, corpus, numbers, settings)
        for comparison in study.comparisons
        for corpus in study.corpora_of(comparison)
    ]


def _compared(
    study: Study,
    declared: Study | None,
    comparison: Comparison,
    corpus: str,
    numbers: Numbers,
    settings: Mapping[str, Any],
) -> Compared:
    name, a, b, at, against = comparison.name, comparison.a, comparison.b, comparison.measure, comparison.against
    row: Mapping[str, Any] = numbers.find("difference", corpus, at, a, cell_b=b, comparison=name) or {}
    mcnemar = numbers.find("mcnemar", corpus, at, a, cell_b=b, comparison=name) or {}
    shift = numbers.find("shift", corpus, at, name, cell_b=against, comparison=name) if against else None
    found = number(row or None)
    means = {cell: number(numbers.find("mean", corpus, at, cell)) for cell in (a, b)}
    agrees: Agrees = ""
    why = ""
    if comparison.published is not None:
        agrees, why = agreement(
            study,
            (a, b),
            at,
            comparison.published,
            found,
            comparison.source,
            corpus=corpus,
            stated_for=() if declared is None else declared.corpora_of(comparison),
            counts=_counts(declared, comparison, corpus, means),
            settings=settings,
        )
    return Compared(
        name=name,
        corpus=corpus,
        a=a,
        b=b,
        at=at_of(at),
        categories=list(comparison.categories),
        defect=comparison.defect,
        difference=found,
        mean_a=means[a],
        mean_b=means[b],
        excluded_b=row.get("excluded_b", 0),
        detectable=row.get("detectable"),
        p=row.get("p"),
        p_holm=row.get("p_holm"),
        only_a=row.get("only_a"),
        only_b=row.get("only_b"),
        mcnemar_p=mcnemar.get("p"),
        mcnemar_p_holm=mcnemar.get("p_holm"),
        against=against,
        shift=number(shift) if against else None,
        shift_p=shift["p"] if shift else None,
        published=comparison.published,
        source=comparison.source,
        agrees=agrees,
        why=why,
    )


def _counts(
    declared: Study | None, comparison: Comparison, corpus: str, means: Mapping[str, Number]
) -> list[tuple[int | None, int]]:
    """For each cell of how many questions it was published, None where the study does not say, and ours is."""
    stated = () if declared is None or comparison.categories else declared.published
    published = {
        each.cell: each.n
        for each in reversed(stated)
        if each.measure == comparison.measure and each.corpus in ("", corpus)
    }
    return [(published.get(cell), ours["n"] + ours["excluded"]) for cell, ours in means.items()]


def published_beside(
    study: Study,
    declared: Study | None,
    cards: Sequence[CellCard],
    numbers: Numbers,
    settings: Mapping[str, Any],
) -> list[Row]:
    """Each published number of a cell beside ours of the same measure."""
    here = {(card.corpus, card.cell) for card in cards}
    made = []
    for stated in study.published:
        corpus = stated.corpus or study.corpora[0].name
        if (corpus, stated.cell) not in here:
            continue
        ours = number(numbers.find("mean", corpus, stated.measure, stated.cell))
        agrees, why = agreement(
            study,
            (stated.cell,),
            stated.measure,
            stated.value,
            ours,
            f"{stated.source} {stated.note}",
            corpus=corpus,
            stated_for=() if declared is None else (stated.corpus or declared.corpora[0].name,),
            counts=[(stated.n, ours["n"] + ours["excluded"])],
            settings=settings,
        )
        made.append(
            {
                "corpus": corpus,
                "cell": stated.cell,
                "at": at_of(stated.measure),
                "published": stated.value,
                "published_n": stated.n,
                "ours": ours,
                "agrees": agrees,
                "why": why,
                "source": stated.source,
                "note": stated.note,
            }
        )
    return made


def agreement(
    study: Study,
    cells: Sequence[str],
    at: Measure,
    published: float,
    ours: Number,
    said: str,
    *,
    corpus: str,
    stated_for: Sequence[str],
    counts: Sequence[tuple[int | None, int]],
    settings: Mapping[str, Any],
) -> tuple[Agrees, str]:
    """Whether a published number lies within our interval, and what stands against comparing the two.

    Args:
        said: source and note of the published number. A number that a reader had a part in is comparable only where it
            names the models that our reader and judge asked.
        corpus: of ours.
        stated_for: the corpora for which the study's own text states the published number.
        counts: for each cell of how many questions it was published, those that were not scored among them (None where the
            study does not say), and ours is.
        settings: of the run; another embedder or reranker than the study's is another system.
    """
    why = (
        []
        if corpus in stated_for
        else [f"other corpus: {', '.join(stated_for) or 'not on record'} there, {corpus} here"]
    )
    why += [f"other {name}: {settings[name]}" for name in ("embedder", "reranker") if settings.get(name)]
    why += _other_readers(study, cells, at, said)
    why += _other_n(counts)
    low, high = ours["low"], ours["high"]
    if low is None or high is None:
        why.append("our number has no interval" if ours["value"] is not None else "we have no such number")
    if why or low is None or high is None:
        return "not comparable", "; ".join(why)
    return ("within" if low <= published <= high else "outside"), ""


def _other_n(counts: Sequence[tuple[int | None, int]]) -> list[str]:
    """Cells of another number of questions; of one that we have no number of the interval says enough."""
    return list(
        dict.fromkeys(
            f"published n not stated, {here:,} here" if there is None else f"other n: {there:,} there, {here:,} here"
            for there, here in counts
            if here not in (0, there)
        )
    )


def _other_readers(study: Study, cells: Sequence[str], at: Measure, said: str) -> list[str]:
    """Readers and the judge that had a part in ours, and that the published number does not name."""
    if not METRICS[at.metric].is_of_readers:
        return []
    named = set(_NAME.findall(said.casefold()))
    parts: list[tuple[str, ReaderSpec | JudgeSpec]] = [
        ("reader", study.readers[name]) for name in sorted({study.cell(cell).reader for cell in cells} - {""})
    ]
    parts += [("judge", judge) for judge in study.judges if judge.name == at.judge]
    return [
        f"other {part}: {spec.model if spec.asks_model else f'{spec.name}, which asks no model'}"
        for part, spec in parts
        if not spec.asks_model or spec.model.casefold() not in named
    ]


def dials(study: Study, compared: Sequence[Compared]) -> list[Dial]:
    """Each comparison that was made on two or more corpora with a dial, its points by the dial."""
    turned = {corpus.name: corpus.dial for corpus in study.corpora if corpus.dial is not None}
    made = []
    for comparison in study.comparisons:
        rows = [row for row in compared if row["name"] == comparison.name and row["corpus"] in turned]
        points: list[Row] = [
            {"corpus": row["corpus"], "dial": turned[row["corpus"]], **row["difference"]} for row in rows
        ]
        points.sort(key=lambda point: (point["dial"], point["corpus"]))
        if len(points) > 1:
            known = [(point["dial"], point["value"]) for point in points if point["value"] is not None]
            made.append(
                Dial(
                    comparison=comparison.name,
                    a=comparison.a,
                    b=comparison.b,
                    at=rows[0]["at"],
                    points=points,
                    crossings=crossings(known),
                )
            )
    return made


def crossings(points: Sequence[tuple[float, float]]) -> list[float]:
    """Where a line through points (x, y), ascending by x, changes sign; linear between neighbours.

    A stretch of zeros between two signs crosses in its middle; one that the sign does not change over crosses nowhere.
    """
    found = []
    signed = [(x, y) for x, y in points if y != 0]
    for (x0, y0), (x1, y1) in pairwise(signed):
        if (y0 < 0) == (y1 < 0):
            continue
        zeros = [x for x, y in points if y == 0 and x0 < x < x1]
        found.append((zeros[0] + zeros[-1]) / 2 if zeros else x0 + (x1 - x0) * y0 / (y0 - y1))
    return found
