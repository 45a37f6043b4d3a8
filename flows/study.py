"""Study: the cells of a study on a corpus, scored, as one new snapshot."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path

import pyarrow as pa

from flows.adapter import publish_artifact, step
from flows.runs import Run, run_of
from schemas import TABLES
from transforms.embed.catalogue import load
from transforms.errors import NotFoundError
from transforms.lake.connect import connect
from transforms.lake.lake import Lake, open_lake
from transforms.lake.publish import Published, publish_files
from transforms.lake.snapshot import Snapshot
from transforms.lake.stage import Stager
from transforms.retrieve.corpus import questions_of, search_corpus
from transforms.retrieve.store import UNIT_TOKENS
from transforms.retrieve.study import Study, cell_rows, read_study
from transforms.score.evaluate import evaluate, summary


@dataclass(frozen=True)
class StudySettings:
    """What `memlake study run` is told; `study` is a name of flows/studies or a path, `corpus` '' the study's own."""

    lake: str
    study: str
    corpus: str = ""
    at: str = "latest"
    lock_timeout_s: float = 60.0
    quiet: bool = True


def run_study(settings: StudySettings) -> dict[str, object]:
    """Search, score and publish; the document of `memlake study run --json`.

    Raises:
        NotFoundError: no such lake, snapshot, study, corpus or representation.
        UsageError: the study is not well formed.
    """
    study = find_study(settings.study)
    study = replace(study, corpus=settings.corpus or study.corpus)
    lake = open_lake(settings.lake)
    with run_of(lake, "study", asdict(settings)) as run:
        snapshot = lake.snapshot(settings.at)
        counted, excluded = step(_search_and_score, name="search-and-score")(lake, snapshot, study, run)
        published = counted.published
        run.snapshot_id, run.outcome = published.snapshot_id, "published"
        made: dict[str, object] = {
            "run_id": run.run_id,
            "study": study.name,
            "corpus": study.corpus,
            "snapshot_id": published.snapshot_id,
            "base_snapshot_id": published.base_snapshot_id,
            "read_snapshot_id": snapshot.snapshot_id,
            "cells": len(study.cells),
            "questions": counted.questions,
            "excluded": excluded,
            "seconds": run.seconds,
        }
        run.counters = {name: made[name] for name in ("cells", "questions", "excluded")}
        publish_artifact("study-summary", rows=[{key: str(value) for key, value in made.items()}])
    return made


def find_study(name: str) -> Study:
    """A study by path, or by its name among those that come with memlake.

    Raises:
        NotFoundError: there is none; says which there are.
    """
    if name.endswith(".toml") or "/" in name:
        return read_study(Path(name))
    path = Path(str(resources.files("flows").joinpath("studies", f"{name}.toml")))
    if not path.is_file():
        raise NotFoundError(
            f"study={name!r} is unknown; there are: {', '.join(study_names())}", hint="memlake study ls, or a path"
        )
    return read_study(path)


def study_names() -> list[str]:
    """The studies that come with memlake."""
    folder = resources.files("flows").joinpath("studies")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


@dataclass(frozen=True, slots=True)
class Counted:
    """What was published, and of how many questions."""

    published: Published
    questions: int


def _search_and_score(lake: Lake, snapshot: Snapshot, study: Study, run: Run) -> tuple[Counted, Mapping[str, int]]:
    """Stage what each conversation brings as it comes, so that memory does not grow with the corpus; then score."""
    questions = questions_of(snapshot, study)
    needed = any(cell.plan.needs_vectors for cell in study.cells)
    embedder = load(study.embedder) if needed else None
    stager = Stager(lake.root)
    stager.write(TABLES["cells"], cell_rows(study, run_id=run.run_id, read_snapshot_id=snapshot.snapshot_id))
    tokens = [UNIT_TOKENS.empty_table()]
    for searched in search_corpus(snapshot, study, run.run_id, questions, embedder):
        tokens.append(searched.unit_tokens)
        for found in searched.found:
            stager.write(TABLES["retrievals"], found.retrievals)
            stager.write(TABLES["contexts"], found.contexts)
    files, _ = stager.close()
    with connect(lake, snapshot.snapshot_id) as connection:
        for name in ("cells", "retrievals", "contexts"):
            paths = [str(lake.table_path(name) / file.path) for file in files if file.table == name]
            connection.read_parquet(paths).create_view(name, replace=True)
        scores = evaluate(connection, run.run_id, unit_tokens=pa.concat_tables(tokens), label_sets=study.label_sets)
        connection.register("scores", scores)
        excluded = _excluded(connection.execute(_EXCLUDED).fetchall())
    stager = Stager(lake.root)
    stager.write(TABLES["scores"], scores)
    published = publish_files(lake, [*files, *stager.close()[0]], run_id=run.run_id, operation="study")
    return Counted(published, questions.num_rows), excluded


# Questions, not rows: a question without gold is left out of every cutoff of every cell for one reason.
_EXCLUDED = """
select reason, count(distinct (corpus, question_id)) from scores where reason is not null group by reason order by reason
"""


def _excluded(rows: list[tuple[str, int]]) -> dict[str, int]:
    return dict(rows)


def show_study(lake: str, run_id: str | None, at: str = "latest") -> pa.Table:
    """Means of a run's scores with n and what was excluded; the latest study's when no run is named."""
    with connect(open_lake(lake), at) as connection:
        return summary(connection, run_id)
