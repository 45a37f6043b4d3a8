"""PersonaMem's questions: rows of a CSV beside the chats, v1 with lettered options, v2 with the right and the wrong answers.

v1 {question_id, question_type, topic, user_question_or_message (or question), correct_answer '(b)', all_options (the text of a
list), shared_context_id, end_index_in_shared_context, ...} names no gold turn. v2 {persona_id, chat_history_32k_link,
user_query (the text of {role, content}), correct_answer, incorrect_answers, pref_type, related_conversation_snippet (the text
of a list of messages), ...} does: the user's messages of the snippet are found in the chat by their whole text; one that
stands nowhere in it is dangling. v2 keeps the right answer apart, so the options are shuffled by the row.
"""

import ast
import json
import re
from dataclasses import dataclass, field
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Question
from memlake.transforms.read.common.arrange import Evidence, evidence_of, qualify
from memlake.transforms.read.common.choices import Choices, shuffled
from memlake.transforms.read.common.draft import Letters
from memlake.transforms.read.common.reader import Mark
from memlake.transforms.read.common.side_files import beside, first_readable, folders_of, stem_of
from memlake.transforms.read.formats.personamem.tables import read_table
from memlake.transforms.text.clean import Parsed, as_answer, as_name, listed, mend, mended_letters

CONTEXT, END = "shared_context_id", "end_index_in_shared_context"
_LINKS = ("chat_history_32k_link", "chat_history_128k_link", "chat_history_link")
# The marks of a table of questions, of either version.
TABLES: tuple[Mark, ...] = ({"question_id": ..., CONTEXT: ..., END: ...}, {"user_query": ..., "|".join(_LINKS): ...})
_SPLITS = ("benchmark", "val", "train")
_LABEL = re.compile(r"\s*\(([a-z])\)\s*", re.ASCII)
_SNIPPET = "related_conversation_snippet"
_LITERALS = ("all_options", "user_query", "incorrect_answers", _SNIPPET)
# Columns that a question has fields of its own for, and those that hold the persona.
_NOT_ATTRIBUTES = frozenset(
    {"question_id", "user_question_or_message", "question", "user_query", "correct_answer", "all_options", "question_type",
     "incorrect_answers", "pref_type", _SNIPPET, "short_persona", "expanded_persona", "raw_persona_file", *_LINKS, CONTEXT, END}
)  # fmt: skip


@dataclass(slots=True)
class Rows:
    """The rows that a source's chats are asked by: of v1 those of all contexts, of v2 those of the one chat."""

    version: int
    rows: list[dict[str, str]] = field(default_factory=list)
    uri: str = ""
    letters: list[DeadLetter] = field(default_factory=list)


def rows_beside(uri: str, version: int) -> Rows:
    """The rows for a file of chats of a version; a kept letter where there are none (`questions_missing`)."""
    if version == 1:
        stem = stem_of(uri).replace("shared_contexts", "questions")
        tables = [beside(uri, f"{stem}.csv"), beside(uri, "questions.csv")]
        found = first_readable(tables)
        if found is None:
            return Rows(1, letters=[_missing(tables[0], uri)])
        table = read_table(found)
        return Rows(1, list(table.rows), found, list(table.letters))
    tables = [beside(uri, f"benchmark/text/{split}.csv", up=2) for split in _SPLITS]
    made = Rows(2)
    name = "/".join([*folders_of(uri)[-1:], uri.rpartition("/")[2]])
    for found in filter(None, (first_readable([table]) for table in tables)):
        table = read_table(found)
        made.uri = found
        made.letters += table.letters
        made.rows += [
            row | {"split": stem_of(found), "row": str(place)}
            for place, row in enumerate(table.rows)
            if any(row.get(link, "").endswith(name) for link in _LINKS)
        ]
    if not made.uri:
        made.letters.append(_missing(tables[0], uri))
    return made


def questions_of(
    asked: list[dict[str, str]], conversation: Conversation, rows: Rows
) -> tuple[list[Question], list[DeadLetter]]:
    """The questions of rows in their order; a row without a question is a dead letter."""
    questions, names, letters = list[Question](), list[str](), Letters(rows.uri)
    for position, row in enumerate(asked):
        letters.position = position
        own = as_name(row.get("question_id")) or f"{row.get('split', 'q')}-{row.get('row', position)}"
        what = f"question {own!r} of conversation {conversation.conversation_id!r}"
        literals = {key: _literal(row[key]) for key in _LITERALS if row.get(key)}
        values = {key: parsed.value for key, parsed in literals.items()}
        mended = [f"{key}{path}" for key, parsed in literals.items() for path in parsed.mended]
        letters.letters += mended_letters(mended, rows.uri, position)
        text = _first(row, "user_question_or_message", "question") if rows.version == 1 else _query(row, values)
        if not letters.is_text(text, what, "question"):
            continue
        choices = _lettered(row, values) if rows.version == 1 else _apart(row, values, f"{own}|{position}")
        if choices.right is None:
            error = f"the options of {what} cannot be read, or none of them is the right one"
            letters.report("options_unreadable", error, "question", "kept")
        names.append(own)
        questions.append(
            Question(
                question_id="",
                position=position,
                text=text,
                answer=choices.right_text,
                category=_first(row, "question_type", "pref_type") or "",
                answers=listed(choices.right_text),
                evidence=_evidence(values.get(_SNIPPET), conversation),
                options=choices.options,
                attributes=choices.attributes
                | {key: row[key] for key in row if key not in _NOT_ATTRIBUTES and row[key]},
            )
        )
    qualify(questions, names, conversation.conversation_id)
    return questions, letters.letters


def table_letter(uri: str) -> DeadLetter:
    """The letter of a table on its own: nothing is lost where its chats are there to be read with it."""
    chats = [beside(uri, f"{stem_of(uri).replace('questions', 'shared_contexts')}.jsonl")]
    table = read_table(uri)
    chats += [beside(uri, row[link], up=2) for row in table.rows[:1] for link in _LINKS if row.get(link)]
    if first_readable(chats) is None:
        error = "questions without their chats: put the chats where the benchmark has them and ingest the folder"
        return DeadLetter("side_file", error, uri, None, "file")
    return DeadLetter(
        "side_file", "no transcript: its questions are read with their chats", uri, None, "file", "skipped"
    )


def _missing(table: str, uri: str) -> DeadLetter:
    error = f"no questions beside the chats: {table} is not there"
    return DeadLetter("questions_missing", error, uri, None, "file", "kept")


def _first(row: dict[str, str], *keys: str) -> str | None:
    return next((row[key] for key in keys if row.get(key)), None)


def _literal(text: str) -> Parsed:
    """A value written as JSON or as Python writes it, lone surrogates mended; None when it is neither."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return Parsed(*mend(parse(text)))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return Parsed(None, [])


def _query(row: dict[str, str], values: dict[str, Any]) -> Any:
    """The content of a query {role, content}; any other query as it stands."""
    query = values.get("user_query")
    return query.get("content") if isinstance(query, dict) else row.get("user_query")


def _lettered(row: dict[str, str], values: dict[str, Any]) -> Choices:
    """Options '(a) TEXT' in the source's order without their labels; the right one is named by its label."""
    texts = _texts(values.get("all_options"))
    labels = [match[1] if (match := _LABEL.match(text)) else None for text in texts]
    right = _LABEL.fullmatch(row.get("correct_answer") or "")
    place = labels.index(right[1]) if right and right[1] in labels else None
    bare = [_LABEL.sub("", text, count=1) if label else text for text, label in zip(texts, labels, strict=True)]
    return Choices(bare, place)


def _apart(row: dict[str, str], values: dict[str, Any], key: str) -> Choices:
    texts = _texts(values.get("incorrect_answers"))
    right = row.get("correct_answer")
    return shuffled([right, *texts], 0, key) if right and texts else Choices()


def _texts(given: object) -> list[str]:
    return [text for item in given if (text := as_answer(item)) is not None] if isinstance(given, list) else []


def _evidence(snippet: Any, conversation: Conversation) -> Evidence:
    """The turns of the user that a snippet repeats, each by its first place in the chat."""
    turns = list(zip(conversation.text, conversation.turn_id, strict=True))
    turn_of = dict(reversed(turns))
    said = [
        (place, item.get("content"))
        for place, item in enumerate(snippet if isinstance(snippet, list) else [])
        if isinstance(item, dict) and item.get("role") == "user"
    ]
    # No turn has an empty id, so what stands nowhere in the chat is dangling.
    named = [(f"snippet-{at}", turn_of.get(text, "") if isinstance(text, str) else "", "valid") for at, text in said]
    return evidence_of(named, conversation.turn_id)
