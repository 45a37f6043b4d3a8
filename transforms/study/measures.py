"""Whether a study's measures are of what its cells will have: told before anything runs, not after models are paid."""

from difflib import get_close_matches

from memlake.schemas.metrics import METRICS
from memlake.transforms.base.errors import UsageError
from memlake.transforms.study.study import Measure, Study


def check_measures(where: str, study: Study) -> None:
    """Refuse a metric that there is not, a judge where none judges, and a cutoff at which a cell has no such number.

    Raises:
        UsageError: says what the cell has.
    """
    _check_metric(f"{where} headline", study.headline)
    stated = [
        *((f"comparison={one.name!r}", one.measure, (one.a, one.b)) for one in study.comparisons),
        # A published number may be of a cutoff that is not measured here: it is then not shown beside ours.
        *((f"published of cell={one.cell!r}", one.measure, ()) for one in study.published),
        *((f"gate of cell={one.cell!r}", one.measure, (one.cell,)) for one in study.gates),
    ]
    for what, measure, cells in stated:
        _check_metric(f"{where} {what}", measure)
        for cell in cells:
            _check_cutoff(f"{where} {what}", study, measure, cell)


def _check_metric(where: str, measure: Measure) -> None:
    if measure.metric not in METRICS:
        near = ", ".join(get_close_matches(measure.metric, METRICS, cutoff=0.4)) or ", ".join(METRICS)
        raise UsageError(f"{where}: metric={measure.metric!r} does not exist; nearest: {near}", hint="mend the file")
    is_judged = METRICS[measure.metric].of == "verdict"
    if is_judged != bool(measure.judge):
        needs = "needs a judge" if is_judged else "has no judge"
        raise UsageError(
            f"{where}: judge={measure.judge!r}: metric={measure.metric!r} {needs}", hint="judge = NAME of [judges.NAME]"
        )


def _check_cutoff(where: str, study: Study, measure: Measure, name: str) -> None:
    cell = study.cell(name)
    card = METRICS[measure.metric]
    if card.is_of_readers:
        there = study.answered(cell).pairs()
    else:
        there = study.cutoffs_of(cell).pairs() if card.of == "context" else [("none", 0)]  # type: ignore[list-item]
    if (measure.cutoff_kind, measure.cutoff) not in there:
        has = ", ".join(f"{cutoff} {kind}" for kind, cutoff in there) or "no reader"
        raise UsageError(
            f"{where}: {measure.metric} at {measure.cutoff} {measure.cutoff_kind}: cell={name!r} has it at {has}",
            hint="name one of these, or add the cutoff to the study or to the cell",
        )
