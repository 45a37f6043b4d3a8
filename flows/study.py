"""Study: the cells of a study on a corpus, scored, as one new snapshot."""

from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from flows.adapter import publish_artifact, step
from flows.models import ModelSettings, open_models, served_models
from flows.runs import Run, run_of
from schemas import TABLES
from transforms.embed.catalogue import opened
from transforms.errors import NotFoundError
from transforms.lake.connect import connect
from transforms.lake.lake import Lake, open_lake
from transforms.lake.publish import forgotten_of, publish_files
from transforms.lake.snapshot import Snapshot
from transforms.lake.stage import StagedFile, Stager
from transforms.llm.edge import EdgeSettings
from transforms.retrieve.corpus import questions_of, search_corpus
from transforms.retrieve.questions import each_once
from transforms.retrieve.store import UNIT_TOKENS
from transforms.retrieve.study import Study, cell_rows, read_study
from transforms.score.evaluate import evaluate


@dataclass(frozen=True)
class StudySettings:
    """What `memlake study run` is told; `study` is a name of flows/studies or a path, `corpus` '' the study's own."""

    lake: str
    study: str
    corpus: str = ""
    at: str = "latest"
    lock_timeout_s: float = 60.0
    quiet: bool = True
    models: ModelSettings = field(default_factory=ModelSettings)


def run_study(settings: StudySettings) -> dict[str, object]:
    """Search, score and publish; the document of `memlake study run --json`.

    Raises:
        NotFoundError: no such lake, snapshot, study, corpus or representation.
        UsageError: the study is not well formed.
        EmbedderMismatchError: the vectors that it needs were made by another model or revision.
        LakeConflictError: a conversation was forgotten while it was read; nothing was published.
    """
    study = find_study(settings.study, corpus=settings.corpus)
    lake = open_lake(settings.lake)
    with run_of(lake, "study", asdict(settings)) as run:
        snapshot = lake.snapshot(settings.at)
        labels, forgotten = _asked(lake, snapshot, study)
        questions = each_once(labels)
        asked = served_models(study.embedder) if study.needs_vectors else []
        with open_models(settings.models, lake, run.run_id, needed=bool(asked), models=tuple(asked)) as models:
            search = step(_search_and_score, name="search-and-score")
            files, excluded, cut = search(lake, snapshot, study, run, labels, models.edge)
        if forgotten:
            excluded = {"forgotten": forgotten, **excluded}
        published = publish_files(
            lake,
            files,
            corpus=study.corpus,
            conversations=pc.unique(questions["conversation_id"]),
            run_id=run.run_id,
            operation="study",
            lock_timeout_s=settings.lock_timeout_s,
        )
        run.snapshot_id, run.outcome = published.snapshot_id, "published"
        made: dict[str, object] = {
            "run_id": run.run_id,
            "study": study.name,
            "corpus": study.corpus,
            "snapshot_id": published.snapshot_id,
            "base_snapshot_id": published.base_snapshot_id,
            "read_snapshot_id": snapshot.snapshot_id,
            "cells": len(study.cells),
            "questions": questions.num_rows,
            "excluded": excluded,
            **({"cut_for_reranker": cut} if cut else {}),
            "seconds": run.seconds,
        }
        run.counters = {name: made[name] for name in ("cells", "questions", "excluded")}
        publish_artifact("study-summary", rows=[{key: str(value) for key, value in made.items()}])
    return made


def find_study(name: str, *, corpus: str = "") -> Study:
    """A study by path, or by its name among those that come with memlake; on another corpus than its own if one is named.

    Raises:
        NotFoundError: there is none; says which there are.
    """
    study = read_study(_study_path(name))
    return replace(study, corpus=corpus) if corpus else study


def _study_path(name: str) -> Path:
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    path = Path(str(resources.files("flows").joinpath("studies", f"{name}.toml")))
    if not path.is_file():
        raise NotFoundError(
            f"study={name!r} is unknown; there are: {', '.join(study_names())}", hint="memlake study ls, or a path"
        )
    return path


def study_names() -> list[str]:
    """The studies that come with memlake."""
    folder = resources.files("flows").joinpath("studies")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def _asked(lake: Lake, snapshot: Snapshot, study: Study) -> tuple[pa.Table, int]:
    """The questions' rows less those of conversations forgotten by now, whatever snapshot is read; how many these were.

    Raises:
        NotFoundError: the snapshot has no such question, or all of them are of forgotten conversations.
    """
    labels = questions_of(snapshot, study)
    gone = pc.is_in(labels["conversation_id"], value_set=forgotten_of(lake.latest(), study.corpus))
    forgotten = len(pc.unique(labels["question_id"].filter(gone)))
    if pc.all(gone).as_py():
        raise NotFoundError(
            f"corpus={study.corpus!r}: the conversations of all {forgotten} questions in "
            f"snapshot={snapshot.snapshot_id} were forgotten since",
            hint="memlake snapshots ls",
        )
    return labels.filter(pc.invert(gone)), forgotten


def _search_and_score(
    lake: Lake, snapshot: Snapshot, study: Study, run: Run, labels: pa.Table, edge: EdgeSettings | None
) -> tuple[list[StagedFile], dict[str, int], dict[str, int]]:
    """Stage what each cell brings as it comes, so that memory does not grow with the corpus; score.

    Returns:
        The files; the questions that were not scored, by reason; by cell the pairs that were too long for its reranker.
    """
    stager = Stager(lake.root)
    stager.write(TABLES["cells"], cell_rows(study, run_id=run.run_id, read_snapshot_id=snapshot.snapshot_id))
    tokens = [UNIT_TOKENS.empty_table()]
    cut: Counter[str] = Counter()
    with opened(study.embedder, edge) if study.needs_vectors else nullcontext() as embedder:
        for searched in search_corpus(snapshot, study, run.run_id, each_once(labels), embedder):
            tokens.append(searched.unit_tokens)
            stager.write(TABLES["retrievals"], searched.found.retrievals)
            stager.write(TABLES["contexts"], searched.found.contexts)
            cut[searched.cell] += searched.found.rerank_cut
    files, _ = stager.close()
    with connect(lake, snapshot.snapshot_id) as connection:
        for name in ("cells", "retrievals", "contexts"):
            paths = [str(lake.table_path(name) / file.path) for file in files if file.table == name]
            connection.read_parquet(paths).create_view(name, replace=True)
        # What is scored is what was asked, under the labels and in the language of the study.
        connection.register("questions", labels)
        scores = evaluate(connection, run.run_id, unit_tokens=pa.concat_tables(tokens))
        connection.register("scores", scores)
        excluded = dict(connection.execute(_EXCLUDED).fetchall())
    stager = Stager(lake.root)
    stager.write(TABLES["scores"], scores)
    return [*files, *stager.close()[0]], excluded, {cell: pairs for cell, pairs in cut.items() if pairs}


# Questions, not rows: a question without gold is left out of every cutoff of every cell for one reason.
_EXCLUDED = """
select reason, count(distinct (corpus, question_id)) from scores where reason is not null group by reason order by reason
"""
