"""What a command takes: the fields that its settings mark, and its own parameters."""

import inspect
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import MISSING, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from cyclopts import Parameter

from memlake.flows.run.config import Configuration, load
from memlake.flows.run.settings import LakeSettings
from memlake.transforms.base.setting import Argument, Declared, Option, Setting, declared

if TYPE_CHECKING:
    from memlake.transforms.lake.storage.lake import Lake

R = TypeVar("R")

# Of every command; which of the two is printed is known before the command starts, since errors are printed so too.
_JSON = inspect.Parameter(
    "as_json",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        Parameter(
            name="--json", negative="", show_default=False, help="Print one JSON document on stdout, nothing else."
        ),
    ],
)


def configured(command: Callable[..., R]) -> Callable[..., R]:
    """Let a command take what its settings declare, and hand it the settings with every layer of the configuration.

    --json is every command's. A parameter that is a dataclass of marked fields is replaced by these, where it stands; one
    that is a Configuration gets all values with where they come from.
    """
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    kinds: dict[str, Any] = {name: hint for name, hint in hints.items() if _is_settings(hint)}
    settings = {part.name for kind in kinds.values() for part in declared(kind) if isinstance(part.mark, Setting)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name in kinds:
            parameters += [_parameter(part) for part in declared(kinds[name]) if part.mark.flag is not None]
        elif hints[name] is not Configuration:
            parameters.append(parameter.replace(annotation=_own(hints[name])))
    parameters.append(_JSON)
    parameters.sort(key=lambda parameter: (parameter.kind, parameter.default is not parameter.empty))
    shown = signature.replace(parameters=parameters)

    @wraps(command)
    def with_settings(*args: object, **kwargs: object) -> R:
        given = {name: value for name, value in shown.bind(*args, **kwargs).arguments.items() if value is not None}
        layers = load(**{name: given[name] for name in settings & given.keys()}) if settings else Configuration({}, {})
        made = {name: layers.make(kind, given) for name, kind in kinds.items()}
        whole = {name: layers for name, hint in hints.items() if hint is Configuration}
        taken = {**given, **made, **whole}
        bound = inspect.BoundArguments(
            signature, OrderedDict((name, taken[name]) for name in signature.parameters if name in taken)
        )
        return command(*bound.args, **bound.kwargs)

    vars(with_settings)["__signature__"] = shown
    with_settings.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_settings


def open_for_reading(settings: LakeSettings) -> "Lake":
    """The configured lake, which must exist.

    Raises:
        NotFoundError: there is none at that place.
    """
    from memlake.transforms.lake.storage.lake import open_lake

    return open_lake(settings.lake)


def _is_settings(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint) and bool(declared(hint))


def _parameter(part: Declared) -> inspect.Parameter:
    """A marked field as a parameter: by its place or by its flag; None where it is not given."""
    by_place, required = isinstance(part.mark, Argument), part.default is MISSING
    how = Parameter(
        name=None if by_place else part.mark.flag or f"--{part.name.replace('_', '-')}",
        # The flag that says no, of what may be said yes to, no to, or nothing.
        negative=f"--no-{part.name}" if part.typed == bool | None else "",
        help=_help(part),
    )
    typed: Any = part.typed if required else part.typed | None
    return inspect.Parameter(
        part.name,
        inspect.Parameter.POSITIONAL_ONLY if by_place else inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else None,
        annotation=Annotated[typed, how],
    )


def _own(hint: Any) -> Any:
    """The annotation of a command's own parameter, which may be a mark that settings have too."""
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, Option):
            return Annotated[
                hint.__origin__, Parameter(negative="", show_default=hint.__origin__ is not bool, help=mark.help)
            ]
    return hint


def _help(part: Declared) -> str:
    """What a field is, and what holds where it is not given."""
    values = part.default if isinstance(part.default, tuple) else (part.default,)
    shown = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    if part.default in (MISSING, None, "", ()) or part.default is False:
        return part.mark.help
    return f"{part.mark.help.removesuffix('.')} (default {', '.join(shown)})."
