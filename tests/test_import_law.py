"""The house's law: imports go schemas <- transforms <- flows, Beam and Prefect have one place each, no file is long."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
MAY_IMPORT = {
    "schemas": {"schemas"},
    "transforms": {"schemas", "transforms"},
    "flows": {"schemas", "transforms", "flows"},
    "memlake.py": {"schemas", "transforms", "flows"},
}
OURS = {"schemas", "transforms", "flows", "memlake", "tests", "infra"}
MAX_LINES = 500


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every import, wherever it stands; a relative one is '.'."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name.split(".")[0]) for alias in names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield node.lineno, module.split(".")[0]
            case ast.ImportFrom():
                yield node.lineno, "."
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield node.lineno, module.split(".")[0]


def is_forbidden(package: str, path: Path) -> bool:
    """Say whether the file at `path`, relative to the repository, breaks the law by importing `package`."""
    house = path.parts[0]
    match package:
        case ".":
            return True
        case "apache_beam":
            return house != "flows" and path.name != "beam.py"
        case "prefect":
            return house != "flows"
        case _:
            return package in OURS and package not in MAY_IMPORT[house]


def offences(root: Path) -> list[str]:
    """Every breach of the law in the product's files under `root`, as 'path:line: what'."""
    found = []
    for path in (path for house in MAY_IMPORT for path in sources(root / house)):
        relative = path.relative_to(root)
        for line, package in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if is_forbidden(package, relative):
                found.append(f"{relative}:{line}: imports {package}")
    return found


def long_files(root: Path) -> list[str]:
    """Every source file under `root` of more than MAX_LINES lines, tests and SQL too."""
    folders = (root / name for name in (*MAY_IMPORT, "sql", "infra", "tests"))
    lengths = {path: len(path.read_bytes().splitlines()) for folder in folders for path in sources(folder, ".sql")}
    return [f"{path.relative_to(root)}: {lines} lines" for path, lines in lengths.items() if lines > MAX_LINES]


def sources(place: Path, *more_suffixes: str) -> list[Path]:
    if place.is_file():
        return [place]
    return sorted(path for path in place.rglob("*") if path.suffix in {".py", *more_suffixes})


def test_imports_go_one_way_and_beam_and_prefect_stay_in_their_places():
    assert offences(REPOSITORY) == []


def test_no_file_is_over_500_lines():
    assert long_files(REPOSITORY) == []


def test_the_check_sees_this_repository():
    assert len(sources(REPOSITORY / "schemas")) > 20
    assert all(sources(REPOSITORY / house) for house in MAY_IMPORT)


@pytest.mark.parametrize(
    ("path", "line", "package"),
    [
        ("schemas/a.py", "import transforms.lake", "transforms"),
        ("schemas/a.py", "from flows import x", "flows"),
        ("transforms/read/a.py", "from flows.adapter import step", "flows"),
        ("transforms/read/a.py", "import memlake", "memlake"),
        ("transforms/a.py", "from apache_beam import DoFn", "apache_beam"),
        ("transforms/a.py", "def f():\n    import apache_beam as beam", "apache_beam"),
        ("transforms/a.py", "import importlib\nimportlib.import_module('apache_beam.io')", "apache_beam"),
        ("transforms/embed/beam.py", "import prefect", "prefect"),
        ("transforms/a.py", "from prefect import task", "prefect"),
        ("flows/a.py", "from . import b", "."),
        ("flows/a.py", "from tests.conftest import x", "tests"),
        ("memlake.py", "import apache_beam", "apache_beam"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, path: str, line: str, package: str):
    write(tmp_path / path, line)
    assert offences(tmp_path) == [f"{path}:{line.count(chr(10)) + 1}: imports {package}"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("schemas/a.py", "from schemas.table import Table\nimport pyarrow"),
        ("transforms/a.py", "from schemas import TURNS\nfrom transforms.ids import new_id"),
        ("transforms/embed/beam.py", "import apache_beam as beam"),
        ("flows/ingest.py", "import apache_beam, prefect\nfrom transforms import ids\nfrom schemas import TURNS"),
        ("memlake.py", "from transforms.lake.lake import Lake"),
        ("tests/test_a.py", "import prefect, apache_beam, flows"),
    ],
)
def test_an_allowed_import_passes(tmp_path: Path, path: str, line: str):
    write(tmp_path / path, line)
    assert offences(tmp_path) == []


@pytest.mark.parametrize("path", ["transforms/a.py", "sql/views/a.sql", "tests/test_a.py", "memlake.py"])
def test_a_long_file_is_found(tmp_path: Path, path: str):
    write(tmp_path / path, "\n" * MAX_LINES)
    assert long_files(tmp_path) == []
    write(tmp_path / path, "\n" * (MAX_LINES + 1))
    assert long_files(tmp_path) == [f"{path}: {MAX_LINES + 1} lines"]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
