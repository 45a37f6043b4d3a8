"""The study's comparisons and published numbers: ours beside theirs, and whether the two agree."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from transforms.answer.spec import JudgeSpec, ReaderSpec
from transforms.report.cells import CellCard
from transforms.report.document import Agrees, Compared, Number, Row
from transforms.report.figures import OF_READERS
from transforms.report.numbers import Numbers, at_of, number
from transforms.score.statistics.comparisons import corpora_of_comparison
from transforms.study.study import Comparison, Measure, Study

# A model as a source names it.
_NAME = re.compile(r"[\w.:/-]*\w")


def comparisons(study: Study, numbers: Numbers, settings: Mapping[str, Any]) -> list[Compared]:
    """Every comparison of the study on each corpus that it is on, in the study's order."""
    return [
        _compared(study, one, corpus, numbers, settings)
        for one in study.comparisons
        for corpus in corpora_of_comparison(study, one)
    ]


def _compared(study: Study, one: Comparison, corpus: str, numbers: Numbers, settings: Mapping[str, Any]) -> Compared:
    named = {"cell_b": one.b, "comparison": one.name}
    row = numbers.find("difference", corpus, one.measure, one.a, **named)
    mcnemar = numbers.find("mcnemar", corpus, one.measure, one.a, **named) or {}
    shift = None
    if one.against:
        shift = numbers.find("shift", corpus, one.measure, one.name, cell_b=one.against, comparison=one.name)
    found = number(row)
    agrees: Agrees = ""
    why = ""
    if one.published is not None:
        agrees, why = agreement(study, (one.a, one.b), one.measure, one.published, found, one.source, settings=settings)
    held: Mapping[str, Any] = row or {}
    return Compared(
        name=one.name,
        corpus=corpus,
        a=one.a,
        b=one.b,
        at=at_of(one.measure),
        defect=one.defect,
        difference=found,
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


def published_beside(
    study: Study, cards: Sequence[CellCard], numbers: Numbers, settings: Mapping[str, Any]
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
        agrees, why = agreement(study, (one.cell,), one.measure, one.value, ours, said, settings=settings, n=one.n)
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
    settings: Mapping[str, Any],
    n: int | None = None,
) -> tuple[Agrees, str]:
    """Whether a published number lies within our interval, and what stands against comparing the two.

    Args:
        said: source and note of the published number. A number that a reader had a part in is comparable only where it
            names the models that our reader and judge asked.
        settings: of the run; another embedder or reranker than the study's is another system.
        n: of how many questions the published number is, those that were not scored among them.
    """
    why = [f"other {name}: {settings[name]}" for name in ("embedder", "reranker") if settings.get(name)]
    why += _other_readers(study, cells, at, said)
    if n is not None and ours["n"] + ours["excluded"] not in (0, n):
        why.append(f"other n: {n:,} there, {ours['n'] + ours['excluded']:,} here")
    low, high = ours["low"], ours["high"]
    if low is None or high is None:
        why.append("our number has no interval" if ours["value"] is not None else "we have no such number")
    if why or low is None or high is None:
        return "not comparable", "; ".join(why)
    return ("within" if low <= published <= high else "outside"), ""


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
