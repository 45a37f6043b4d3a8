"""PrefEval: a preference, chat about other things, then a question that only somebody who remembers it answers well.

A row of a topic's file is a conversation TOPIC-FORM-ROW, for preference texts repeat and differ by a word between the forms.
The form is known by structure and is the question's category:

- explicit {preference, question}: the user says the preference; that turn is gold.
- choice-based (+ implicit_query, conversation {query, assistant_options, user_selection, assistant_acknowledgment}): the
  preference shows in what the user picks; user_selection is gold.
- persona-driven (+ persona, conversation {"0": {user, assistant}, ...}): it shows in passing in one of the user's turns, and
  the source does not say in which, so all of the user's turns there are gold and `evidence_grain` is 'conversation', not
  'turn': whether any of them is found means something, the share of them that is found does not.

After these come EXCHANGES exchanges from filtered_inter_turns.json, the same in every conversation, as the benchmark does it:
ten is the setting of its main table, and it takes the file's first messages in order (the other setting is 300). The options
are those of mcq_options/TOPIC.json, where the right one always stands first: they are shuffled by topic and row, alike in
all forms, and `right_option` keeps its place. Both files are looked for in the folders above the row's; by themselves they
hold nothing to store (`side_file`).
"""

from collections.abc import Iterator
from typing import Any

from memlake.transforms.base.conversation import Conversation, DeadLetter, Question, ReadOptions, Source
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_items import read_items
from memlake.transforms.read.common.reader import Reader
from memlake.transforms.read.common.side_files import stem_of
from memlake.transforms.read.formats.prefeval.files import FILLERS, Beside, files_beside
from memlake.transforms.text.clean import listed

EXCHANGES = 10

_SIDE = ("options", "fillers")
_KEPT = ("preference", "explanation", "persona", "aligned_op")
# Of the choice-based form: key, role, whether the preference shows there.
_CHOICE = (
    ("query", "user", False),
    ("assistant_options", "assistant", False),
    ("user_selection", "user", True),
    ("assistant_acknowledgment", "assistant", False),
)


def _read(source: Source, options: ReadOptions) -> Iterator[Conversation | DeadLetter]:  # noqa: ARG001
    """Yield one conversation a row; the files beside it are read once."""
    topic = stem_of(source.uri)
    files: Beside | None = None
    for item in read_items(source.uri):
        if isinstance(item, DeadLetter):
            yield item
            continue
        form = _form_of(item.value)
        if form in _SIDE and not item.index:
            yield _side_file(form, topic, source.uri)
            return
        if form is None or form in _SIDE or not isinstance(item.value, dict):
            error = "a row is not an object with a preference and a question in a form that is known"
            yield DeadLetter("malformed_record", error, source.uri, item.index, "conversation")
            continue
        if files is None:
            files = files_beside(source.uri, topic, EXCHANGES)
            yield from files.letters
        yield from _conversation(item.value, form, item.index or 0, topic, files, source.uri)


READER = Reader(
    name="prefeval",
    revision=1,
    layout="file",
    read=_read,
    items=({"preference": ..., "question": ...}, {"conversation": [], "conversation_id": ..., "turn": ...}),
)


def _conversation(
    row: dict[str, Any], form: str, number: int, topic: str, files: Beside, uri: str
) -> Iterator[Conversation | DeadLetter]:
    name = f"{topic}-{form}-{number}"
    draft = Draft(uri, number, format_name=READER.name, name=name)
    gold = _add_turns(row, form, draft)
    made = None
    if draft.columns.text:
        for role, text in files.fillers:
            draft.columns.add(text, speaker=role, role=role)
        made = draft.finish()
    else:
        error = f"{draft} says no preference: nothing of it is stored"
        draft.report("empty_conversation", error, "conversation")
    if made is not None and draft.is_text(row.get("question"), f"the question of {name!r}", "question"):
        # Turns without ids of their own are named by their places.
        question = _question(row, form, number, topic, files, [made.turn_id[place] for place in gold], name)
        made.questions = [question]
        if files.options and not question.options:
            error = f"mcq_options has no options in row {number} for the question of {name!r}"
            draft.report("options_missing", error, "question", "kept")
    yield from draft.items(made)


def _form_of(row: object) -> str | None:
    if not isinstance(row, dict):
        return None
    if isinstance(row.get("conversation"), list) and {"conversation_id", "turn"} <= row.keys():
        return "fillers"
    if not {"preference", "question"} <= row.keys():
        return None
    if "classification_task_options" in row:
        return "options"
    if "persona" in row:
        return "persona-driven"
    return "choice-based" if "implicit_query" in row or "conversation" in row else "explicit"


def _side_file(form: str, topic: str, uri: str) -> DeadLetter:
    if form == "fillers" and f"{topic}.json" != FILLERS:
        error = f"chats without a reader: the chats that PrefEval puts in between are called {FILLERS}"
        return DeadLetter("side_file", error, uri, None, "file")
    error = f"no transcript: the {form} are read with the preferences that they belong to"
    return DeadLetter("side_file", error, uri, None, "file", "skipped")


def _add_turns(row: dict[str, Any], form: str, draft: Draft) -> list[int]:
    """Add the turns in which the preference is said; return the places of those that are gold."""
    gold: list[int] = []
    for what, text, role, shows in _messages(row, form):
        if not draft.is_text(text, f"{what} of {draft.name!r}"):
            continue
        if shows:
            gold.append(len(draft.columns.text))
        draft.columns.add(text, speaker=role, role=role)
    return gold


def _messages(row: dict[str, Any], form: str) -> Iterator[tuple[str, Any, str, bool]]:
    """What is said, by whom, and whether the preference shows in it."""
    if form == "explicit":
        yield "preference", row["preference"], "user", True
        return
    talk = row.get("conversation")
    if not isinstance(talk, dict):
        yield "conversation", talk, "user", False
    elif form == "choice-based":
        for key, role, shows in _CHOICE:
            yield key, talk.get(key), role, shows
    else:
        keys = sorted(talk, key=int) if all(map(str.isdecimal, talk)) else list(talk)
        for key in keys:
            pair = talk[key] if isinstance(talk[key], dict) else {"user": talk[key]}
            for role in ("user", "assistant"):
                # A number that breaks off after the user has no reply to miss.
                if role == "user" or role in pair:
                    yield f"{role} turn {key}", pair.get(role), role, role == "user"


def _question(
    row: dict[str, Any], form: str, number: int, topic: str, files: Beside, gold: list[str], name: str
) -> Question:
    choices = files.choices(topic, number, row["question"])
    attributes = {key: row[key] for key in _KEPT if isinstance(row.get(key), str)}
    grain = "conversation" if form == "persona-driven" else "turn"
    return Question(
        question_id=f"{name}:q0",
        position=0,
        text=row["question"],
        answer=choices.right_text,
        category=form,
        answers=listed(choices.right_text),
        evidence=[(turn_id, turn_id, "valid") for turn_id in gold],
        options=choices.options,
        attributes=attributes | choices.attributes | {"topic": topic, "row": number, "evidence_grain": grain},
    )
