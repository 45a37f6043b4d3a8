"""The storage of a lake stands behind one folder: nothing else of the lake's code touches what its paths name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from memlake.transforms.lake.storage.place import (
    is_parquet,
    listed,
    put_aside,
    read_parquet,
    remove,
    row_count,
    size_of,
    write_parquet,
)

REPOSITORY = Path(__file__).parents[3]
# statement.py writes the file that a user names with --out; the files that users bring are read in formats/.
PLACES = ("transforms/lake/stage", "transforms/lake/query", "transforms/lake/commit", "transforms/read")
OTHERS = ("transforms/lake/query/statement.py", "transforms/read/formats/", "transforms/read/common/")
TOUCHING = {
    *("stat", "exists", "is_file", "is_dir", "glob", "rglob", "iterdir", "mkdir", "touch", "unlink", "rmdir", "rename"),
    *("read_text", "read_bytes", "write_text", "write_bytes", "rmtree", "symlink_to", "hardlink_to", "link"),
    *("read_table", "read_metadata", "ParquetFile"),
}
LIBRARIES = {"shutil", "pyarrow.parquet", "fcntl"}
# Names of a library's types are no touch.
TYPES = {"pyarrow.parquet.ParquetWriter"}


def touches(root: Path) -> Iterator[str]:
    """Where a file other than those of storage/ touches the file system, as 'path:line: what'."""
    for path in sorted(path for place in PLACES for path in (root / place).rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith(OTHERS):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr=attribute)) if attribute in TOUCHING:
                    yield f"{name}:{node.lineno}: .{attribute}()"
                case ast.Call(func=ast.Name(id="open")):
                    yield f"{name}:{node.lineno}: open()"
                case ast.Import(names=names):
                    yield from (f"{name}:{node.lineno}: {alias.name}" for alias in names if alias.name in LIBRARIES)
                case ast.ImportFrom(module=str(module), names=names) if module in LIBRARIES:
                    yield from (
                        f"{name}:{node.lineno}: {module}" for alias in names if f"{module}.{alias.name}" not in TYPES
                    )


def test_nothing_but_storage_touches_a_lakes_files():
    assert list(touches(REPOSITORY)) == []


@pytest.mark.parametrize(
    "line",
    ["path.unlink(missing_ok=True)", "import shutil", "rows = pq.read_table(path)", "from pyarrow.parquet import read_table", "open(path)"],
)  # fmt: skip
def test_a_touch_elsewhere_is_found(tmp_path: Path, line: str):
    path = tmp_path / "transforms/lake/stage/a.py"
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert len(list(touches(tmp_path))) == 1


def test_a_file_is_written_found_measured_and_gone(tmp_path: Path):
    rows, path = pa.table({"a": [1, 2]}), tmp_path / "a.parquet"
    assert (size_of(path), is_parquet(path), listed(tmp_path / "no folder", "*")) == (None, False, [])
    with write_parquet(path, rows.schema) as writer:
        writer.write_table(rows)
    assert (size_of(path), row_count(path), listed(tmp_path, "*.parquet")) == (path.stat().st_size, 2, [path])
    assert read_parquet([path, path], columns=["a"]).to_pydict() == {"a": [1, 2, 1, 2]}
    assert read_parquet([], schema=rows.schema).num_rows == 0
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_parquet(path)
    put_aside(path, "b.parquet")
    remove(path, tmp_path / "b.parquet")
    assert listed(tmp_path, "*") == []
