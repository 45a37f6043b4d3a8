"""What a cell's memory costs: tokens and US dollars of writing it and of reading from it, and of a correct answer.

Every price is that of the request when it was really sent, whatever the cache has saved since. What judging costs is
apart: it is no part of a memory. A dollar that nobody knows is null, with a note.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from memlake.transforms.base.arrays import Floats, Ints
from memlake.transforms.base.sql import sql_files
from memlake.transforms.score.statistics.resampling import Weights, bootstrap_method, cluster_weights, ratio_intervals
from memlake.transforms.score.statistics.series import (
    NO_SCORES,
    NO_VARIANCE,
    ONE_CLUSTER,
    codes_of,
    few_clusters,
    notes,
    row_of,
    table_of,
)
from memlake.transforms.study.study import Study

NO_MODEL = "no_model: no model was asked"
PRICE_UNKNOWN = "price_unknown: no price, no tokens, or never sent from this lake"
SUPPLIED = "supplied: written elsewhere, at a cost that nobody noted"
NOTHING_CORRECT = "nothing_correct: no answer was judged correct"
NO_VERDICT = "no_verdict: questions without a verdict are neither right nor wrong, and excluded"
PART_UNKNOWN = "price_unknown: what could not be priced is excluded"


class AskedCorpus:
    """The conversations of a corpus that were asked about, and how they are drawn."""

    def __init__(self, conversations: list[str], seed: int) -> None:
        self.places = {name: place for place, name in enumerate(conversations)}
        self.weights: Weights = cluster_weights(len(conversations), seed)
        self.seed = seed

    def by_conversation(self, rows: pa.Table, column: Floats) -> Floats:
        """A column summed over the rows of each conversation."""
        codes, names = codes_of(rows["conversation_id"])
        of: Ints = np.array([self.places[name] for name in names], np.int64)[codes]
        return np.bincount(of, weights=column, minlength=len(self.places)).astype(np.float64)


def groups(table: pa.Table, columns: tuple[str, ...]) -> Iterator[tuple[dict[str, object], pa.Table]]:
    """The rows of each combination of some columns, in order."""
    if not table.num_rows:
        return
    keys = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
    members: dict[tuple[object, ...], list[int]] = {}
    for place, key in enumerate(keys):
        members.setdefault(key, []).append(place)
    for key, places in members.items():
        fields = dict(zip(columns, key, strict=True))
        fields["cell_a"] = fields.pop("cell")
        yield fields, table.take(pa.array(places))


def mean_row(
    corpus: AskedCorpus, fields: dict[str, object], rows: pa.Table, column: str, statistic: str, *, note: str = ""
) -> dict[str, object]:
    """A mean over rows with its interval; rows without a number are excluded, and without any there is no mean."""
    number = rows[column].to_numpy().astype(np.float64)
    known = np.isfinite(number)
    if known.any() and not known.all():
        note = note or PART_UNKNOWN
    elif not known.any():
        note = note or PRICE_UNKNOWN
    sums = corpus.by_conversation(rows, np.where(known, number, 0.0))
    counts = corpus.by_conversation(rows, known.astype(np.float64))
    return ratio_row(corpus, fields, sums, counts, statistic, n=known.sum(), excluded=np.sum(~known), note=note)


def ratio_row(
    corpus: AskedCorpus,
    fields: dict[str, object],
    sums: Floats,
    counts: Floats,
    statistic: str,
    *,
    n: int,
    excluded: int,
    note: str = "",
    times: float = 1.0,
) -> dict[str, object]:
    """sum(sums) / sum(counts) times a number, with its interval over conversations."""
    low, high = (float(end[0]) for end in ratio_intervals(corpus.weights, sums[None, :], counts[None, :]))
    clusters = int(np.sum((counts > 0) | (sums > 0)))
    total = counts.sum()
    said = [note] if n else [note or NO_SCORES]
    if n:
        said.append(ONE_CLUSTER if clusters == 1 else few_clusters(clusters))
        said.append(NO_VARIANCE if clusters > 1 and total and np.isnan(low) else "")
    return row_of(
        **fields
        | {
            "statistic": statistic,
            "slice": "all",
            "n": n,
            "excluded_a": excluded,
            "clusters": clusters,
            "value": times * sums.sum() / total if total else None,
            "low": times * low,
            "high": times * high,
            "method": bootstrap_method(corpus.seed),
            "note": notes(*said),
        }
    )


# Questions a conversation, over which its writing is spread.
AMORTISED_OVER = (1, 10, 100, 1000)

_SHARED = "journal prices of the runs that wrote it, by the tokens of its pieces; embedding by characters"
_AT = ("corpus", "cell", "cutoff_kind", "cutoff")
# The columns that tell the rows of a cost apart, where it has them.
_KEYS = (*_AT, "judge", "label_set", "conversation_id", "question_id")


def costs_of(
    connection: duckdb.DuckDBPyConnection,
    run_id: str,
    study: Study,
    *,
    seconds: Mapping[tuple[str, str], float] | None = None,
) -> pa.Table:
    """Rows of STATISTICS whose statistic is a cost, in the order of their key.

    usd_write, usd_write_per_conversation, tokens_write_in and tokens_write_out are of the conversations asked about;
    tokens_read_per_question, tokens_out_per_question and usd_read_per_question of an answer; usd_per_question_at_N spreads
    a conversation's writing over N questions; usd_per_1000_correct is of reading, usd_per_1000_correct_with_write of both,
    over the questions that have a verdict; usd_judge_per_question and tokens_judge_per_question are a judge's; seconds_local
    is a cell's own computing. Embedding of questions is not counted.

    Args:
        connection: every table of the schemas by its name, with the views of sql/; the run's cells, contexts, answers,
            judgements and scores, and the stored calls, runs, extractions, representations, units and conversations.
        seconds: by corpus and cell, of searching.
    """
    tables: dict[str, pa.Table] = {}
    for file in sql_files("costs"):
        table = connection.sql(file.text, params={"run_id": run_id}).to_arrow_table()
        # In one order, so that sums have the same bits.
        tables[file.name] = table.sort_by([(name, "ascending") for name in table.column_names if name in _KEYS])
    conversations: dict[str, set[str]] = {}
    for table in tables.values():
        for corpus, name in zip(table["corpus"].to_pylist(), table["conversation_id"].to_pylist(), strict=True):
            conversations.setdefault(corpus, set()).add(name)
    corpora = {corpus: AskedCorpus(sorted(names), study.seed) for corpus, names in conversations.items()}
    with threadpool_limits(1, user_api="blas"):
        rows = [
            *_read_rows(tables, corpora),
            *_correct_rows(tables, corpora),
            *_judge_rows(tables["judged"], corpora),
            *_write_rows(tables["written"], corpora),
            *_seconds_rows(seconds or {}),
        ]
    return table_of(row | {"run_id": run_id} for row in rows)


def _read_rows(tables: Mapping[str, pa.Table], corpora: Mapping[str, AskedCorpus]) -> Iterator[dict[str, object]]:
    """Reading, and writing spread over questions: what a server counted, or else the tokens of the context."""
    writing = {
        (fields["corpus"], fields["cell_a"]): _finite_mean(rows["usd"])
        for fields, rows in groups(tables["written"], ("corpus", "cell"))
    }
    asked = set()
    for fields, rows in groups(tables["read"], _AT):
        corpus = corpora[str(fields["corpus"])]
        asked.add(tuple(fields.values()))
        yield mean_row(corpus, fields, rows, "tokens_in", "tokens_read_per_question")
        yield mean_row(corpus, fields, rows, "tokens_out", "tokens_out_per_question")
        read = mean_row(corpus, fields, rows, "usd", "usd_read_per_question")
        yield read
        per_conversation = writing.get((fields["corpus"], fields["cell_a"]))
        for questions in AMORTISED_OVER:
            known = read["value"] is not None and per_conversation is not None
            value = float(read["value"]) + per_conversation / questions if known else None  # type: ignore[arg-type,operator]
            yield row_of(
                **fields
                | {key: read[key] for key in ("n", "excluded_a", "clusters", "slice")}
                | {
                    "statistic": f"usd_per_question_at_{questions}",
                    "value": value,
                    "method": f"reading + writing a conversation / {questions} questions",
                    "note": notes("" if known else PRICE_UNKNOWN),
                }
            )
    for fields, rows in groups(tables["shown"], _AT):
        if tuple(fields.values()) in asked:
            continue
        corpus = corpora[str(fields["corpus"])]
        tokeniser = rows["tokeniser"][0].as_py()
        note = f"{NO_MODEL}: evidence by {tokeniser}"
        row = mean_row(corpus, fields, rows, "tokens", "tokens_read_per_question", note=note)
        yield row
        unpriced = {"statistic": "usd_read_per_question", "value": None, "low": None, "high": None, "note": NO_MODEL}
        yield row_of(**row | unpriced)


def _finite_mean(column: pa.ChunkedArray) -> float | None:
    """The mean of a column; None when any of it is missing."""
    return None if column.null_count or not len(column) else float(np.mean(column.to_numpy()))


def _correct_rows(tables: Mapping[str, pa.Table], corpora: Mapping[str, AskedCorpus]) -> Iterator[dict[str, object]]:
    """Dollars for 1,000 correct answers, of each judge: reading, and reading with writing.

    Both sums are over the questions that have a price and a verdict; the others are counted as excluded.
    """
    written = {
        (fields["corpus"], fields["cell_a"]): dict(
            zip(rows["conversation_id"].to_pylist(), rows["usd"].to_pylist(), strict=True)
        )
        for fields, rows in groups(tables["written"], ("corpus", "cell"))
    }
    for fields, rows in groups(tables["correct"], (*_AT, "judge", "label_set")):
        corpus = corpora[str(fields["corpus"])]
        fields["metric"] = "judge_accuracy"
        usd, verdict = (rows[name].to_numpy().astype(np.float64) for name in ("usd", "correct"))
        priced, judged = np.isfinite(usd), np.isfinite(verdict)
        known = priced & judged
        spent = corpus.by_conversation(rows, np.where(known, usd, 0.0))
        right = corpus.by_conversation(rows, np.where(known, verdict, 0.0))
        said = "" if priced.all() else PART_UNKNOWN if priced.any() else PRICE_UNKNOWN
        said = said or ("" if right.sum() or not known.any() else NOTHING_CORRECT)
        unjudged = "" if judged.all() else NO_VERDICT
        n, excluded = int(known.sum()), int(np.sum(~known))
        row = partial(ratio_row, corpus, fields, times=1000.0)
        note = notes(said, unjudged) or ""
        yield row(spent, right, "usd_per_1000_correct", n=n, excluded=excluded, note=note)
        of = written.get((fields["corpus"], fields["cell_a"]), {})
        there = corpus.by_conversation(rows, known.astype(np.float64)) > 0
        writing = np.array([value if (value := of.get(name)) is not None else np.nan for name in corpus.places])
        if np.isfinite(writing[there]).all():
            both = spent + np.where(there, writing, 0.0)
        else:
            both, right, n = np.zeros_like(spent), np.zeros_like(right), 0
            note = notes(PRICE_UNKNOWN, unjudged) or ""
        excluded = excluded if n else len(rows)
        yield row(both, right, "usd_per_1000_correct_with_write", n=n, excluded=excluded, note=note)


def _judge_rows(judged: pa.Table, corpora: Mapping[str, AskedCorpus]) -> Iterator[dict[str, object]]:
    for fields, rows in groups(judged, (*_AT, "judge", "label_set")):
        corpus = corpora[str(fields["corpus"])]
        yield mean_row(corpus, fields, rows, "tokens", "tokens_judge_per_question")
        yield mean_row(corpus, fields, rows, "usd", "usd_judge_per_question")


def _write_rows(written: pa.Table, corpora: Mapping[str, AskedCorpus]) -> Iterator[dict[str, object]]:
    for fields, rows in groups(written, ("corpus", "cell")):
        corpus = corpora[str(fields["corpus"])]
        fields["cutoff_kind"] = "none"
        asked = any(rows["by_model"].to_pylist())
        note = SUPPLIED if any(rows["supplied"].to_pylist()) else "" if asked else NO_MODEL
        each = mean_row(corpus, fields, rows, "usd", "usd_write_per_conversation", note=note)
        yield {**each, "method": f"{each['method']}; {_SHARED}"}
        total = None if rows["usd"].null_count else float(np.sum(rows["usd"].to_numpy()))
        sums = {"usd_write": total}
        for name in ("in", "out"):
            tokens = rows[f"tokens_{name}"]
            sums[f"tokens_write_{name}"] = float(np.sum(tokens.drop_null().to_numpy())) if asked else None
        for statistic, value in sums.items():
            yield row_of(
                **fields
                | {
                    "statistic": statistic,
                    "slice": "all",
                    "clusters": each["clusters"],
                    "value": value,
                    "method": f"sum over the conversations that were asked about; {_SHARED}",
                    "note": note or (None if value is not None else PRICE_UNKNOWN),
                }
            )


def _seconds_rows(seconds: Mapping[tuple[str, str], float]) -> Iterator[dict[str, object]]:
    for (corpus, cell), value in sorted(seconds.items()):
        yield row_of(
            statistic="seconds_local",
            corpus=corpus,
            cell_a=cell,
            cutoff_kind="none",
            slice="all",
            value=value,
            method="wall-clock seconds that the run spent on searching the cell on the corpus",
        )
