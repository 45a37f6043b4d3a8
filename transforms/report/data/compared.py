"""The study's comparisons and published numbers: ours beside theirs, and whether the two agree."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memlake.transforms.answer.spec import JudgeSpec, ReaderSpec
from memlake.transforms.report.data.cells import CellCard
from memlake.transforms.report.data.document import Agrees, Compared, Number, Row
from memlake.transforms.report.data.figures import OF_READERS
from memlake.transforms.report.data.numbers import Numbers, at_of, number
from memlake.transforms.score.statistics.comparisons import corpora_of_comparison
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
        _compared(study, declared, one, corpus, numbers, settings)
        for one in study.comparisons
        for corpus in corpora_of_comparison(study, one)
    ]


def _compared(
    study: Study,
    declared: Study | None,
    one: Comparison,
    corpus: str,
    numbers: Numbers,
    settings: Mapping[str, Any],
) -> Compared:
    named = {"cell_b": one.b, "comparison": one.name}
    row = numbers.find("difference", corpus, one.measure, one.a, **named)
    mcnemar = numbers.find("mcnemar", corpus, one.measure, one.a, **named) or {}
    shift = None
    if one.against:
        shift = numbers.find("shift", corpus, one.measure, one.name, cell_b=one.against, comparison=one.name)
    found = number(row)
    means = {cell: number(numbers.find("mean", corpus, one.measure, cell)) for cell in (one.a, one.b)}
    agrees: Agrees = ""
    why = ""
    if one.published is not None:
        agrees, why = agreement(
            study,
            (one.a, one.b),
            one.measure,
            one.published,
            found,
            one.source,
            corpus=corpus,
            stated_for=() if declared is None else corpora_of_comparison(declared, one),
            counts=_counts(declared, one, corpus, means),
            settings=settings,
        )
    held: Mapping[str, Any] = row or {}
    return Compared(
        name=one.name,
        corpus=corpus,
        a=one.a,
        b=one.b,
        at=at_of(one.measure),
        categories=list(one.categories),
        defect=one.defect,
        difference=found,
        mean_a=means[one.a],
        mean_b=means[one.b],
        excluded_b=held.get("excluded_b", 0),
        detectable=held.get("detectable"),
        p=held.get("p"),
        p_holm=held.get("p_holm"),
        only_a=held.get("only_a"),
        only_b=held.get("only_b"),
        mcnemar_p=mcnemar.get("p"),
        mcnemar_p_holm=mcnemar.get("p_holm"),
        against=one.against,
        shift=number(shift) if one.against else None,
        shift_p=shift["p"] if shift else None,
        published=one.published,
        source=one.source,
        agrees=agrees,
        why=why,
    )


def _counts(
    declared: Study | None, one: Comparison, corpus: str, means: Mapping[str, Number]
) -> list[tuple[int | None, int]]:
    """For each cell of how many questions it was published, None where the study does not say, and ours is."""
    stated = () if declared is None or one.categories else declared.published
    return [
        (
            next(
                (
                    each.n
                    for each in stated
                    if (each.cell, each.measure, each.corpus or corpus) == (cell, one.measure, corpus)
                ),
                None,
            ),
            ours["n"] + ours["excluded"],
        )
        for cell, ours in means.items()
    ]


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
    for one in study.published:
        corpus = one.corpus or study.corpora[0].name
        if (corpus, one.cell) not in here:
            continue
        ours = number(numbers.find("mean", corpus, one.measure, one.cell))
        said = f"{one.source} {one.note}"
        agrees, why = agreement(
            study,
            (one.cell,),
            one.measure,
            one.value,
            ours,
            said,
            corpus=corpus,
            stated_for=() if declared is None else (one.corpus or declared.corpora[0].name,),
            counts=[(one.n, ours["n"] + ours["excluded"])],
            settings=settings,
        )
        made.append(
            {
                "corpus": corpus,
                "cell": one.cell,
                "at": at_of(one.measure),
                "published": one.value,
                "published_n": one.n,
                "ours": ours,
                "agrees": agrees,
                "why": why,
                "source": one.source,
                "note": one.note,
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
    if at.metric not in OF_READERS:
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
