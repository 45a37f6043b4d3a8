"""The .sql files of the package: found, never built."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from graphlib import TopologicalSorter
from importlib import resources

from memlake.transforms.base.errors import NotFoundError

_READS = re.compile(r"^-- reads: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SqlFile:
    """One file under sql/: its name without the suffix, and its text."""

    name: str
    text: str

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations that the header says it reads."""
        return tuple(name for line in _READS.findall(self.text) for name in line.split(", "))


def sql_files(folder: str) -> list[SqlFile]:
    """Every file of a folder of sql/, each after those of the same folder that it reads, else by name."""
    found = [
        entry for entry in resources.files("memlake").joinpath("sql", folder).iterdir() if entry.name.endswith(".sql")
    ]
    files = {
        entry.name.removesuffix(".sql"): SqlFile(entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
        for entry in sorted(found, key=lambda entry: entry.name)
    }
    before = {name: [read for read in file.reads if read in files and read != name] for name, file in files.items()}
    return [files[name] for name in TopologicalSorter(before).static_order()]


def sql_file(folder: str, name: str) -> SqlFile:
    """One file of a folder of sql/.

    Raises:
        NotFoundError: there is none of that name; says which are near.
    """
    files = {file.name: file for file in sql_files(folder)}
    if name in files:
        return files[name]
    nearest = ", ".join(get_close_matches(name, files, cutoff=0.3)) or ", ".join(files)
    raise NotFoundError(
        f"{folder}={name!r} is unknown; there are: {nearest}", hint=f"memlake sql --file {min(files, default='')}"
    )
