"""Metrics of a run in SQL: sizes are rows of retrievals, 100 a question and cell, in 5 cells; every file of sql/scores."""

import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from memlake.schemas import ALL, CELLS, CONTEXTS, EVIDENCE, PROVENANCE, QUESTIONS, RETRIEVALS, SCORES, UNITS

SIZES, QUICK = ("1000000",), ("100000",)
SIDES = ("every file", "evaluate")
CELL_COUNT, RANKS, CONVERSATIONS, UNITS_EACH = 5, 100, 20, 1000
_NAMES = "'c' as corpus, 'v' || conversation as conversation_id"
_TOKENS = "list_sort(list_distinct([('w' || (hash(question, x, {seed}) % 3000)) for x in range({count})]))"
# Nothing of a table but what its metrics read; the rest is null, or empty where it may not be.
_ROWS = {
    RETRIEVALS: f"""
        select 'r' as run_id, 'cell' || cell as cell, {_NAMES}, 'q' || question as question_id, rank,
            'chunks' as representation, 'u' || conversation || '-' || ((hash(question, cell) + rank * 7) % {UNITS_EACH}) as unit_id,
            (1 / rank)::float as score
        from (select *, question % {CONVERSATIONS} as conversation from range({{questions}}) as q (question),
            range({CELL_COUNT}) as c (cell), range(1, {RANKS + 1}) as k (rank))""",
    CONTEXTS: f"""
        select 'r' as run_id, 'cell' || cell as cell, {_NAMES}, 'q' || question as question_id, kind as cutoff_kind, cutoff,
            least(shown, {RANKS}) as units, cutoff as tokens, {_TOKENS.format(seed=1, count=120)} as content_tokens
        from (select *, question % {CONVERSATIONS} as conversation from range({{questions}}) as q (question),
            range({CELL_COUNT}) as c (cell),
            (values ('k', 1, 1), ('k', 5, 5), ('k', 10, 10), ('k', 20, 20), ('tokens', 500, 4), ('tokens', 2000, 16)) as x (kind, cutoff, shown))""",
    QUESTIONS: f"""
        select {_NAMES}, 'q' || question as question_id, 'official' as label_set, question as position, 'what' as text,
            {_TOKENS.format(seed=2, count=4)} as answer_tokens, 'category' || (question % 4) as category, question % 19 <> 0 as answerable
        from (select *, question % {CONVERSATIONS} as conversation from range({{questions}}) as q (question))""",
    EVIDENCE: f"""
        select {_NAMES}, 'q' || question as question_id, 'official' as label_set, position, 't' as raw_id,
            't' || ordinal as turn_id, ordinal, 'valid' as status
        from (select *, question % {CONVERSATIONS} as conversation, hash(question, position) % {UNITS_EACH} as ordinal
            from range({{questions}}) as q (question), range(2) as p (position))""",
    PROVENANCE: f"""
        select {_NAMES}, representation, 'u' || conversation || '-' || unit as unit_id, piece, 't' || (unit + piece) as turn_id,
            unit + piece as ordinal, unit * 100 as char_start, unit * 100 + 100 as char_end, true as touches_text
        from range({CONVERSATIONS}) as v (conversation), range({UNITS_EACH}) as u (unit), range(2) as p (piece),
            (values ('chunks'), ('turns')) as r (representation)""",
    UNITS: f"""
        select {_NAMES}, representation, 'u' || conversation || '-' || unit as unit_id, unit as ordinal
        from range({CONVERSATIONS}) as v (conversation), range({UNITS_EACH}) as u (unit),
            (values ('chunks'), ('turns')) as r (representation)""",
    CELLS: f"""
        select 'r' as run_id, 'cell' || cell as cell, 'c' as corpus, ['chunks'] as representations, '{{{{}}}}' as settings
        from range({CELL_COUNT}) as c (cell)""",
}
_UNIT_TOKENS = f"""
    select 'c' as corpus, representation, 'v' || conversation as conversation_id, 'w' || word as token
    from range({CONVERSATIONS}) as v (conversation), range(0, 3000, 2) as w (word), (values ('chunks'), ('turns')) as r (representation)"""


def generate(size: str, folder: Path) -> None:
    """Write each table as Parquet, in its schema."""
    questions = int(size) // (CELL_COUNT * RANKS)
    with duckdb.connect() as connection:
        for table, rows in _ROWS.items():
            made = connection.sql(rows.format(questions=questions))
            columns = ", ".join(
                f"{_blank(field) if field.name not in made.columns else field.name} as {field.name}"
                for field in table.schema
            )
            full = connection.sql(f"select {columns} from made").to_arrow_table().cast(table.schema)
            pq.write_table(full, folder / f"{table.name}.parquet")
        pq.write_table(connection.sql(_UNIT_TOKENS).to_arrow_table(), folder / "unit_tokens.parquet")


def _blank(field) -> str:
    if field.nullable:
        return "null"
    kind = str(field.type)
    return (
        "[]::varchar[]" if kind.startswith("list") else "''" if kind == "string" else "false" if kind == "bool" else "0"
    )


def prepare(side: str, size: str, folder: Path, k: int) -> tuple[Callable[[], object], Callable[[object], dict]]:
    """What is timed: each file of sql/scores on its own, or all of it as a study does."""
    from memlake.transforms.base.sql import sql_files
    from memlake.transforms.lake.query.connect import add_analysis

    connection = duckdb.connect()
    tables = {file.stem: pq.read_table(file) for file in folder.glob("*.parquet")}
    for table in ALL:
        connection.register(table.name, tables.get(table.name, table.empty()))
    add_analysis(connection)
    if side == "evaluate":
        from memlake.transforms.score.scores import evaluate

        def scored():
            made = evaluate(connection, "r", unit_tokens=tables["unit_tokens"])
            return {"rows": made.scores.num_rows}

        return scored, lambda made: {"said": f"{made['rows']:,} scores"}
    connection.register("unit_tokens", tables["unit_tokens"])
    connection.register("text_scores", SCORES.empty())  # of answers, of which there are none here

    def each() -> dict[str, str]:
        said = {}
        for file in sql_files("scores"):
            began = time.perf_counter()
            rows = connection.sql(file.text, params={"run_id": "r"}).to_arrow_table().num_rows
            said[file.name] = f"{time.perf_counter() - began:.2f} s for {rows:,}"
        return said

    return each, lambda made: {"said": "; ".join(f"{name} {what}" for name, what in made.items())}
