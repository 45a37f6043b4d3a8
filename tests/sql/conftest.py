"""A small lake's tables, made by the product's own readers and representations."""

import asyncio
import json
from collections.abc import Callable

import pyarrow as pa
import pytest
from scripted_model import ScriptedModel, item, shown

from memlake.schemas import PARTS, REPRESENTATIONS
from memlake.schemas.table import settings_json
from memlake.transforms.base.conversation import Conversation, Question, Session
from memlake.transforms.llm.protocol.model import Request
from memlake.transforms.read.tabulate import tabulate
from memlake.transforms.represent.by_model.artifacts import ARTIFACTS
from memlake.transforms.represent.catalogue import represent, spec_of

# Line breaks, a NUL, combining marks, characters outside the first plane and a prefix that looks like a speaker's.
TEXTS = [
    "Hello\nworld: again",
    "e\u0301te\u0301 👩‍👩‍👧 家族",
    "a\x00b",
    "  spaces  ",
    "x" * 90,
    "Ann: no",
    "ß",
    "\n",
    "end",
]
MADE = ["chunks-small:size=40,overlap=15", "chunks-o0:size=7,overlap=0", "turns", "sentences", "sessions"]


def _conversation(name: str) -> Conversation:
    made = Conversation(name, "memory:", "test")
    for number, label in enumerate(("1 May, 2023", None, "3 May, 2023")):
        made.sessions.append(Session(f"s{number}", label))
        for place, text in enumerate(TEXTS[number * 3 : number * 3 + 3]):
            made.session.append(number)
            made.turn_id.append(f"D{number}:{place}")
            made.speaker.append("Ann" if place % 2 else "Bob 🙂")
            made.role.append("participant")
            made.kind.append("message")
            made.text.append(text if text.strip() else "blank line\n")
            made.source_chars.append(len(made.text[-1]))
            made.said_at.append(None)
    made.questions.append(
        Question(
            f"{name}:q0", 0, "What?", "again", "1", evidence=[("D0:0", "D0:0", "valid"), ("D9:9", None, "dangling")]
        )
    )
    return made


def _said(request: Request) -> str:
    """Items that are grounded in every way: to the character, folded, across turns, not at all; and one that repeats."""
    turns = shown(request)[1]
    whole = [item(turn, content=f"content {turn['text']}") for turn in turns]
    shouted = [item(turn, content=f"{turn['turn']} loud", quote=turn["text"].upper()) for turn in turns]
    across = item(turns[0], content="across", quote=f"{turns[0]['text']}\n{turns[1]['text']}")
    return json.dumps({"artifacts": [*whole, *shouted, across, item(turns[0], content="none", quote="?"), whole[0]]})


@pytest.fixture(scope="session")
def clean() -> dict[str, pa.Table]:
    """Tables that every audit passes: two conversations under six representations, one of them a model's."""
    tables = tabulate("c", [_conversation("v"), _conversation("w")], 1)
    specs = [spec_of(wish) for wish in MADE]
    units = [represent(spec, tables["turns"]) for spec in specs]
    specs.append(spec_of("artifacts", model="m"))
    units.append(asyncio.run(ARTIFACTS.asking.build(specs[-1], tables["turns"], ScriptedModel(_said))))
    parts = [
        {"corpus": "c", "conversation_id": name, "part": f"units:{spec.name}", "content_hash": "", "rows": 1}
        for spec in specs
        for name in ("v", "w")
    ]
    return tables | {
        "units": pa.concat_tables([made.units for made in units]),
        "provenance": pa.concat_tables([made.provenance for made in units]),
        "extractions": pa.concat_tables([made.extractions for made in units]),
        "parts": pa.concat_tables([tables["parts"], PARTS.rows(parts)]),
        "representations": REPRESENTATIONS.rows(
            [
                {
                    "representation": spec.name,
                    "kind": spec.kind,
                    "settings": settings_json(spec.settings),
                    "settings_hash": spec.settings_hash,
                    "revision": 1,
                    "code_version": "0",
                }
                for spec in specs
            ]
        ),
    }


Change = Callable[[dict[str, object]], dict[str, object] | None]


@pytest.fixture(scope="session")
def changed(clean: dict[str, pa.Table]) -> Callable[[str, Change], dict[str, pa.Table]]:
    """The clean tables with every row of one table passed through a function; None leaves a row out."""

    def tables(name: str, change: Change) -> dict[str, pa.Table]:
        rows = [new for row in clean[name].to_pylist() if (new := change(row)) is not None]
        return clean | {name: pa.Table.from_pylist(rows, schema=clean[name].schema)}

    return tables
