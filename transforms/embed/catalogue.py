"""The embedders there are, by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from threading import Lock
from typing import TYPE_CHECKING

from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.embed.embedder import Embedder, EmbedderCard, Spec, parse_spec
from memlake.transforms.embed.flag import load_flag, load_m3
from memlake.transforms.embed.openai import OpenAIEmbedder, load_openai
from memlake.transforms.embed.sentence import load_sentence
from memlake.transforms.embed.static import load_static

if TYPE_CHECKING:
    from memlake.transforms.llm.edge import EdgeSettings

# Kinds that run in this process. `openai:MODEL`, which asks a server, stands beside them.
EMBEDDERS: dict[str, Callable[[Spec], Embedder]] = {
    "static": lambda _: load_static(),
    "bge-m3": load_m3,
    "bge-m3-multi": load_m3,
    "flag": load_flag,
    "sentence": load_sentence,
}
NAMES = f"{', '.join(EMBEDDERS)} (each but static also as NAME@FOLDER or NAME@HUB_ID#REVISION), openai:MODEL"
# The kind whose models answer over HTTP.
SERVED = "openai"
_loaded: dict[str, Embedder] = {}
_loading = Lock()


def check_embedder(text: str) -> Spec:
    """Read the name of an embedder, without loading anything.

    Raises:
        NotFoundError: there is none of that name.
        UsageError: a checkpoint or an option is not allowed.
    """
    kind, mark, model = text.partition(":")
    if mark and kind == SERVED:
        return Spec(text, kind, model)
    spec = parse_spec(text, ["bge-m3", "flag", "sentence"])
    if spec.kind not in EMBEDDERS:
        near = get_close_matches(spec.kind, [*EMBEDDERS, SERVED], n=3, cutoff=0.4)
        raise NotFoundError(
            f"no embedder is named {text!r}: {NAMES}",
            hint=f"did you mean {' or '.join(near)}?" if near else "memlake embed --help",
        )
    if spec.kind == "static" and text != "static":
        raise UsageError(f"embedder={text!r}: static has one checkpoint and no options", hint="static")
    return spec


def load(name: str, edge: "EdgeSettings | None" = None) -> Embedder:
    """Load an embedder by name, local ones once a process whatever its number of threads.

    One that asks a server is opened anew each time and is to be closed: see `opened`.

    Args:
        edge: the run's server, limits, cache and journal of calls, for openai:MODEL.

    Raises:
        NotFoundError: there is none of that name, or what it needs is not here; the hint is what brings it.
        UsageError: a checkpoint or an option is not allowed, or a server is needed and none is set.
        ModelStoppedError: the server did not embed a first text.
    """
    with _loading:
        if name in _loaded:
            return _loaded[name]
        spec = check_embedder(name)
        if spec.kind != SERVED:
            _loaded[name] = EMBEDDERS[spec.kind](spec)
            return _loaded[name]
    return load_openai(spec, edge)


@contextmanager
def opened(name: str, edge: "EdgeSettings | None" = None) -> Iterator[Embedder]:
    """An embedder for the length of a block; raises what `load` raises."""
    embedder = load(name, edge)
    try:
        yield embedder
    finally:
        if isinstance(embedder, OpenAIEmbedder):
            embedder.close()


def card_of(name: str, edge: "EdgeSettings | None" = None) -> EmbedderCard:
    """The card of an embedder; raises what `load` raises."""
    with opened(name, edge) as embedder:
        return embedder.card


def served_models(*embedders: str) -> list[str]:
    """The models that these embedders ask over HTTP."""
    specs = [check_embedder(embedder) for embedder in embedders if embedder not in ("", "none")]
    return [spec.checkpoint for spec in specs if spec.kind == SERVED]
