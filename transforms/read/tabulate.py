"""Conversations as rows of the stored tables, with the canonical text's spans and the hash of each part.

Canonical text of a conversation: its turns in order as `speaker: text`, one line break between turns. A turn's span covers
its prefix, its text and the line break after it, in Unicode code points, so that spans tile the text.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memlake.schemas.conversations import CONVERSATIONS
from memlake.schemas.evidence import EVIDENCE
from memlake.schemas.parts import PARTS
from memlake.schemas.questions import QUESTIONS
from memlake.schemas.table import INT, STRING, TIME, Table, settings_json
from memlake.schemas.turns import TURNS
from memlake.transforms.base.conversation import Conversation, Question
from memlake.transforms.base.ids import column_hash
from memlake.transforms.lake.storage.parts import QUESTIONS_PART, TURNS_PART
from memlake.transforms.text.canonical import PREFIX_CHARS
from memlake.transforms.text.content_tokens import content_tokens_of


def tabulate(
    corpus: str, conversations: Sequence[Conversation], revisions: Mapping[str, int] | int
) -> dict[str, pa.Table]:
    """Rows of conversations, turns, questions, evidence and parts (turns and questions), in those tables' schemas.

    Args:
        conversations: whole conversations, each with at least one turn; ids are distinct.
        revisions: of the readers by format (formats.REVISIONS), or the one of all; a part's hash depends on it.
    """
    held = list(conversations)
    revision_of = [revisions if isinstance(revisions, int) else revisions[conversation.format] for conversation in held]
    hashes = [turns_hash(conversation, revision) for conversation, revision in zip(held, revision_of, strict=True)]
    turns, characters = _turns(corpus, held)
    questions, evidence, parts = _questions(corpus, held, revision_of)
    for conversation, content_hash in zip(held, hashes, strict=True):
        parts.append((conversation.conversation_id, TURNS_PART.name, content_hash, len(conversation.text)))
    return {
        "conversations": _conversations(corpus, held, hashes, characters),
        "turns": turns,
        "questions": questions,
        "evidence": evidence,
        "parts": _table(
            PARTS,
            corpus=pa.repeat(corpus, len(parts)),
            **dict(zip(("conversation_id", "part", "content_hash", "rows"), _columns(parts, 4), strict=True)),
        ),
    }


def turns_hash(conversation: Conversation, revision: int) -> str:
    """128-bit blake2b over the canonical columns of a conversation's turns and the revision of its reader."""
    c = conversation
    sessions = [(s.session_id, s.label, s.at, s.zone_known) for s in c.sessions]
    head = [revision, sessions, c.session, c.source_chars, c.said_at]
    return column_hash(head, (c.turn_id, c.speaker, c.role, c.kind, c.text))


def _hash(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _turns(corpus: str, held: list[Conversation]) -> tuple[pa.Table, np.ndarray[Any, Any]]:
    """Rows of turns, and each conversation's length in code points."""
    counts = np.array([len(conversation.text) for conversation in held], np.int64)
    starts = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(held)), counts)
    session_bases = np.cumsum([0, *(len(conversation.sessions) for conversation in held)])[:-1]
    ordinal_in = np.fromiter(chain.from_iterable(c.session for c in held), np.int64, int(counts.sum()))
    session = pa.array(ordinal_in + np.repeat(session_bases, counts))
    sessions = [sitting for conversation in held for sitting in conversation.sessions]
    speaker, text = _flat(held, "speaker"), _flat(held, "text")
    length = (pc.utf8_length(speaker).to_numpy() + pc.utf8_length(text).to_numpy()).astype(np.int64) + PREFIX_CHARS + 1
    length[starts + counts - 1] -= 1
    end = np.cumsum(length)
    base = np.append(0, end)[starts]
    char_end = end - np.repeat(base, counts)
    table = _table(
        TURNS,
        corpus=pa.repeat(corpus, len(text)),
        conversation_id=pa.array([c.conversation_id for c in held], STRING).take(pa.array(owner)),
        ordinal=pa.array(np.arange(len(owner)) - np.repeat(starts, counts)),
        session_id=pa.array([sitting.session_id for sitting in sessions], STRING).take(session),
        session_ordinal=pa.array(ordinal_in),
        session_at=pa.array([sitting.at for sitting in sessions], INT).take(session).cast(TIME),
        session_label=pa.array([sitting.label for sitting in sessions], STRING).take(session),
        zone_known=pa.array([sitting.zone_known for sitting in sessions], pa.bool_()).take(session),
        turn_id=_flat(held, "turn_id"),
        speaker=speaker,
        role=_flat(held, "role"),
        kind=_flat(held, "kind"),
        text=text,
        source_chars=_flat(held, "source_chars", INT),
        said_at=_flat(held, "said_at", INT).cast(TIME),
        char_start=pa.array(char_end - length),
        char_end=pa.array(char_end),
    )
    return table, char_end[starts + counts - 1]


def _conversations(
    corpus: str, held: list[Conversation], hashes: list[str], characters: np.ndarray[Any, Any]
) -> pa.Table:
    times = [[at for at in chain(c.said_at, (session.at for session in c.sessions)) if at is not None] for c in held]
    return _table(
        CONVERSATIONS,
        corpus=pa.repeat(corpus, len(held)),
        conversation_id=pa.array([c.conversation_id for c in held], STRING),
        source_uri=pa.array([c.source_uri for c in held], STRING),
        format=pa.array([c.format for c in held], STRING),
        sessions=pa.array([len(c.sessions) for c in held], INT),
        turns=pa.array([len(c.text) for c in held], INT),
        characters=pa.array(characters),
        content_hash=pa.array(hashes, STRING),
        first_at=pa.array([min(dated, default=None) for dated in times], INT).cast(TIME),
        last_at=pa.array([max(dated, default=None) for dated in times], INT).cast(TIME),
    )


def _questions(
    corpus: str, held: list[Conversation], revisions: list[int]
) -> tuple[pa.Table, pa.Table, list[tuple[Any, ...]]]:
    """Rows of questions and of evidence, and a part for each label set of a conversation."""
    asked = [(c.conversation_id, question) for c in held for question in c.questions]
    evidence: list[tuple[Any, ...]] = []
    parts: list[tuple[Any, ...]] = []
    for conversation, revision in zip(held, revisions, strict=True):
        if not conversation.questions:
            continue
        name = conversation.conversation_id
        ordinals = {turn_id: ordinal for ordinal, turn_id in enumerate(conversation.turn_id)}
        by_label_set: dict[str, list[object]] = {}
        for question in conversation.questions:
            gold = _resolved(question, ordinals)
            key = (name, question.question_id, question.label_set)
            evidence += [(*key, position, *resolved) for position, resolved in enumerate(gold)]
            by_label_set.setdefault(question.label_set, []).append(_canonical(question, gold))
        for label_set, same in sorted(by_label_set.items()):
            parts.append((name, QUESTIONS_PART.named(label_set), _hash([revision, same]), len(same)))
    names = ("conversation_id", "question_id", "label_set", "position", "raw_id", "turn_id", "ordinal", "status")
    rows = _table(
        EVIDENCE,
        corpus=pa.repeat(corpus, len(evidence)),
        **dict(zip(names, _columns(evidence, len(names)), strict=True)),
    )
    return _question_rows(corpus, asked), rows, parts


def _question_rows(corpus: str, asked: list[tuple[str, Question]]) -> pa.Table:
    questions = [question for _, question in asked]
    plain = ("question_id", "label_set", "position", "text", "answer", "answers", "category", "options", "answerable")
    return _table(
        QUESTIONS,
        corpus=pa.repeat(corpus, len(asked)),
        conversation_id=[name for name, _ in asked],
        # A question without an answer has no tokens, which is an empty list in this table.
        answer_tokens=content_tokens_of([question.answer or "" for question in questions], distinct=True),
        asked_at=pa.array([question.asked_at for question in questions], INT).cast(TIME),
        attributes=[settings_json(question.attributes) if question.attributes else None for question in questions],
        **{name: [getattr(question, name) for question in questions] for name in plain},
    )


_Gold = list[tuple[str, str | None, int | None, str]]


def _resolved(question: Question, ordinals: dict[str, int]) -> _Gold:
    """The evidence with each turn's place, which moves when turns are put before it."""
    return [(raw, turn, None if turn is None else ordinals[turn], status) for raw, turn, status in question.evidence]


def _canonical(question: Question, gold: _Gold) -> list[object]:
    """Everything of a question that lands in questions or evidence."""
    q = question
    return [
        q.question_id, q.position, q.text, q.answer, q.category, q.answers, gold, q.asked_at, q.options, q.answerable,
        q.attributes,
    ]  # fmt: skip


def _flat(held: list[Conversation], name: str, kind: pa.DataType = STRING) -> pa.Array:
    return pa.array(list(chain.from_iterable(getattr(conversation, name) for conversation in held)), kind)


def _columns(rows: list[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _table(table: Table, **columns: Any) -> pa.Table:
    return pa.table({name: columns[name] for name in table.schema.names}, schema=table.schema)
