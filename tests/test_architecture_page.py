"""docs/architecture.md stays short and true: what it names is there."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
HOUSES = ("schemas", "transforms", "flows", "sql", "tests", "infra", "memlake", "docs")
# A name in capitals stands for the reader's own.
NAMED = sorted(
    name
    for name in set(re.findall(r"`([\w./-]+)`", PAGE))
    if (name.split("/")[0] in HOUSES and "/" in name and "NAME" not in name) or name in ("CONTRIBUTING.md", *HOUSES)
)


@pytest.mark.parametrize("name", NAMED)
def test_every_file_and_folder_that_the_page_names_is_there(name):
    assert (REPOSITORY / name).exists()


def test_the_first_changes_are_walked_through_on_real_files():
    walk = PAGE.split("## A first change")[1]
    assert {line.split("**")[1] for line in walk.splitlines() if line.startswith("**")} == {
        "A format.",
        "A plan step.",
        "A metric.",
    }
    assert len([name for name in NAMED if f"`{name}`" in walk]) >= 12


def test_the_page_is_short_and_contributing_points_to_it():
    assert len(PAGE.splitlines()) <= 120
    assert "docs/architecture.md" in (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
