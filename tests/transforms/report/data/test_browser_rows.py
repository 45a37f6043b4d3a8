"""The rows behind the browser of a report: which tables they come from."""

from memlake.schemas import TABLES
from memlake.transforms.base.sql import sql_files
from memlake.transforms.report.data.browser_rows import _AS_READ, TABLES_AS_READ


def test_the_tables_behind_what_is_shown_as_it_was_read_are_all_named():
    files = {file.name: file for folder in ("views", "browser") for file in sql_files(folder)}
    made_by_runs = {file.name for file in sql_files("browser")} - set(_AS_READ)
    found, left = set[str](), list(_AS_READ)
    while left:
        name = left.pop()
        found |= {name} & TABLES.keys()
        left += [read for read in (files[name].reads if name in files else ()) if read not in made_by_runs]
    assert found == set(TABLES_AS_READ)
