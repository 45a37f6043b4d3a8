"""Gate: whether the numbers that a study states still hold, for use in continuous integration."""

from collections.abc import Sequence
from dataclasses import replace

from memlake.transforms.answer.spec import JudgeSpec
from memlake.transforms.base.errors import GateError, UsageError
from memlake.transforms.evaluate.means import CellKey, Mean, cell_settings, mean_of, same_cells
from memlake.transforms.evaluate.runs import find_run, runs_of, study_of_run
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.storage.lake import open_lake
from memlake.transforms.score.scores import summary
from memlake.transforms.study.parse import find_study
from memlake.transforms.study.study import Gate, Study, StudyCorpus


def gate_study(uri: str, at: str, name: str, *, run_id: str | None = None) -> dict[str, object]:
    """Hold a run of a study, the latest by default, against the study's gates; the document of `study gate --json`.

    Raises:
        NotFoundError: no such lake, snapshot, study or run.
        UsageError: the study states no gate, or the run is of another study.
        GateError: a number is out of its tolerance, was not measured, or is of a cell with other settings.
    """
    study = find_study(name)
    if not study.gates:
        raise UsageError(
            f"study={study.name!r} states no gate",
            hint="add [[gates]] with cell, metric, cutoff_kind, cutoff, value and tolerance to it",
        )
    run = find_run(runs_of(uri, at), run_id, study=study.name if run_id is None else None)
    if run.study != study.name:
        raise UsageError(
            f"run={run_id!r} is of study={run.study!r}, and the gates are of study={study.name!r}",
            hint=f"memlake study gate {run.study} --run {run_id}",
        )
    lake = open_lake(uri)
    with connect(lake, at) as connection:
        rows = summary(connection, run.run_id).to_pylist()
        same = same_cells(study, cell_settings(connection, run.run_id))
    ran = study_of_run(lake, run.run_id).study
    gates = [_checked(study, ran, gate, rows, same) for gate in study.gates]
    failed = [gate for gate in gates if not gate["passed"]]
    made: dict[str, object] = {
        "run_id": run.run_id,
        "study": study.name,
        "read_snapshot_id": run.read_snapshot_id,
        "passed": not failed,
        "gates": gates,
    }
    if failed:
        first = failed[0]
        raise GateError(
            f"{len(failed)} of {len(gates)} gates failed; first: cell={first['cell']!r} {first['metric']} at "
            f"{first['cutoff']}: {first['why']}",
            hint=f"memlake study show {run.run_id}",
            document=made,
        )
    return made


def _judge(study: Study, name: str, *, like: Study) -> JudgeSpec | None:
    """A judge of a study; its model is the run's where the study names none."""
    found, ran = (next((judge for judge in of.judges if judge.name == name), None) for of in (study, like))
    return replace(found, model=ran.model) if found and ran and not found.model else found


def _asked(study: Study, name: str) -> StudyCorpus | None:
    found = next((corpus for corpus in study.corpora if corpus.name == name), None)
    return replace(found, dial=None) if found else None


def _checked(study: Study, ran: Study, gate: Gate, rows: Sequence[Mean], same: set[CellKey]) -> dict[str, object]:
    """A gate with what was measured, whether it passed, and why not."""
    corpus, at = gate.corpus or study.corpora[0].name, gate.measure
    found = mean_of(rows, corpus, gate.cell, at, gate.category or None)
    measured = None if found is None else found["mean"]
    why = ""
    if (corpus, gate.cell) not in same:
        why = "the run's cell is not there, or has other settings than the study declares"
    elif _judge(study, at.judge, like=ran) != _judge(ran, at.judge, like=ran):
        why = f"the run's judge {at.judge!r} is another than the study declares"
    elif _asked(study, corpus) != _asked(ran, corpus):
        why = "the run asked other questions than the study does: another label set, category or language"
    elif measured is None:
        why = "it was not measured"
    elif not gate.value - gate.tolerance <= measured <= gate.value + gate.tolerance:
        why = f"{measured:.4f} is not within {gate.tolerance:g} of {gate.value:g}"
    return {
        "corpus": corpus,
        "cell": gate.cell,
        "metric": at.metric,
        "cutoff": f"{at.cutoff} {at.cutoff_kind}",
        "label_set": at.label_set,
        "judge": at.judge,
        "category": gate.category,
        "stated": gate.value,
        "tolerance": gate.tolerance,
        "measured": measured,
        "n": None if found is None else found["n"],
        "passed": not why,
        "why": why,
    }
