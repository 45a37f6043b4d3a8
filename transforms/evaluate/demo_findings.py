"""What the demo's study found: one row a representation, and one answer that the summary lost."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow.compute as pc

from memlake.transforms.base.sql import sql_file
from memlake.transforms.lake.query.connect import connect
from memlake.transforms.lake.query.statement import fetch
from memlake.transforms.lake.storage.lake import Lake
from memlake.transforms.lake.storage.snapshot import Snapshot
from memlake.transforms.score.scores import summary
from memlake.transforms.text.canonical import spoken
from memlake.transforms.text.content_tokens import content_tokens

CORPUS = "demo"
STUDY = "demo"
SUMMARY = "rule_summary"
REPORT = "lost-only-as-observations"  # works for any lossy representation
STORES = {
    "chunks": "slices of 512",
    "turns": "single messages",
    "rule_summary": "first clauses",
}
BUDGETS = (200, 500)
REPRESENTATIONS = tuple(STORES)
_QUALIFIER = re.compile(r"\s*,?\s*(except|until|unless|only)\b")


@dataclass(frozen=True, slots=True)
class Kept:
    """What one representation keeps: shares of answers whose words are all there, and of gold turns found.

    Attributes:
        in_store: of the whole store. in_context: of what a reader is shown, by token budget.
        gold_turns: found within the largest budget. n: questions scored; excluded: not scored, by reason.
    """

    representation: str
    stores: str
    units: int
    characters: int
    in_store: float
    in_context: dict[str, float]
    gold_turns: float
    n: int
    excluded: dict[str, int]


@dataclass(frozen=True, slots=True)
class Lost:
    """An answer that the record holds and the summary does not, with the words that went."""

    question: str
    answer: str
    said: str
    kept: str
    words: list[str]


@dataclass(frozen=True, slots=True)
class Findings:
    """The demo's result; `characters` is the length of all transcripts as they were read, and what a store compares with."""

    conversations: int
    sessions: int
    turns: int
    characters: int
    questions: int
    kept: list[Kept]
    lost: Lost | None


def find(lake: Lake, run_id: str) -> Findings:
    """Read the findings of one run of the demo's study from the lake."""
    snapshot = lake.snapshot()
    corpus = pc.field("corpus") == CORPUS
    conversations = snapshot.read("conversations", columns=["sessions", "turns", "characters"], where=corpus)
    with connect(lake) as connection:
        means = summary(connection, run_id).to_pylist()
        lost = _lost(connection, snapshot, run_id)
    return Findings(
        conversations=conversations.num_rows,
        sessions=pc.sum(conversations["sessions"]).as_py(),
        turns=pc.sum(conversations["turns"]).as_py(),
        characters=pc.sum(conversations["characters"]).as_py(),
        questions=snapshot.read("questions", columns=["question_id"], where=corpus).num_rows,
        kept=[_kept(snapshot, representation, means, run_id) for representation in STORES],
        lost=lost,
    )


def _kept(snapshot: Snapshot, representation: str, means: Sequence[Mapping[str, Any]], run_id: str) -> Kept:
    """One row of the table: the cell of the study that is named after the representation."""

    def mean(metric: str, cutoff: int) -> Mapping[str, Any]:
        return next(
            row
            for row in means
            if row["cell"] == representation
            and row["category"] is None
            and row["metric"] == metric
            and (row["cutoff_kind"], row["cutoff"]) == (("tokens", cutoff) if cutoff else ("none", 0))
        )

    units = snapshot.read(
        "units",
        columns=["show_text"],
        where=(pc.field("corpus") == CORPUS) & (pc.field("representation") == representation),
    )
    survival = {budget: mean("answer_survival_all", budget) for budget in BUDGETS}
    return Kept(
        representation=representation,
        stores=STORES[representation],
        units=units.num_rows,
        characters=pc.sum(pc.utf8_length(units["show_text"])).as_py(),
        in_store=mean("store_survival_all", 0)["mean"],
        in_context={str(budget): row["mean"] for budget, row in survival.items()},
        gold_turns=mean("evidence_recall_fraction", BUDGETS[-1])["mean"],
        n=survival[BUDGETS[-1]]["n"],
        excluded=_excluded(snapshot, representation, run_id),
    )


def _excluded(snapshot: Snapshot, cell: str, run_id: str) -> dict[str, int]:
    """Questions without a survival score in a cell, by reason."""
    scores = snapshot.read(
        "scores",
        columns=["reason"],
        where=(pc.field("run_id") == run_id)
        & (pc.field("cell") == cell)
        & (pc.field("metric") == "answer_survival_all")
        & (pc.field("cutoff") == BUDGETS[-1])
        & pc.field("value").is_null(),
    )
    counted = scores.group_by("reason").aggregate([([], "count_all")]).sort_by("reason")
    return dict(zip(counted["reason"].to_pylist(), counted["count_all"].to_pylist(), strict=True))


def _lost(connection: duckdb.DuckDBPyConnection, snapshot: Snapshot, run_id: str) -> Lost | None:
    """The first answer that the summary does not store, best one whose turn it cut at a qualifier."""
    values = {"run_id": run_id, "representation": SUMMARY, "tokens": str(BUDGETS[-1])}
    losses = fetch(connection, sql_file("reports", REPORT).text, values).to_pylist()
    found = [lost for row in losses if row["stored_lost"] and (lost := _example(snapshot, row)) is not None]
    return min(found, key=lambda lost: not _QUALIFIER.match(lost.said[len(lost.kept) :]), default=None)


def _example(snapshot: Snapshot, row: Mapping[str, Any]) -> Lost | None:
    """A lost answer beside the turn that holds it and what the summary kept of that turn."""
    here = (pc.field("corpus") == CORPUS) & (pc.field("conversation_id") == row["conversation_id"])
    gold = snapshot.read("evidence", where=here & (pc.field("question_id") == row["question_id"]))[
        "ordinal"
    ].to_pylist()
    turn = snapshot.read("turns", where=here & (pc.field("ordinal") == gold[0])).to_pylist()[0]
    units = snapshot.read("units", where=here & (pc.field("representation") == SUMMARY))["show_text"].to_pylist()
    said, prefix = turn["text"], spoken(turn["speaker"])
    lines = [line.partition(prefix)[2] for text in units for line in text.split("\n") if prefix in line]
    kept = next((line for line in lines if line and said.startswith(line)), None)
    if kept is None:
        return None
    stored = set(content_tokens(" ".join(units)))
    words = [word.strip(",.;:!?") for word in row["answer"].split()]
    gone = [word for word in words if not stored.issuperset(content_tokens(word))]
    return Lost(row["question"], row["answer"], said, kept, gone)
