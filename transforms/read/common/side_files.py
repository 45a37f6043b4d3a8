"""Benchmarks of several files: names out of a source's path, and the files that stand beside it."""

from collections.abc import Iterable
from urllib.parse import unquote

from memlake.transforms.base.sources import open_uri


def stem_of(uri: str) -> str:
    """The file's name without its last suffix."""
    name = _names(uri)[-1]
    return name.rpartition(".")[0] or name


def folders_of(uri: str) -> list[str]:
    """The names of the folders that the file stands in, outermost first; [] for a bare name."""
    return [name for name in _names(uri)[:-1] if name]


def beside(uri: str, path: str, up: int = 0) -> str:
    """The URI of a path in the file's own folder, or in the one that many folders above it."""
    kept = uri.split("/")[: -1 - up]
    return "/".join([*kept, path])


def first_readable(uris: Iterable[str]) -> str | None:
    """The first of these that can be opened; None when not one can."""
    for uri in uris:
        try:
            with open_uri(uri):
                return uri
        except OSError:
            continue
    return None


def _names(uri: str) -> list[str]:
    scheme, mark, path = uri.partition("://")
    if not mark:
        return uri.split("/")
    # Only of a file:// URI is it known that its names are escaped.
    return (unquote(path, errors="replace") if scheme == "file" else path).split("/")
