"""The representations there are, by name, and how NAME:KEY=VALUE,... is read as one with all its settings."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches

import pyarrow as pa

from memlake.schemas.table import settings_json
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.ids import check_name, content_id
from memlake.transforms.represent.as_published.chunks_published import CHUNKS_PUBLISHED
from memlake.transforms.represent.as_published.date_windows import DATE_WINDOWS
from memlake.transforms.represent.by_model.artifacts import ARTIFACTS
from memlake.transforms.represent.by_model.asked import PUBLISHED_SETTINGS
from memlake.transforms.represent.by_model.index_keys import FACTS, KEYPHRASES
from memlake.transforms.represent.by_model.propositions import PROPOSITIONS
from memlake.transforms.represent.by_model.rolling_summary import ROLLING_SUMMARY
from memlake.transforms.represent.by_model.summaries import SUMMARIES
from memlake.transforms.represent.by_rule.artifacts_rules import ARTIFACTS_RULES
from memlake.transforms.represent.by_rule.chunks import CHUNKS
from memlake.transforms.represent.by_rule.rule_summary import RULE_SUMMARY
from memlake.transforms.represent.by_rule.slices import SENTENCES, SESSIONS, TURNS
from memlake.transforms.represent.common.representation import (
    Asking,
    Representation,
    RepresentationSpec,
    Settings,
    Units,
)

_ALL = (
    CHUNKS, TURNS, SESSIONS, SENTENCES, RULE_SUMMARY, ARTIFACTS, ARTIFACTS_RULES, CHUNKS_PUBLISHED, DATE_WINDOWS,
    PROPOSITIONS, SUMMARIES, ROLLING_SUMMARY, KEYPHRASES, FACTS,
)  # fmt: skip
REPRESENTATIONS: dict[str, Representation] = {representation.kind: representation for representation in _ALL}
Setting = int | float | str | bool
# Settings that the run gives, not the name: which model, and whose.
OF_THE_RUN = ("model", "provider")


def spec_of(
    text: str, overrides: Mapping[str, Setting] | None = None, *, model: str = "", provider: str = ""
) -> RepresentationSpec:
    """Fill in the settings of a representation that is asked for as NAME or NAME:KEY=VALUE,KEY=VALUE.

    NAME is a kind (`chunks`), or a kind, '-' and a word of the user's choice (`chunks-o0`). A kind's own name stands for
    its default settings; other settings need another name, so that no table holds units of two settings.

    Args:
        text: as the user wrote it.
        overrides: settings from elsewhere (a study, a flow parameter); they win over those in the text.
        model, provider: of the run, for representations that ask a model and whose text names none.

    Raises:
        NotFoundError: no kind is named so.
        UsageError: an unknown setting, a value of the wrong type or outside what is allowed, a kind's own name with
            other settings than its defaults, or no model for one that asks a model.
    """
    name, _, assignments = text.partition(":")
    check_name("representation", name)
    representation = REPRESENTATIONS[_kind_of(name)]
    kind, defaults = representation.kind, representation.defaults
    chosen = _assigned(text, assignments) | dict(overrides or {})
    for key in chosen:
        if key not in defaults:
            raise UsageError(
                f"{kind} has no setting {key!r}: {_listed(defaults) or 'it has none'}",
                hint=f"for example {kind}-x:{_listed(defaults).partition(',')[0]}" if defaults else f"ask for {kind}",
            )
    settings = {key: _typed(kind, key, chosen.get(key, default), default) for key, default in defaults.items()}
    material: Sequence[str] = ()
    if representation.asking:
        settings["model"] = settings["model"] or model
        settings["provider"] = settings["provider"] or provider
        if not settings["model"]:
            raise UsageError(
                f"representation={name!r} asks a model, and none is named",
                hint="the same command with --model NAME (or MEMLAKE_MODEL, or model in memlake.toml)",
            )
        material = representation.asking.material(settings)
    if representation.check:
        representation.check(settings)
    other = {key: value for key, value in settings.items() if value != defaults[key] and key not in OF_THE_RUN}
    if name == kind and other:
        changes = ",".join(f"{key}={value}" for key, value in other.items())
        raise UsageError(
            f"{kind!r} names the default settings ({_listed(defaults)}); {changes} needs another name",
            hint=f"ask for {kind}-{'-'.join(f'{key}{value}' for key, value in other.items())}:{changes}",
        )
    later = {key for key, value in PUBLISHED_SETTINGS.items() if representation.asking and settings.get(key) == value}
    hashed = {key: value for key, value in settings.items() if key not in later}
    settings_hash = content_id(kind, settings_json(hashed), representation.revision, *material)
    return RepresentationSpec(name, kind, settings, settings_hash, representation.revision)


def represent(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Make units from turns of whole conversations, sorted by (conversation_id, ordinal).

    Raises:
        NotFoundError: the kind is none that is made from turns.
    """
    build = REPRESENTATIONS[_kind_of(spec.kind)].build
    if build is None:
        raise ValueError(f"representation={spec.name!r} asks a model: see `asking`")
    return build(spec, turns)


def asking(spec: RepresentationSpec) -> Asking | None:
    """How a representation is made with a model; None for one that is made by rule."""
    return REPRESENTATIONS[_kind_of(spec.kind)].asking


def asks_model(name: str) -> bool:
    """Whether the kind that a representation's name stands for is made with a model."""
    kind = kind_named(name)
    return kind is not None and REPRESENTATIONS[kind].asking is not None


def kind_named(name: str) -> str | None:
    """The kind that a representation's name stands for: the longest that it is, or starts with before a '-'."""
    kinds = [kind for kind in REPRESENTATIONS if name == kind or name.startswith(f"{kind}-")]
    return max(kinds, key=len, default=None)


def _kind_of(name: str) -> str:
    kind = kind_named(name)
    if kind is None:
        near = get_close_matches(name, REPRESENTATIONS, n=3, cutoff=0.4)
        raise NotFoundError(
            f"no representation is named {name!r}: {', '.join(REPRESENTATIONS)}",
            hint=f"did you mean {' or '.join(near)}?"
            if near
            else "units that a source supplies land when it is ingested",
        )
    return kind


def _assigned(text: str, assignments: str) -> dict[str, Setting]:
    pairs = [assignment.partition("=") for assignment in assignments.split(",")] if assignments else []
    chosen: dict[str, Setting] = {}
    for key, mark, value in pairs:
        if not (key and mark and value) or key in chosen:
            raise UsageError(
                f"representation={text!r} is not NAME:KEY=VALUE,... with each key once",
                hint="for example chunks-o0:overlap=0,size=512",
            )
        chosen[key] = value
    return chosen


def _typed(kind: str, key: str, value: Setting, default: Setting) -> Setting:
    """The value in the default's type; text is read as one."""
    if isinstance(value, str) and isinstance(default, bool):
        value = {"true": True, "false": False}.get(value, value)
    elif isinstance(value, str) and not isinstance(default, str):
        with suppress(ValueError):  # still text, so refused below
            value = type(default)(value)
    if type(value) is not type(default):
        raise UsageError(
            f"{kind} setting {key}={value!r} is not {type(default).__name__}", hint=f"the default is {key}={default}"
        )
    return value


def _listed(settings: Settings) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items())
