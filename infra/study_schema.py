"""Rewrite infra/study.schema.json from the models of a study's file, for editors of TOML: `make readme`."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from memlake.transforms.retrieve.plan import AnyStep
from memlake.transforms.study.file import StudyFile

_PLACE = "#/definitions/{model}"
SCHEMA = Path(__file__).parent / "study.schema.json"


def schema_text() -> str:
    """The JSON schema in draft 4, which is what taplo, behind the editors, knows."""
    study = StudyFile.model_json_schema(ref_template=_PLACE)
    step = TypeAdapter(AnyStep).json_schema(ref_template=_PLACE)
    definitions = study.pop("$defs") | step.pop("$defs")
    # A study's file holds steps as they are written, to be checked as a plan; an editor checks each by its kind.
    definitions["PlanSection"]["properties"]["steps"]["items"] = step
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", **_draft_4(study | {"definitions": definitions})}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _draft_4(schema: Any) -> Any:
    """A schema without what came after draft 4, without null, which TOML does not have, and without empty defaults."""
    if isinstance(schema, list):
        return [_draft_4(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if {"type": "null"} in schema.get("anyOf", ()):
        schema = schema["anyOf"][0] | {key: value for key, value in schema.items() if key != "anyOf"}
    if "const" in schema:
        schema = schema | {"enum": [schema["const"]]}
    for end in ("maximum", "minimum"):
        if (limit := schema.get(f"exclusive{end.capitalize()}")) is not None:
            schema = schema | {end: limit, f"exclusive{end.capitalize()}": True}
    dropped = {"const", "discriminator", "title"} | ({"default"} if not schema.get("default", True) else set())
    return {key: _draft_4(value) for key, value in schema.items() if key not in dropped}


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
