"""MemBench: what a user tells (third person) or says to an assistant (first person), with multiple-choice questions.

A file nests {task: {subcategory: [{tid, message_list, QA}]}}, to whatever depth, or is the list itself; QA is {question,
answer, target_step_id, choices {A..D}, ground_truth, time}, one or a list of them. Two layouts of message_list:

- flat, third person: {mid, message, time, place} or a bare string; turn 'MID', by its place where there is no mid;
- nested, first person: sessions of {sid, user_message, assistant_message, time, place} (also `user`, `assistant` and
  `agent`); turns 'SESSION:SID:user' and 'SESSION:SID:assistant'. Steps that stand in no session are of session 0.

target_step_id names steps: [mid, ...] or [[sid, session], ...]. A step of the first person is an exchange, and the source
does not say which half holds what is asked for, so both of its turns are gold.

`tid` restarts, so a conversation is STEM-KEYS-tid after the file and the keys above it. The category is the task: the key
above the subcategory, or the file's name where there is one key alone. Flat messages have a session a day, nested ones those
of the source; each is dated by its first time. The place of a message is an attribute of the questions.

No copy of the data was at hand: the layout is that of the benchmark's documentation.
"""

from collections.abc import Iterator

from memlake.transforms.base.conversation import Conversation, DeadLetter
from memlake.transforms.read.common.choice_questions import choice_questions
from memlake.transforms.read.common.dated_messages import places_of
from memlake.transforms.read.common.draft import Draft
from memlake.transforms.read.common.json_items import each_item
from memlake.transforms.read.common.reader import Exactly, Reader, Within
from memlake.transforms.read.common.side_files import stem_of
from memlake.transforms.read.formats.membench.steps import Steps
from memlake.transforms.text.clean import as_name

_DEEPEST = 8
_RECORD = Within({"message_list": ..., "QA": ...})
# Of a long record the head may hold the messages alone, as it may of MemSim's, which stand in a list.
_CUT = Exactly({"tid": ..., "message_list": ...})


def _conversations(value: object, index: int | None, uri: str) -> Iterator[Conversation | DeadLetter]:
    for keys, record in _records(value, (stem_of(uri),)):
        yield from _conversation(record, keys, index, uri)


READER = Reader(
    name="membench",
    revision=1,
    layout="file",
    read=each_item(_conversations),
    wholes=(_RECORD, _CUT, {".*": Within(_CUT)}),
)


def _conversation(
    record: object, keys: tuple[str, ...], index: int | None, uri: str
) -> Iterator[Conversation | DeadLetter]:
    tid = as_name(record.get("tid")) if isinstance(record, dict) else None
    if not isinstance(record, dict) or tid is None or not isinstance(record.get("message_list"), list):
        error = f"a record of {'-'.join(keys)} is not an object with a tid and a message_list"
        yield DeadLetter("malformed_record", error, uri, index, "conversation")
        return
    draft = Draft(uri, index, format_name=READER.name, name="-".join([*keys, tid]))
    messages = record["message_list"]
    steps = Steps(draft)
    steps.add_all(messages)
    made = draft.finish()
    if made is not None:
        flat = [message for item in messages for message in (item if isinstance(item, list) else [item])]
        made.questions = choice_questions(
            record.get("QA"),
            draft,
            category=keys[-2] if len(keys) > 1 else keys[-1],
            attributes={**places_of(flat), "subcategory": keys[-1]},
            gold_of=steps.gold_of,
        )
    yield from draft.items(made)


def _records(value: object, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Each record with the keys above it; what is neither a record nor above one is given as it is."""
    if isinstance(value, dict) and "message_list" not in value and len(keys) < _DEEPEST:
        for key, inner in value.items():
            yield from _records(inner, (*keys, key))
    elif isinstance(value, list):
        for record in value:
            yield keys, record
    else:
        yield keys, value
