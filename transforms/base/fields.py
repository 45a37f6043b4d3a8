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
    """Say of a value that does not fit its type what is allowed; words that refuse a name stand as they are."""

    def check(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            if error.errors()[0]["type"] in ("refused", "absent"):
                raise
            raise PydanticCustomError("not_allowed", "{words}", {"words": f"{words} allowed"}) from error

    return WrapValidator(check)


def checked(check: Callable[[str], object]) -> AfterValidator:
    """Refuse what a function refuses, in its own words; it raises UsageError, NotFoundError where there is no such thing."""

    def checked_by(value: str) -> str:
        try:
            check(value)
        except UsageError as error:
            said = {"words": error.message, "hint": error.hint, "code": error.code}
            raise PydanticCustomError("refused", "{words}", said) from error
        return value

    return AfterValidator(checked_by)


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
    return Problem(path, words, error.get("ctx", {}).get("code", UsageError.code))
