"""The house's law: imports go one way along the list in docs/architecture.md, each library has its place, no file is long."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
HOUSES = ("schemas", "transforms", "flows", "memlake/__init__.py")
MAX_LINES = 500
# The list stands in a block of its own; `.` is the place of a folder's own files, which else come last.
ORDER_BLOCK = re.compile(r"```text order\n(.*?)```", re.DOTALL)


def declared_order(page: str) -> list[str]:
    """Folders of the product, those that import nothing of it first: 'transforms/base', 'transforms/lake/storage', ..."""
    [block] = ORDER_BLOCK.findall(page)
    order = []
    for line in block.splitlines():
        folder, *inside = line.split()
        own = inside.index(".") if "." in inside else len(inside)
        order += [f"{folder}/{name}" for name in inside[:own]] + [folder]
        order += [f"{folder}/{name}" for name in inside[own + 1 :]]
    return order


ORDER = declared_order((REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, wherever it stands; a relative one starts with '.'."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(level=0, module=str(module), names=names):
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.ImportFrom():
                yield node.lineno, "."
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield node.lineno, module


def place(path: str) -> int | None:
    """The place in ORDER of the longest folder that a file or module path lies in; None for none."""
    found = [folder for folder in ORDER if path == folder or path.startswith(f"{folder}/")]
    return ORDER.index(max(found, key=len)) if found else None


def offence(name: str, path: Path) -> str | None:
    """What is wrong with importing `name` in the file at `path`, relative to the repository; None for nothing."""
    first, _, rest = name.partition(".")
    match first:
        case "":
            return "a relative import; write it from memlake"
        case "apache_beam":
            fine = path.parts[0] == "flows" or path.name == "beam.py"
            return None if fine else "Beam belongs into beam.py files and flows/"
        case "prefect":
            return None if path.parts[0] == "flows" else "Prefect belongs into flows/"
        case "tests" | "infra" | "schemas" | "transforms" | "flows" | "sql":
            return (
                f"the product's one name is memlake: from memlake.{name}"
                if first not in ("tests", "infra")
                else "no product"
            )
        case "memlake":
            target = rest.replace(".", "/")
            # A name imported from a module lies in that module's folder.
            here, there = place(path.as_posix()), place(target)
            if here is None or (path.name == "__init__.py" and path.parts[0] == "memlake"):
                return None
            if there is None:
                return "the public module, which is made of this one"
            if there > here:
                return f"{ORDER[there]} comes after {ORDER[here]} in docs/architecture.md"
    return None


def offences(root: Path) -> list[str]:
    """Every breach of the law in the product's files under `root`, as 'path:line: imports NAME: why not'."""
    found = []
    for path in product(root):
        relative = path.relative_to(root)
        for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if why := offence(name, relative):
                found.append(f"{relative}:{line}: imports {name}: {why}")
    return found


def folder_cycles(root: Path) -> list[str]:
    """Pairs of folders that import each other, directly or by way of others, as 'A <-> B'."""
    modules = {path.relative_to(root).with_suffix("").as_posix(): path for path in product(root)}
    graph: dict[str, set[str]] = defaultdict(set)
    for module, path in modules.items():
        for _, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            target = name.removeprefix("memlake.").replace(".", "/")
            hit = next(
                (
                    candidate
                    for candidate in (target, target.rpartition("/")[0], f"{target}/__init__")
                    if candidate in modules
                ),
                "",
            )
            here, there = module.rpartition("/")[0], hit.rpartition("/")[0]
            if there and here != there:
                graph[here].add(there)
    reached = {folder: reach(graph, folder) for folder in list(graph)}
    return [f"{a} <-> {b}" for a in sorted(reached) for b in sorted(reached[a]) if a < b and a in reached.get(b, ())]


def reach(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    left = [start]
    while left:
        new = graph.get(left.pop(), set()) - seen
        seen |= new
        left += new
    return seen


def long_files(root: Path) -> list[str]:
    """Every source file under `root` of more than MAX_LINES lines, tests and SQL too."""
    folders = (root / name for name in (*HOUSES, "sql", "infra", "tests"))
    lengths = {path: len(path.read_bytes().splitlines()) for folder in folders for path in sources(folder, ".sql")}
    return [f"{path.relative_to(root)}: {lines} lines" for path, lines in lengths.items() if lines > MAX_LINES]


def product(root: Path) -> list[Path]:
    return [path for house in HOUSES for path in sources(root / house)]


def sources(where: Path, *more_suffixes: str) -> list[Path]:
    if where.is_file():
        return [where]
    return sorted(path for path in where.rglob("*") if path.suffix in {".py", *more_suffixes})


def test_imports_go_one_way_and_beam_and_prefect_stay_in_their_places():
    assert offences(REPOSITORY) == []


def test_no_two_folders_import_each_other():
    assert folder_cycles(REPOSITORY) == []


def test_no_file_is_over_500_lines():
    assert long_files(REPOSITORY) == []


def test_no_folder_holds_more_than_twenty_files():
    counts = defaultdict(int)
    for path in product(REPOSITORY):
        counts[path.parent.relative_to(REPOSITORY).as_posix()] += path.name != "__init__.py"
    # schemas/ has one file a table.
    assert {folder: count for folder, count in counts.items() if count > 20 and folder != "schemas"} == {}


def test_every_folder_of_the_product_has_its_place():
    folders = {path.parent.relative_to(REPOSITORY).as_posix() for path in product(REPOSITORY)} - {
        "memlake",
        "transforms",
    }
    assert [folder for folder in sorted(folders) if place(folder) is None] == []
    assert [folder for folder in ORDER if not (REPOSITORY / folder).is_dir()] == []


def test_the_check_sees_this_repository():
    assert len(sources(REPOSITORY / "schemas")) > 20
    assert all(sources(REPOSITORY / house) for house in HOUSES)


@pytest.mark.parametrize(
    ("path", "line", "name"),
    [
        ("schemas/a.py", "import memlake.transforms.lake.storage", "memlake.transforms.lake.storage"),
        ("schemas/a.py", "from memlake.flows import x", "memlake.flows.x"),
        ("transforms/read/a.py", "from memlake.flows.run.adapter import step", "memlake.flows.run.adapter.step"),
        ("transforms/read/a.py", "import memlake", "memlake"),
        ("transforms/read/a.py", "from memlake import transforms", "memlake.transforms"),
        ("transforms/base/a.py", "from memlake.transforms.lake.storage.lake import Lake", "memlake.transforms.lake.storage.lake.Lake"),
        ("transforms/lake/storage/a.py", "from memlake.transforms.lake.commit.publish import x", "memlake.transforms.lake.commit.publish.x"),
        ("transforms/retrieve/steps/a.py", "from memlake.transforms.retrieve.plan import Plan", "memlake.transforms.retrieve.plan.Plan"),
        ("transforms/read/a.py", "from memlake.transforms.score.scores import x", "memlake.transforms.score.scores.x"),
        ("flows/run/a.py", "from memlake.flows.ingest import ingest", "memlake.flows.ingest.ingest"),
        ("flows/a.py", "from memlake.flows.cli.main import main", "memlake.flows.cli.main.main"),
        ("flows/a.py", "from transforms.base import ids", "transforms.base.ids"),
        ("transforms/a.py", "from apache_beam import DoFn", "apache_beam.DoFn"),
        ("transforms/a.py", "def f():\n    import apache_beam as beam", "apache_beam"),
        ("transforms/a.py", "import importlib\nimportlib.import_module('apache_beam.io')", "apache_beam.io"),
        ("transforms/embed/beam.py", "import prefect", "prefect"),
        ("transforms/a.py", "from prefect import task", "prefect.task"),
        ("flows/a.py", "from . import b", "."),
        ("flows/a.py", "from tests.conftest import x", "tests.conftest.x"),
        ("memlake/__init__.py", "import apache_beam", "apache_beam"),
    ],
)  # fmt: skip
def test_a_forbidden_import_is_found(tmp_path: Path, path: str, line: str, name: str):
    write(tmp_path / path, line)
    [found] = offences(tmp_path)
    assert found.startswith(f"{path}:{line.count(chr(10)) + 1}: imports {name}: ")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("schemas/a.py", "from memlake.schemas.table import Table\nimport pyarrow"),
        ("transforms/base/a.py", "from memlake.schemas import TURNS\nfrom memlake.transforms.base.ids import new_id"),
        ("transforms/lake/commit/a.py", "from memlake.transforms.lake.storage.lake import Lake"),
        ("transforms/embed/beam.py", "import apache_beam as beam"),
        ("flows/ingest.py", "import apache_beam, prefect\nfrom memlake.flows.run.jobs import StageJob"),
        ("flows/cli/commands/a.py", "from memlake.flows.cli.options import Quiet\nfrom memlake.flows.ingest import ingest"),
        ("memlake/__init__.py", "from memlake.transforms.lake.storage.lake import Lake"),
        ("tests/test_a.py", "import prefect, apache_beam, memlake.flows"),
    ],
)  # fmt: skip
def test_an_allowed_import_passes(tmp_path: Path, path: str, line: str):
    write(tmp_path / path, line)
    assert offences(tmp_path) == []


def test_folders_that_import_each_other_are_found(tmp_path: Path):
    write(tmp_path / "transforms/read/formats/x/a.py", "from memlake.transforms.read.formats.y.b import b")
    write(tmp_path / "transforms/read/formats/y/b.py", "from memlake.transforms.read.formats.z import c")
    write(tmp_path / "transforms/read/formats/z/c.py", "from memlake.transforms.read.formats.x import a")
    x, y, z = (f"transforms/read/formats/{name}" for name in "xyz")
    assert folder_cycles(tmp_path) == [f"{x} <-> {y}", f"{x} <-> {z}", f"{y} <-> {z}"]


@pytest.mark.parametrize("path", ["transforms/a.py", "sql/views/a.sql", "tests/test_a.py", "memlake/__init__.py"])
def test_a_long_file_is_found(tmp_path: Path, path: str):
    write(tmp_path / path, "\n" * MAX_LINES)
    assert long_files(tmp_path) == []
    write(tmp_path / path, "\n" * (MAX_LINES + 1))
    assert long_files(tmp_path) == [f"{path}: {MAX_LINES + 1} lines"]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
