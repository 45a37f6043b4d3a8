"""Rewrite the README's table of tables from schemas/: `make readme`."""

from pathlib import Path

from memlake import schemas
from memlake.schemas.table import Table

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- tables -->"
END = "<!-- /tables -->"


def table_of_tables() -> str:
    """One Markdown row a table, in the order of schemas.ALL: name, grain, key."""
    return "\n".join(["| table | one row is | key |", "| --- | --- | --- |", *map(_row, schemas.ALL)])


def rewritten(readme: str) -> str:
    """The README with its table of tables made anew; everything outside the two markers stays as it is."""
    before, rest = readme.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{BEGIN}\n{table_of_tables()}\n{END}{after}"


def _row(table: Table) -> str:
    return f"| {table.name} | {table.grain} | {', '.join(table.key)} |"


if __name__ == "__main__":
    README.write_text(rewritten(README.read_text(encoding="utf-8")), encoding="utf-8")
