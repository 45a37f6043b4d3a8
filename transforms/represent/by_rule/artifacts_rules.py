"""artifacts_rules: typed memories without a model: the sentences that a table of patterns knows, each under its speaker.

A unit is a slice (`SPEAKER: sentence`), so its quote is exact by construction; its kind is decision, todo, reminder,
preference, event, person_attribute, relationship or key_fact: the first in the table of artifact_patterns.py that holds. The
patterns are English; sentences of other languages match none. With `ner=MODEL@VERSION` units also name their entities, and a
statement that no pattern knows but that names some, other than people, is a key_fact.
"""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa

from memlake.transforms.represent.by_rule.artifact_patterns import kinds_of
from memlake.transforms.represent.by_rule.named_entities import NO_NER, Entity, check_ner, entities_of
from memlake.transforms.represent.common.representation import Representation, RepresentationSpec, Units
from memlake.transforms.represent.common.units import slice_texts, with_columns
from memlake.transforms.text.canonical import transcript_of
from memlake.transforms.text.sentences import sentence_spans

Found = tuple[int, int, list[str], list[Entity]]
# Labels of people: 'Hi Ana!' names one and tells nothing.
_PEOPLE = ("PERSON", "PER")


def build_artifacts_rules(spec: RepresentationSpec, turns: pa.Table) -> Units:
    """Make a unit of each sentence that a rule matches; its lead is the date header and `speaker: `.

    Its attributes are `quote` (the sentence), `kinds` (of all rules that hold), `grounded` and `grounding` as of other
    artifacts, and with a model `entities`.
    """
    ner = str(spec.settings["ner"])
    transcript = transcript_of(turns)
    texts = transcript.turns["text"].to_pylist()
    found = [(turn, *artifact) for turn, text in enumerate(texts) for artifact in _artifacts(text, ner)]
    turn = np.array([turn for turn, *_ in found], np.int64)
    spans = [(start, end) for _, start, end, *_ in found]
    made = slice_texts(spec, transcript, kind="", turn=turn, spans=spans)
    kinds = [kinds[0] for *_, kinds, _ in found]
    attributes = [_attributes(texts[at][a:b], kinds, entities, ner) for at, a, b, kinds, entities in found]
    units = with_columns(made.units, kind=pa.array(kinds, pa.string()), attributes=pa.array(attributes, pa.string()))
    return replace(made, units=units)


def _artifacts(text: str, ner: str) -> list[Found]:
    """Of each sentence of a turn that is one: its span in the text, its kinds, its entities."""
    found = []
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        kinds = kinds_of(sentence)
        entities = entities_of(sentence, ner) if ner != NO_NER else []
        if (
            not kinds
            and any(entity.label not in _PEOPLE for entity in entities)
            and not sentence.rstrip("\"'”’)]").endswith("?")
        ):
            kinds = ["key_fact"]
        if kinds:
            found.append((start, end, kinds, entities))
    return found


def _attributes(quote: str, kinds: list[str], entities: list[Entity], ner: str) -> str:
    held: dict[str, object] = {"quote": quote, "kinds": kinds, "grounded": True, "grounding": "exact"}
    if ner != NO_NER:
        held["entities"] = [{"text": entity.text, "label": entity.label} for entity in entities]
    return json.dumps(held, sort_keys=True, ensure_ascii=False)


ARTIFACTS_RULES = Representation(
    "artifacts_rules",
    build_artifacts_rules,
    {"ner": NO_NER},
    check=lambda settings: check_ner(str(settings["ner"])),
)
