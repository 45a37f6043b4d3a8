"""What every .sql file has in common: a header that is true, and a place in the order."""

import re

import duckdb
import pytest
from small_tables import connection_of

from memlake.schemas import TABLES
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.sql import sql_file, sql_files
from memlake.transforms.report.data.browser_rows import BROWSED, BROWSED_CELLS
from memlake.transforms.retrieve.store.store import UNIT_TOKENS
from memlake.transforms.score.losses import BY_TURN, MATCHES, UNLIKE
from memlake.transforms.score.source_tokens import SOURCE_TOKENS

FOLDERS = ("macros", "views", "scores", "losses", "costs", "audits", "reports", "browser")
FILES = [(folder, file) for folder in FOLDERS for file in sql_files(folder)]
REGISTERED = {
    "unit_tokens": UNIT_TOKENS.empty_table(),
    "source_tokens": SOURCE_TOKENS.empty_table(),
    "matches": MATCHES.empty_table(),
    "by_turn": BY_TURN.empty_table(),
    "unlike": UNLIKE.empty_table(),
    "text_scores": TABLES["scores"].empty(),
    "browsed": BROWSED.empty_table(),
    "browsed_cells": BROWSED_CELLS.empty_table(),
}
KNOWN = {
    *TABLES,
    *(file.name for folder in ("views", "browser") for file in sql_files(folder)),
    *REGISTERED,
    "audited",
    "part_names",
    "vectors",
    "nothing",
}
NAMES = [f"{folder}/{file.name}" for folder, file in FILES]


@pytest.mark.parametrize(("folder", "file"), FILES, ids=NAMES)
def test_a_header_says_purpose_grain_and_what_is_read(folder, file):
    assert re.match(r"-- \S.*\.\n", file.text) or re.match(r"-- .*\n-- ", file.text)
    assert len(re.findall(r"^-- grain: \S", file.text, re.MULTILINE)) == 1
    assert len(re.findall(r"^-- reads: \S", file.text, re.MULTILINE)) == 1
    assert set(file.reads) <= KNOWN


@pytest.mark.parametrize(("folder", "file"), FILES, ids=NAMES)
def test_a_header_names_exactly_the_relations_that_the_query_reads(folder, file):
    body = re.sub(r"--.*", "", file.text)
    joined = set(re.findall(r"\b(?:from|join|pivot)\s+([a-z_]+)", body))
    inner = set(re.findall(r"\b([a-z_]+) as (?:materialized )?\(", body))
    assert (joined - inner or {"nothing"}) == set(file.reads)


@pytest.mark.parametrize(("folder", "file"), FILES, ids=NAMES)
def test_a_header_names_exactly_the_parameters_of_the_query(folder, file):
    declared = set(re.findall(r"^-- param: (\w+): ", file.text, re.MULTILINE))
    (statement,) = duckdb.extract_statements(file.text)
    assert statement.named_parameters == declared


def test_views_come_after_the_views_that_they_read():
    names = [file.name for file in sql_files("views")]
    for file in sql_files("views"):
        assert all(names.index(read) < names.index(file.name) for read in file.reads if read in names)


def test_every_view_and_score_runs_on_an_empty_lake():
    with connection_of(**REGISTERED) as connection:
        for file in sql_files("scores") + sql_files("losses"):
            assert connection.sql(file.text, params={"run_id": "r"}).fetchall() == []
        for file in sql_files("views"):
            assert connection.sql(f"from {file.name}").fetchall() in ([], [(None,)])


def test_an_unknown_file_is_refused_with_what_is_near():
    with pytest.raises(NotFoundError, match="'survival-by-categry' is unknown; there are: survival-by-category"):
        sql_file("reports", "survival-by-categry")
