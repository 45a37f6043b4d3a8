"""A run that a report is made of: two conversations whose text means ill, three cells, an extractive reader, two judges."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
from small_tables import connection_of, rows_of

from memlake.schemas import (
    ANSWERS,
    CONTEXTS,
    EVIDENCE,
    JUDGEMENTS,
    LOSSES,
    PROVENANCE,
    QUESTIONS,
    RETRIEVALS,
    RUNS,
    SCORES,
    TURNS,
    UNITS,
)
from memlake.schemas.table import settings_json
from memlake.transforms.evaluate.corpus import cell_rows
from memlake.transforms.report.data.document import Document
from memlake.transforms.report.data.report import report_document
from memlake.transforms.score.statistics.statistics import statistics_of
from memlake.transforms.study.parse import parse_study
from memlake.transforms.study.study import Study
from memlake.transforms.text.content_tokens import content_tokens, content_tokens_of

RUN = "20240506T090000-0000abcd"
# Markup, a comment, marks that reorder a line, signs of no width, a word without end, emoji, line separators.
HOSTILE = (
    "</script><script>document.title='owned';alert(1)</script><img src=x onerror=\"document.title='owned'\"> <!-- "
    "\u202eevil\u202c zero\u200bwidth \u2028 \u2029 \x00 👩‍👩‍👧 " + "x" * 10_000
)
SAID = ("The gate code is 4471 except on Sundays.", "Shoes stay in the red hall.")
ASKED = (("Which code?", "4471 except on Sundays", "1"), ("Which hall?", "red hall", "2"))
KEPT = {"chunks": lambda text: text, "summary": lambda text: text.split(" except")[0].replace(" red", "")}

STUDY = """
name = "small"
corpus = "c"
[cutoffs]
tokens = [100, 200]
[answers]
tokens = [100]
[headline]
metric = "judge_accuracy"
cutoff_kind = "tokens"
cutoff = 100
judge = "match"
[readers.extractive]
kind = "extractive"
[judges.match]
kind = "match"
[judges.exact]
kind = "exact"
[plans.joined]
steps = [{ step = "seed_lexical" }, { step = "rank" }, { step = "merge" }, { step = "pack", order = "time" }]
"""
CELLS = (("chunks", "chunks", "lexical"), ("summary", "summary", "lexical"), ("random", "chunks", "random"))


def study_text(*, cells: tuple[tuple[str, str, str], ...] = CELLS, reader: bool = True, more: str = "") -> str:
    """The study as TOML; cells are (name, representation, plan)."""
    text = STUDY if reader else STUDY.split("[answers]")[0] + STUDY[STUDY.index("[plans") :]
    for name, representation, plan in cells:
        text += f'[[cells]]\nname = "{name}"\nrepresentations = ["{representation}"]\nplan = "{plan}"\n'
        text += 'reader = "extractive"\n' if reader else ""
    return text + more


@dataclass
class Reported:
    """Tables of one run, to be changed before `connection`."""

    study: Study
    conversations: tuple[str, ...] = ("v", "w")
    hostile: str = ""
    text: str = ""
    tables: dict[str, pa.Table] = field(default_factory=dict)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A connection that stands for both snapshots."""
        return connection_of(**self.tables)

    def document(self, **options: Any) -> Document:
        """The report."""
        connection = self.connection()
        options = {"forgotten": {}, "declared": parse_study(self.text, source="test")} | options
        return report_document(connection, connection, RUN, self.study, **options)


def reported(
    *, conversations: tuple[str, ...] = ("v", "w"), hostile: str = "", statistics: bool = True, **study: Any
) -> Reported:
    """A run of the study on each conversation's two questions; a cell is right where it shows every word of the answer.

    Args:
        hostile: stands in every text that a transcript, a benchmark or a model brings.
        statistics: whether the run has any.
    """
    text = study_text(**study)
    made = Reported(parse_study(text, source="test"), conversations, hostile, text)
    rows: dict[str, list[dict[str, Any]]] = {}
    for conversation in conversations:
        for name, added in _conversation(made, conversation).items():
            rows.setdefault(name, []).extend(added)
    schemas = (ANSWERS, CONTEXTS, EVIDENCE, JUDGEMENTS, LOSSES, PROVENANCE, QUESTIONS, RETRIEVALS, SCORES, TURNS, UNITS)
    made.tables = {table.name: rows_of(table, rows.get(table.name, [])) for table in schemas}
    made.tables["cells"] = cell_rows(made.study, made.study.corpora[0], run_id=RUN, read_snapshot_id="s1")
    made.tables["runs"] = RUNS.rows([_ended(made)])
    if statistics:
        made.tables["statistics"] = statistics_of(
            made.tables["scores"], made.tables["judgements"], made.study, run_id=RUN
        )
    return made


def _ended(made: Reported) -> dict[str, object]:
    settings = {
        "study": "/home/someone/small.toml",
        "corpus": [],
        "embedder": "",
        "reranker": "",
        "at": "latest",
        "models": {"model": ""},
    }
    counters = {"study": made.text, "questions": 2 * len(made.conversations), "excluded": {"no_offsets": 1}}
    return {
        "run_id": RUN,
        "event": "ended",
        "flow": "study",
        "logged_at": datetime(2024, 5, 6, 9, tzinfo=UTC),
        "code_version": "0.0",
        "settings": settings_json(settings),
        "settings_hash": "h",
        "outcome": "published",
        "snapshot_id": "s2",
        "counters": settings_json(counters),
        "seconds": 1.5,
    }


def _conversation(made: Reported, name: str) -> dict[str, list[dict[str, Any]]]:
    texts = [f"{text}{made.hostile}" for text in SAID]
    rows: dict[str, list[dict[str, Any]]] = {
        "turns": [
            {
                "conversation_id": name, "ordinal": place, "turn_id": f"t{place}", "speaker": f"Ana{made.hostile}",
                "text": text, "session_label": "6 May, 2024", "session_ordinal": 0,
            }
            for place, text in enumerate(texts)
        ],
        "units": [], "provenance": [], "questions": [], "evidence": [], "retrievals": [], "contexts": [], "answers": [],
        "judgements": [], "losses": [], "scores": [],
    }  # fmt: skip
    for representation, keep in KEPT.items():
        for place, said in enumerate(SAID):
            unit = {
                "conversation_id": name,
                "representation": representation,
                "unit_id": f"{name}-{representation}-{place}",
            }
            text = f"Ana: {keep(said)}{made.hostile}"
            rows["units"].append(unit | {"ordinal": place, "show_text": text, "key_text": text, "kind": "chunk"})
            rows["provenance"].append(
                unit
                | {"piece": 0, "turn_id": f"t{place}", "ordinal": place, "grounding": "exact", "touches_text": True}
            )
    for place, (text, answer, category) in enumerate(ASKED):
        asked = {"conversation_id": name, "question_id": f"{name}:q{place}", "label_set": "official"}
        rows["questions"].append(
            asked
            | {
                "position": place, "text": f"{text}{made.hostile}", "answer": answer, "answers": [answer],
                "category": category, "answerable": True,
                "answer_tokens": content_tokens_of([answer], distinct=True)[0].as_py(),
            }
        )  # fmt: skip
        rows["evidence"].append(
            asked | {"position": 0, "raw_id": f"t{place}", "turn_id": f"t{place}", "ordinal": place, "status": "valid"}
        )
        for cell in made.study.cells:
            for table, added in _cell_rows(made, name, place, cell.name, cell.representations[0]).items():
                rows[table] += added
    return rows


def _cell_rows(
    made: Reported, name: str, place: int, cell: str, representation: str
) -> dict[str, list[dict[str, Any]]]:
    """The gold unit first, the other second; a context of 100 tokens holds the first, one of 200 both, and 'random' neither."""
    key = {"run_id": RUN, "cell": cell, "conversation_id": name, "question_id": f"{name}:q{place}"}
    order = [place, 1 - place] if cell != "random" else [1 - place, place]
    answer, category = ASKED[place][1:]
    ends = {100: order[:1], 200: order}
    shown = {value: ends[value] for value in made.study.cutoffs_of(made.study.cell(cell)).tokens}
    texts = {
        cutoff: "\n".join(f"Ana: {KEPT[representation](SAID[unit])}{made.hostile}" for unit in units)
        for cutoff, units in shown.items()
    }
    needed = set(content_tokens(answer))
    survives = {cutoff: float(needed <= set(content_tokens(text))) for cutoff, text in texts.items()}
    kept = float(needed <= set(content_tokens(" ".join(KEPT[representation](said) for said in SAID))))
    scores = [("store_survival_all", "none", 0, "", kept)]
    scores += [("answer_survival_all", "tokens", cutoff, "", value) for cutoff, value in survives.items()]
    made_of: dict[str, list[dict[str, Any]]] = {
        "retrievals": [
            key | {"rank": rank, "representation": representation, "unit_id": f"{name}-{representation}-{unit}", "score": 1.0}
            for rank, unit in enumerate(order, 1)
        ],
        "contexts": [
            key
            | {
                "cutoff_kind": "tokens", "cutoff": cutoff, "units": len(units), "tokens": 10 * len(units), "tokeniser": "chars4",
                "text": texts[cutoff], "content_tokens": sorted(set(content_tokens(texts[cutoff]))),
            }
            for cutoff, units in shown.items()
        ],
    }  # fmt: skip
    if made.study.readers:
        cutoff = made.study.answered(made.study.cell(cell)).tokens[0]
        at = {"cutoff_kind": "tokens", "cutoff": cutoff}
        right = bool(survives[cutoff])
        made_of["answers"] = [key | at | {"text": f"It is {answer}{made.hostile}", "abstained": False}]
        verdicts = [("match", right), ("exact", False if cell != "random" else None)]
        made_of["judgements"] = [
            key | at | {
                "judge": judge, "label_set": "official", "correct": correct, "reply": f"CORRECT?{made.hostile}",
                "reason": None if correct is not None else "unparsable_verdict",
            }
            for judge, correct in verdicts
        ]  # fmt: skip
        made_of["losses"] = [
            key | at | {
                "judge": judge, "label_set": "official", "category": category, "judge_disputed": judge == "exact" and right,
                "loss": "misread" if right else "not_stored" if cell == "summary" else "packed_out",
            }
            for judge, correct in verdicts
            if correct is False
        ]  # fmt: skip
        scores += [
            ("judge_accuracy", "tokens", cutoff, judge, None if correct is None else float(correct))
            for judge, correct in verdicts
        ]
    made_of["scores"] = [
        key
        | {
            "metric": metric, "cutoff_kind": kind, "cutoff": cutoff, "judge": judge, "label_set": "official",
            "category": category, "value": value, "reason": None if value is not None else "no_verdict",
        }
        for metric, kind, cutoff, judge, value in scores
    ]  # fmt: skip
    return made_of
