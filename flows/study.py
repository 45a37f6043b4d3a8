"""Study: the cells of a study on its corpora, answered, judged and scored, as one new snapshot."""

from dataclasses import asdict

import pyarrow.compute as pc

from memlake.flows.run.adapter import publish_artifact, step
from memlake.flows.run.config import lake_flag
from memlake.flows.run.record import Run, check_failed_calls, run_of
from memlake.flows.run.settings import StudyChoice, StudySettings
from memlake.transforms.answer.forms import judge_prompts
from memlake.transforms.base.ids import content_id
from memlake.transforms.embed.catalogue import served_models
from memlake.transforms.evaluate.price import study_price
from memlake.transforms.evaluate.stages import Brought, answer_study, asked_of, score_study, search_study
from memlake.transforms.lake.commit.publish import publish_files
from memlake.transforms.lake.storage.lake import Lake, open_lake
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.llm.driver import open_models
from memlake.transforms.llm.prompting import prompt
from memlake.transforms.llm.records.calls import paid
from memlake.transforms.study.parse import parse_study, study_path, study_text
from memlake.transforms.study.study import Study


def run_study(settings: StudySettings) -> dict[str, object]:
    """Search, answer, judge, score and publish; the document of `memlake study run --json`.

    Raises:
        NotFoundError: no such lake, snapshot, study, corpus or representation.
        UsageError: the study is not well formed, or asks a model and none is named.
        EmbedderMismatchError: the vectors that it needs were made by another model or revision.
        ModelStoppedError: the models stopped the run; nothing was published, and what was paid is kept.
        LakeConflictError: a conversation was forgotten while it was read; nothing was published.
        TooManyDeadLettersError: published, and more answers or verdicts failed than is allowed.
    """
    text = study_text(settings.study)
    study = settings.applied(parse_study(text, source=str(study_path(settings.study))))
    lake = open_lake(settings.lake)
    # What is run, whatever becomes of its file, and of the run: a report is of this.
    with run_of(lake, "study", asdict(settings), counters={"study": text}) as run:
        snapshot = lake.snapshot(settings.at)
        brought = _bring(lake, snapshot, study, run, settings)
        with run.timed("score"):
            scored = step(score_study, name="score")(lake, snapshot, study, run.run_id, brought)
        published = publish_files(
            lake,
            [*brought.files, *scored.files],
            conversations={asked.corpus.name: pc.unique(asked.labels["conversation_id"]) for asked in brought.asked},
            run_id=run.run_id,
            operation="study",
            lock_timeout_s=settings.lock_timeout_s,
        )
        run.snapshot_id, run.outcome = published.snapshot_id, "published"
        forgotten = sum(asked.forgotten for asked in brought.asked)
        made: dict[str, object] = {
            "run_id": run.run_id,
            "study": study.name,
            "corpora": [corpus.name for corpus in study.corpora],
            "snapshot_id": published.snapshot_id,
            "base_snapshot_id": published.base_snapshot_id,
            "read_snapshot_id": snapshot.snapshot_id,
            "cells": len(study.cells),
            "questions": sum(asked.questions.num_rows for asked in brought.asked),
            "excluded": {**({"forgotten": forgotten} if forgotten else {}), **scored.excluded},
            **({"empty_contexts": list(scored.empty)} if scored.empty else {}),
            **({"cut_for_reranker": dict(brought.cut)} if brought.cut else {}),
            **({"answers": brought.answers, "judgements": brought.judgements} if brought.answers else {}),
            **({"models": dict(run.paid)} if run.paid else {}),
            "seconds": run.seconds,
        }
        kept = ("cells", "questions", "excluded", "answers", "judgements", "models")
        run.counters = {name: made[name] for name in kept if name in made} | {
            "timings": run.timings,
            "cell_seconds": {f"{corpus}/{cell}": round(s, 3) for (corpus, cell), s in brought.seconds.items()},
            "signatures": dict(scored.signatures),
            "judges": {
                judge.name: asdict(judge) | {"prompts": [content_id(prompt(name)) for name in judge_prompts(judge)]}
                for judge in study.judges
            },
            "study": text,
        }
        publish_artifact("study-summary", rows=[{key: str(value) for key, value in made.items()}])
    check_failed_calls(made, brought.failures, allowed=settings.allow_dead_records)
    return made


def _bring(lake: Lake, snapshot: Snapshot, study: Study, run: Run, settings: StudySettings) -> Brought:
    """What every cell brought back, and what readers and judges made of it."""
    asked = asked_of(lake, snapshot, study)
    embedders = served_models(study.embedder) if study.needs_vectors else []
    names = (*embedders, *study.asks_models)
    with open_models(settings.models, lake, run.run_id, needed=bool(names), models=names) as models:
        with run.timed("search"):
            brought = step(search_study, name="search")(
                lake, snapshot, study, run.run_id, asked, models.edge, settings.models.provider_name if names else ""
            )
        with run.timed("answer"):
            brought = step(answer_study, name="answer")(lake, study, brought, models.edge)
    if names:
        run.paid = paid(lake, run.run_id)
    return brought


def price_study(settings: StudyChoice) -> dict[str, object]:
    """What `memlake study run` would lack and ask; the document of `memlake study plan --json`.

    Raises:
        NotFoundError: no such lake, snapshot, study or corpus, or the corpus has no such questions.
        UsageError: a representation that is to be made, a reader or a judge asks a model, and none is named.
    """
    study = settings.chosen()
    lake = open_lake(settings.lake)
    priced = study_price(lake, lake.snapshot(settings.at), study, settings.models)
    for row in priced["representations"]:
        if "next" in row:
            row["next"] += lake_flag(settings.lake)
    return dict(priced)
