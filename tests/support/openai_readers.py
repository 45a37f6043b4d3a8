"""What a test server's model says as reader and as judge, by rule: of anything else it does what openai_replies does.

A reader's message has a block `evidence` and a block `question`; a judge's has a block `judged`. The reader gives the first
sentence of the line that shares most words with the question, the judge goes by the words that answers share.
"""

import json
import re
from typing import Any

from openai_replies import Body, artifacts

ABSTENTION = "No information available."
ABSTAINS = ("no information", "not mentioned", "cannot be")
_BLOCK = re.compile(r"^<(evidence|question|judged)-([0-9a-f]{16})>\n(.*?)\n?^</\1-\2>$", re.MULTILINE | re.DOTALL)
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "did",
        "do",
        "does",
        "has",
        "in",
        "is",
        "of",
        "the",
        "to",
        "was",
        "what",
        "when",
        "where",
        "who",
    ]
)


def says(body: Body) -> str:
    """A reader's answer, a judge's verdict, or what an extractor finds."""
    text = str(body["messages"][-1]["content"])
    blocks = {name: _lines(lines) for name, _, lines in _BLOCK.findall(text)}
    if "judged" in blocks:
        known: dict[str, Any] = {}
        for line in blocks["judged"]:
            known |= line
        return _verdict(known, strict="CORRECT or INCORRECT" in text)
    if "question" in blocks:
        return _answer(blocks.get("evidence", []), blocks["question"])
    return artifacts(body)


def _answer(evidence: list[str], question: list[dict[str, str]]) -> str:
    asked = _words(question[0]["question"])
    best = max(evidence, key=lambda line: len(asked & _words(line)), default="")
    if not asked & _words(best):
        return ABSTENTION
    options = question[1:]
    if options:
        return max(options, key=lambda option: len(_words(option["text"]) & _words(best)))["option"]
    return re.split(r"(?<=[.!?]) ", re.sub(r"^\[[^\]]*\] ", "", best))[0]


def _verdict(known: dict[str, Any], *, strict: bool) -> str:
    gold, said = known.get("right_answer", known.get("rubric")), str(known["answer"])
    if gold is None:
        right = any(sign in said.lower() for sign in ABSTAINS)
    else:
        golds = gold if isinstance(gold, list) else [gold]
        right = any(_words(gold) and 2 * len(_words(gold) & _words(said)) > len(_words(gold)) for gold in golds)
    return ("INCORRECT", "CORRECT")[right] if strict else ("no", "yes")[right]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower())) - _STOP


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.split("\n") if line]
