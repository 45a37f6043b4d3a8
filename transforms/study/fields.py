"""Types of the values that a study's file holds, each with the words that refuse another."""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from memlake.schemas.metrics import METRICS
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.fields import allowed, checked
from memlake.transforms.base.ids import check_name
from memlake.transforms.llm.prompting import prompt
from memlake.transforms.retrieve.plan import PLANS
from memlake.transforms.text.tokenisers import find_tokeniser

HINT = "mend the file; flows/studies has examples"


def declared(info: ValidationInfo, section: str) -> Sequence[str]:
    """The names that a section of the file declares; none where no file is read."""
    return (info.context or {}).get(section, ())


def declared_in(section: str, *built_in: str) -> AfterValidator:
    """Refuse a name that a section of the file does not declare, and that is not built in."""

    def check(name: str, info: ValidationInfo) -> str:
        there = declared(info, section)
        if name in (*there, *built_in) or not info.context:
            return name
        own = ", ".join(there) or "none"
        said: dict[str, object] = {"words": f"there are {own}"}
        if built_in:
            words = f"declared are {own}, built in are {', '.join(built_in)}"
            said = {"words": words, "hint": f"add [{section}.{name}] to the study", "code": NotFoundError.code}
        raise PydanticCustomError("absent", "{words}", said)

    return AfterValidator(check)


def _ascending(values: tuple[int, ...]) -> tuple[int, ...]:
    if list(values) != sorted(set(values)):
        raise ValueError
    return values


def _each_once(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(values) != len(set(values)):
        raise ValueError
    return values


def _check_metric(name: str) -> None:
    if name not in METRICS:
        near = ", ".join(get_close_matches(name, METRICS, cutoff=0.4)) or ", ".join(METRICS)
        raise UsageError(f"metric={name!r} does not exist; nearest: {near}", hint="mend the file")


def _named(what: str) -> AfterValidator:
    return checked(partial(check_name, what))


Plain = Annotated[str, Field(strict=True, min_length=1)]
Text = Annotated[Plain, allowed("a text is")]
Texts = Annotated[tuple[Plain, ...], allowed("a list of texts is")]
Representations = Annotated[
    tuple[Annotated[Plain, _named("representation")], ...],
    Field(min_length=1),
    AfterValidator(_each_once),
    allowed("a list of texts, one or more, each once, is"),
]
OfCells = Annotated[Plain, declared_in("cells"), allowed("a text is")]
OfCorpora = Annotated[Plain, declared_in("corpora"), allowed("a text is")]
OfReaders = Annotated[Plain, declared_in("readers"), allowed("a text is")]
OfJudges = Annotated[Plain, declared_in("judges"), allowed("a text is")]
OfPlans = Annotated[Plain, declared_in("plans", *PLANS), allowed("a text is")]
OfComparisons = Annotated[Plain, declared_in("comparisons"), allowed("a text is")]
SomeCells = Annotated[tuple[OfCells, ...], allowed("a list of texts is")]
SomeCorpora = Annotated[tuple[OfCorpora, ...], allowed("a list of texts is")]
StudyName = Annotated[Text, _named("study")]
CorpusName = Annotated[Text, _named("corpus")]
CellName = Annotated[Text, _named("cell")]
PlanName = Annotated[Text, _named("plan")]
ReaderName = Annotated[Text, _named("reader")]
JudgeName = Annotated[Text, _named("judge")]
PromptName = Annotated[Text, checked(prompt)]
TokeniserName = Annotated[Text, checked(find_tokeniser)]
MetricName = Annotated[Text, checked(_check_metric), Field(json_schema_extra={"enum": list(METRICS)})]

_Whole = Annotated[int, Field(strict=True)]
Count = Annotated[_Whole, Field(ge=1), allowed("a whole number, 1 or more, is")]
CountOrNone = Annotated[_Whole, Field(ge=0), allowed("a whole number, 0 or more, is")]
Counts = Annotated[
    tuple[Annotated[_Whole, Field(ge=1)], ...],
    AfterValidator(_ascending),
    allowed("an ascending list of whole numbers, 1 or more, each once, is"),
]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False), allowed("a number is")]
Tolerance = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False), allowed("a number, 0 or more, is")]
Truth = Annotated[bool, Field(strict=True), allowed("true or false is")]
