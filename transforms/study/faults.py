"""What is wrong with a study's file: every fault at once, each with its line, what was wrong and what is allowed."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from memlake.transforms.base.errors import NotFoundError, Problem, UsageError
from memlake.transforms.study.fields import HINT
from memlake.transforms.study.file import StudyFile
from memlake.transforms.study.lines import Path, toml_lines

# What a table or a list that is none of these should have been.
_SHAPES = {"tuple_type": "a list of tables is"} | dict.fromkeys(
    ("model_type", "model_attributes_type", "dataclass_type", "dict_type"), "a table is"
)
# The sections whose tables say their names, and those whose tables are of several kinds.
_NAMED, _OF_KINDS = {"cells": "cell", "corpora": "corpus", "comparisons": "comparison"}, ("readers", "judges")


def fault_error(source: str, text: str, faults: Sequence[Problem]) -> UsageError:
    """The error that says all of them, by line: NotFoundError where nothing is wrong but names that do not exist."""
    lines = toml_lines(text)
    # A key that is missing has the line of its section, and none at the top of the file.
    placed = sorted(
        (max((lines.get(fault.path[:end], 0) for end in range(len(fault.path) + 1)), default=0), place, fault)
        for place, fault in enumerate(faults)
    )
    where = f"study={source!r}"
    said = [f"line {line}: {fault.message}" if line else fault.message for line, _, fault in placed]
    if len(faults) == 1:
        message = f"{where} {said[0]}" if placed[0][0] else f"{where}: {said[0]}"
    else:
        message = "\n- ".join([f"{where} has {len(faults)} faults:", *said])
    kind = NotFoundError if all(fault.code == NotFoundError.code for fault in faults) else UsageError
    return kind(message, hint=(len(faults) == 1 and faults[0].hint) or HINT)


def section_faults(error: ValidationError, tables: Mapping[str, Any]) -> list[Problem]:
    """The faults of sections and their keys, as the models find them in the file's tables."""
    return [_fault(found, tables) for found in error.errors(include_url=False)]


def _fault(found: ErrorDetails, tables: Mapping[str, Any]) -> Problem:
    path, said = found["loc"], found.get("ctx", {})
    if path[0] in _OF_KINDS and len(path) > 2 and path[2] != "[key]":
        path = (*path[:2], *path[3:])  # without the kind, which is no key of the file
    words, value = said.get("words", ""), found["input"]
    end = next((place for place in reversed(range(len(path))) if isinstance(path[place], str)), 0)
    section, key = path[:end], path[end]
    match found["type"]:
        case "refused":
            section, text = section[:1] if key == "[key]" else section, words
        case "section":
            section, text = path, words
        case "missing":
            text = f"key={key!r} is missing"
        case "extra_forbidden":
            text = _unknown(str(key), _keys(found["loc"][:-1]))
        case "absent":
            text = f"{key}={value!r} does not exist: {words}"
        case "union_tag_not_found":
            section, text = path, "key='kind' is missing"
        case "union_tag_invalid":
            section, text = path, f"kind={value['kind']!r}: {_options(said['expected_tags'])} are allowed"
        case "literal_error":
            text = f"{key}={value!r}: {_options(said['expected'])} are allowed"
        case shape:
            key = " ".join([str(key), *(str(int(place) + 1) for place in path[end + 1 :])])
            text = f"{key}={value!r}: {words or f'{_SHAPES[shape]} allowed'}"
    where = _where(section, tables)
    text = f"{where}: {text}" if where else text
    return Problem(path, text, said.get("code", UsageError.code), said.get("hint", ""))


def _where(section: Path, tables: Mapping[str, Any]) -> str:
    """A section as people name it: "cell='chunks' cutoffs", 'gates 1', 'readers.plain', '' for the top of the file."""
    if len(section) < 2:
        return "".join(map(str, section))
    name, place, *inner = section
    if isinstance(place, str):
        where = f"{name}.{place}"
    elif name in _NAMED and isinstance(own := tables[name][place].get("name"), str):
        where = f"{_NAMED[name]}={own!r}"
    else:
        where = f"{name} {place + 1}"
    return " ".join([where, *map(str, inner)])


def _options(expected: str) -> str:
    return expected.replace("'", "").replace(" or ", ", ")


def _unknown(key: str, allowed: Sequence[str]) -> str:
    near = get_close_matches(key, allowed, n=1)
    return f"key={key!r} is unknown: {f'nearest is {near[0]}; ' if near else ''}allowed are {', '.join(allowed)}"


def _keys(section: Path) -> list[str]:
    """The keys that a section may have, by the schema of the file."""
    schema: Mapping[str, Any] = StudyFile.model_json_schema()
    definitions, here = schema["$defs"], schema
    for step in section:
        here = _resolved(here, definitions)
        here = (
            here.get("properties", {}).get(step)
            or here.get("items")
            or here.get("additionalProperties")
            or {"$ref": here["discriminator"]["mapping"][step]}
        )
    return list(_resolved(here, definitions)["properties"])


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema itself, not one that refers to it, nor one that it or nothing may be."""
    schema = schema["anyOf"][0] if "anyOf" in schema else schema
    return definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
