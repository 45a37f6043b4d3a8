"""The studies that come with memlake, by name; any other by its path."""

from importlib import resources
from pathlib import Path

from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.study.parse import parse_study
from memlake.transforms.study.study import Study


def find_study(name: str) -> Study:
    """A study by path, or by its name among those that come with memlake.

    Raises:
        NotFoundError: there is none; says which there are.
        UsageError: it is no TOML, or not a study.
    """
    return parse_study(study_text(name), source=str(study_path(name)))


def study_text(name: str) -> str:
    """The text of a study's file.

    Raises:
        NotFoundError: there is none.
        UsageError: it is no UTF-8 text.
    """
    path = study_path(name)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFoundError(f"study={str(path)!r} cannot be read: {error.strerror}", hint="memlake study ls") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"study={str(path)!r} is not UTF-8 text: {error}", hint="save it as UTF-8") from error


def study_path(name: str) -> Path:
    """Where a study stands: the path itself, or that of one that comes with memlake.

    Raises:
        NotFoundError: none of those that come with memlake is named so.
    """
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    if name not in study_names():
        raise NotFoundError(
            f"study={name!r} is unknown; there are: {', '.join(study_names())}", hint="memlake study ls, or a path"
        )
    return Path(str(resources.files("memlake").joinpath("flows", "studies", f"{name}.toml")))


def study_names() -> list[str]:
    """The studies that come with memlake."""
    folder = resources.files("memlake").joinpath("flows", "studies")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
