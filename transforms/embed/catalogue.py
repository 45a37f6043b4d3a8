"""The embedders there are, by name."""

from collections.abc import Callable
from difflib import get_close_matches
from threading import Lock

from transforms.embed.embedder import Embedder
from transforms.embed.static import load_static
from transforms.errors import NotFoundError

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "static": load_static,
}
_loaded: dict[str, Embedder] = {}
_loading = Lock()


def load(name: str) -> Embedder:
    """Load an embedder by name, once a process whatever its number of threads.

    Raises:
        NotFoundError: there is none of that name, or what it needs is not installed.
    """
    if name not in EMBEDDERS:
        near = get_close_matches(name, EMBEDDERS, n=3, cutoff=0.4)
        raise NotFoundError(
            f"no embedder is named {name!r}: {', '.join(EMBEDDERS)}",
            hint=f"did you mean {' or '.join(near)}?" if near else "memlake embed --help",
        )
    with _loading:
        if name not in _loaded:
            _loaded[name] = EMBEDDERS[name]()
        return _loaded[name]
