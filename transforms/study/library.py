"""The studies that come with memlake, by name; any other by its path."""

from importlib import resources
from pathlib import Path

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.study.parse import read_study
from memlake.transforms.study.study import Study


def find_study(name: str) -> Study:
    """A study by path, or by its name among those that come with memlake.

    Raises:
        NotFoundError: there is none; says which there are.
    """
    return read_study(study_path(name))


def study_path(name: str) -> Path:
    """Where a study stands: the path itself, or that of one that comes with memlake.

    Raises:
        NotFoundError: none of those that come with memlake is named so.
    """
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    path = Path(str(resources.files("memlake").joinpath("flows", "studies", f"{name}.toml")))
    if not path.is_file():
        raise NotFoundError(
            f"study={name!r} is unknown; there are: {', '.join(study_names())}", hint="memlake study ls, or a path"
        )
    return path


def study_names() -> list[str]:
    """The studies that come with memlake."""
    folder = resources.files("memlake").joinpath("flows", "studies")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
