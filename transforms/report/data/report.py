"""The report of a run, put together from the tables of two snapshots: the one that holds it, and the one that it read."""

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import duckdb

from memlake.transforms.answer.spec import JudgeSpec, ReaderSpec
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.report.data.browser import browser
from memlake.transforms.report.data.cells import CellCard, Numbers, at_of, card_of
from memlake.transforms.report.data.compared import comparisons, dials, published_beside
from memlake.transforms.report.data.document import Compared, Document, Headline, Row, RunCard
from memlake.transforms.report.data.figures import categories, costs, curves, loss_bars, means_at, survival_split
from memlake.transforms.score.statistics.series import FEW_CLUSTERS
from memlake.transforms.study.study import Study

# Of a run's settings those that change what a study compares; the rest says where it ran.
_SETTINGS = ("study", "corpus", "embedder", "reranker", "at")
_SPREAD = ("sd_extraction", "sd_reader", "sd_judge", "var_question", "var_extraction", "var_reader", "var_judge")

_CELLS = "select * from cells where run_id = $run_id"
_STATISTICS = "select * from statistics where run_id = $run_id"
_RUN = "select * from runs where run_id = $run_id order by event limit 1"
_TOKENS = """
select corpus, cell, cutoff_kind, cutoff, avg(tokens) from contexts where run_id = $run_id
group by corpus, cell, cutoff_kind, cutoff
"""
_ASKED = "select count(distinct (corpus, question_id)) from scores where run_id = $run_id"


def report_document(
    connection: duckdb.DuckDBPyConnection,
    source: duckdb.DuckDBPyConnection,
    run_id: str,
    study: Study,
    *,
    declared: Study | None,
    forgotten: Mapping[str, frozenset[str]],
    questions: int | None = None,
) -> Document:
    """The report of a run.

    Args:
        connection: the snapshot that holds the run's rows, with the views of sql/.
        source: the snapshot that the run read, whose texts were searched.
        declared: the study before the run's settings changed it; None where nobody knows.
        forgotten: by corpus, conversations whose text must not be shown.
        questions: how many the browser keeps; None keeps all.

    Raises:
        NotFoundError: the snapshot holds no cells of the run.
    """
    rows = connection.sql(_CELLS, params={"run_id": run_id}).to_arrow_table().to_pylist()
    if not rows:
        raise NotFoundError(f"run={run_id!r}: this snapshot holds no cells of it", hint="memlake study ls")
    numbers = Numbers(connection.sql(_STATISTICS, params={"run_id": run_id}).to_arrow_table().to_pylist())
    cards = _ordered(study, [card_of(study, row) for row in rows])
    ended = connection.sql(_RUN, params={"run_id": run_id}).to_arrow_table().to_pylist()
    journal: Row = ended[0] if ended else {}
    settings = json.loads(journal["settings"]) if journal else {}
    tokens = {tuple(row[:4]): row[4] for row in connection.execute(_TOKENS, {"run_id": run_id}).fetchall()}
    compared = comparisons(study, declared, numbers, settings)
    run = _run_card(connection, run_id, study, rows, cards, journal)
    return Document(
        run=run,
        headline=Headline(
            at=at_of(study.headline),
            compared=_first_by_corpus(compared),
            means=means_at(cards, numbers, study.headline),
        ),
        curves=curves(study, cards, numbers, tokens),
        categories=categories(cards, numbers, study.headline),
        losses=loss_bars(connection, run_id, cards, _judges(study)),
        survival_split=survival_split(connection, run_id, cards, label_set=study.headline.label_set),
        costs=costs(cards, numbers, tokens, study.headline),
        controls=compared,
        published=published_beside(study, declared, cards, numbers, settings),
        dials=dials(study, compared),
        agreement=_plain(numbers, "kappa", "flip_rate"),
        variance=_plain(numbers, *_SPREAD),
        notes=[*_left_since(run), *_notes(study, numbers)],
        browser=browser(connection, source, run_id, study, cards, forgotten=forgotten, questions=questions),
    )


def _left_since(run: RunCard) -> list[str]:
    """What of the report still counts questions that were forgotten since; nothing where none were."""
    if run["forgotten"] <= 0:
        return []
    asked, here = run["questions"], run["questions"] - run["forgotten"]
    said = (
        f"{run['forgotten']:,} of {asked:,} questions were forgotten after the run. Means, intervals, tests and costs were made "
        f"before and count all {asked:,}; verdicts by loss, the split of answers and the browser count the {here:,} that are left"
    )
    return [said]


def _first_by_corpus(compared: Sequence[Compared]) -> list[Compared]:
    """Of the comparisons on each corpus the one that the study lists first."""
    first: dict[str, Compared] = {}
    for found in compared:
        first.setdefault(found["corpus"], found)
    return list(first.values())


def _judges(study: Study) -> list[str]:
    """The judges in the study's order, the headline's first."""
    return sorted((judge.name for judge in study.judges), key=lambda name: name != study.headline.judge)


def _ordered(study: Study, cards: Sequence[CellCard]) -> list[CellCard]:
    cells = {cell.name: place for place, cell in enumerate(study.cells)}
    corpora = {corpus.name: place for place, corpus in enumerate(study.corpora)}
    return sorted(cards, key=lambda card: (corpora[card.corpus], cells[card.cell]))


def _run_card(
    connection: duckdb.DuckDBPyConnection,
    run_id: str,
    study: Study,
    rows: Sequence[Row],
    cards: Sequence[CellCard],
    journal: Mapping[str, Any],
) -> RunCard:
    settings = json.loads(journal["settings"]) if journal else {}
    counters = json.loads(journal["counters"] or "{}") if journal else {}
    scored = connection.execute(_ASKED, {"run_id": run_id}).fetchall()[0][0]
    asked = counters.get("questions", scored)
    used = {card.reader for card in cards} - {""}
    return RunCard(
        run_id=run_id,
        study=study.name,
        corpora=list(dict.fromkeys(card.corpus for card in cards)),
        read_snapshot_id=rows[0]["read_snapshot_id"],
        snapshot_id=journal.get("snapshot_id"),
        ended_at=journal["logged_at"].isoformat(timespec="seconds") if journal else None,
        code_version=journal.get("code_version"),
        settings=_settings(settings),
        embedder=study.embedder if study.needs_vectors else "",
        tokeniser=study.tokeniser,
        readers=[{"reader": name, **_asked(reader)} for name, reader in study.readers.items() if name in used],
        judges=[{"judge": judge.name, **_asked(judge)} for judge in study.judges],
        cells=[
            {
                **card.row("corpus", "cell", "representations"),
                "plan": study.cell(card.cell).plan.name,
                **card.row("reader", "control", "cutoff_kind", "cutoff"),
            }
            for card in cards
        ],
        questions=asked,
        excluded=counters.get("excluded", {}),
        forgotten=asked - scored,
        models=counters.get("models"),
        seconds=journal.get("seconds"),
    )


def _asked(spec: ReaderSpec | JudgeSpec) -> Row:
    return {"kind": spec.kind, "model": spec.model, "repeats": spec.repeats}


def _settings(settings: Mapping[str, Any]) -> Row:
    """The settings that count; of a study's path only its file's name, since a report may leave the machine."""
    kept = {name: settings[name] for name in _SETTINGS if settings.get(name)}
    return kept | ({"study": PurePath(kept["study"]).name} if "study" in kept else {})


def _plain(numbers: Numbers, *statistics: str) -> list[Row]:
    """Rows of all questions as they stand, less what is the same in all of them."""
    return [
        {name: value for name, value in row.items() if name not in ("run_id", "comparison", "slice", "cell_b")}
        for row in numbers.of(*statistics)
    ]


def _notes(study: Study, numbers: Numbers) -> list[str]:
    """What to bear in mind of the whole run: few conversations, what a test could have found, what is missing."""
    if not numbers.rows:
        return ["no statistics: this run has no rows of statistics, so there are no means, intervals or tests to show"]
    found = []
    for corpus in study.corpora:
        here = [row for row in numbers.of("mean") if row["corpus"] == corpus.name and row["clusters"]]
        clusters = max((row["clusters"] for row in here), default=0)
        if 0 < clusters < FEW_CLUSTERS and any(row["note"] for row in here):
            found.append(
                f"{corpus.name}: {clusters} conversations. Intervals resample conversations; with fewer than "
                f"{FEW_CLUSTERS} they are known to be too short"
            )
    return found
