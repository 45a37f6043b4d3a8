"""Types of settings that people write in files, each with the words that refuse a wrong value."""

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from memlake.transforms.base.errors import Problem, UsageError


def allowed(words: str) -> WrapValidator:
    """Refuse what a type's other checks refuse, in these words."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise PydanticCustomError("not_allowed", "{words}", {"words": f"{words} allowed"}) from None

    return WrapValidator(check)


def checked(check: Callable[[str], object]) -> AfterValidator:
    """Refuse a name that a function refuses, in the words of its UsageError."""

    def after(name: str) -> str:
        try:
            check(name)
        except UsageError as error:
            kind: Any = error.code
            raise PydanticCustomError(kind, "{words}", {"words": error.message}) from error
        return name

    return AfterValidator(after)


def _whole(value: Any) -> Any:
    """A whole number that is written as 2.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _each_once(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) < len(values):
        raise PydanticCustomError("not_allowed", "a text comes twice")
    return values


Text = Annotated[str, Field(pattern=r"\S"), allowed("a text is")]
Texts = Annotated[
    tuple[Text, ...], Field(strict=False), AfterValidator(_each_once), allowed("a list of texts, each once, is")
]
Count = Annotated[int, Field(ge=1, lt=2**31), BeforeValidator(_whole), allowed("a whole number, 1 or more, is")]
CountOrNone = Annotated[int, Field(ge=0, lt=2**31), BeforeValidator(_whole), allowed("a whole number, 0 or more, is")]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False), allowed("a number, 0 or more, is")]


def problem_of(error: ErrorDetails, keys: Collection[str]) -> Problem:
    """What pydantic found wrong, in the words of this project.

    Args:
        keys: those that may stand where the error is, for one that may not.
    """
    path = error["loc"]
    key, value, words = path[-1] if path else "", error["input"], error["msg"]
    match error["type"]:
        case "extra_forbidden":
            near = get_close_matches(str(key), keys, n=1)
            words = f"setting={key!r} is unknown: allowed are {', '.join(sorted(keys)) or 'none'}"
            words += f"; did you mean {near[0]!r}?" if near else ""
        case "missing":
            words = f"setting={key!r} is missing"
        case "literal_error":
            options = error["ctx"]["expected"].replace(" or ", ", ").replace("'", "")
            words = f"{key}={value!r}: allowed are {options}"
        case "bool_type":
            words = f"{key}={value!r}: true or false is allowed"
        case "not_allowed":
            words = f"{key}={value!r}: {words}"
    return Problem(path, words, "not_found" if error["type"] == "not_found" else "usage")
