"""rolling_summary: one text a conversation that a model carries from session to session, never longer than a cap.

Each call shows the summary so far and the next session, and brings a new summary; so calls of one conversation follow each
other, while conversations go side by side. A summary above the cap is asked for again, shorter; one that stays above it is a
dead letter and the summary so far goes on without that session: nothing is ever cut. Where a call may succeed later the
chain of its conversation stops, since every later call would be another one then.

The cap is in tokens by rule, a third of the text's UTF-8 bytes, so that it never depends on which tokeniser is installed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
import pyarrow as pa

from memlake.schemas.links import LINKS
from memlake.schemas.table import TIME, settings_json
from memlake.transforms.base.concurrent import each
from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.protocol.model import UNFINISHED, Message, Model, Request
from memlake.transforms.represent.by_model.asked import material_of
from memlake.transforms.represent.by_model.extracted import Tally, books
from memlake.transforms.represent.by_model.summaries import (
    check_summary_settings,
    session_pieces,
    summary_asked,
    summary_settings,
    without_blank,
)
from memlake.transforms.represent.common.representation import (
    Asking,
    Representation,
    RepresentationSpec,
    Settings,
    Units,
)
from memlake.transforms.represent.common.units import provenance_table, unit_table
from memlake.transforms.represent.extract.extraction import Answer, PieceRequest, answer_of, reply_room, text_tokens
from memlake.transforms.represent.extract.pieces import Piece, PieceTurn, halves
from memlake.transforms.represent.extract.transcript_block import data_block
from memlake.transforms.text.canonical import header

LEAST_CAP_TOKENS = 50
_SHORTER_ASKED = 2
_CONVERSATIONS_AT_ONCE = 1000
# By the rule of text_tokens a word of English is about two tokens.
_TOKENS_A_WORD = 2


@dataclass(slots=True)
class _Chain:
    """A conversation on its way: the summary so far, what came of its pieces, and which it tells of."""

    summary: str = ""
    answers: list[Answer] = field(default_factory=list)
    told: list[Piece] = field(default_factory=list)
    stopped: str = ""


def check_rolling_settings(settings: Settings) -> None:
    """Refuse a cap that holds no summary, or that a reply has no room for.

    Raises:
        UsageError: see above.
        NotFoundError: no such prompt.
    """
    check_summary_settings(settings)
    cap, room = int(settings["cap_tokens"]), int(settings["max_output_tokens"])
    if not LEAST_CAP_TOKENS <= cap <= room:
        raise UsageError(
            f"cap_tokens={cap} is not allowed with max_output_tokens={room}: from {LEAST_CAP_TOKENS} to {room}",
            hint="the defaults are cap_tokens=800,max_output_tokens=8192",
        )


async def build_rolling_summary(making: RepresentationSpec, turns: pa.Table, model: Model) -> Units:
    """Carry a summary through every conversation and make the last of each a unit.

    Raises:
        ModelStoppedError: the whole run is to stop.
    """
    asked, cap = _asked(making.settings), int(making.settings["cap_tokens"])

    async def rolled(pieces: Sequence[Piece]) -> _Chain:
        chain = _Chain()
        for piece in pieces:
            await _fold(chain, piece, asked, cap, model)
        return chain

    chains = await each(rolled, _by_conversation(turns), at_once=_CONVERSATIONS_AT_ONCE)
    return _units(making, chains)


def _by_conversation(turns: pa.Table) -> list[list[Piece]]:
    return [list(pieces) for _, pieces in groupby(session_pieces(turns), key=lambda piece: piece.conversation_id)]


async def _fold(chain: _Chain, piece: Piece, asked: PieceRequest, cap: int, model: Model) -> None:
    """Bring a piece into the summary, or note why it is not in it."""
    if piece.is_blank:
        chain.answers.append(Answer(piece, "empty"))
        return
    if chain.stopped:
        detail = "not asked: an earlier session of its conversation has no answer yet"
        chain.answers.append(Answer(piece, "failed", chain.stopped, detail=detail))
        return
    answer = await _answer(chain.summary, piece, asked, cap, model)
    halved = halves(piece) if answer.reason in ("cut", "too_long") else None
    if halved:
        place = len(chain.answers)
        for half in halved:
            await _fold(chain, half, asked, cap, model)
        chain.answers[place] = replace(
            _with_calls(chain.answers[place], answer), splits=chain.answers[place].splits + 1
        )
        return
    chain.answers.append(answer)
    if answer.outcome == "extracted":
        chain.summary = answer.items[0]["summary"].strip()
        chain.told.append(piece)
    elif answer.reason in UNFINISHED:
        chain.stopped = answer.reason


async def _answer(summary: str, piece: Piece, asked: PieceRequest, cap: int, model: Model) -> Answer:
    """What came of asking for the summary with one more piece in it, and again while it is too long."""
    from memlake.transforms.llm.structured.reply import ask_json

    request = _request(summary, piece, asked, cap)
    before: Answer | None = None
    for _ in range(_SHORTER_ASKED + 1):
        parsed = await ask_json(model, request, stage="extract", about=piece.about)
        answer = without_blank(answer_of(piece, parsed, asked))
        answer = answer if before is None else _with_calls(answer, before)
        if answer.outcome == "empty" and summary:
            raw = parsed.replies[-1].text
            return replace(answer, outcome="failed", reason="invalid", detail="the new summary is blank", raw=raw)
        if answer.outcome != "extracted" or text_tokens(answer.items[0]["summary"].strip()) <= cap:
            return answer
        before, reply = answer, parsed.replies[-1].text
        request = replace(
            request,
            messages=(*request.messages, Message("assistant", reply), Message("user", _shorter(answer, cap))),
        )
    assert before is not None
    tokens = text_tokens(before.items[0]["summary"].strip())
    detail = f"the summary has {tokens} tokens by rule, cap_tokens={cap} are allowed"
    return replace(before, outcome="failed", reason="over_cap", items=(), detail=detail, raw=reply)


def _asked(settings: Settings) -> PieceRequest:
    return summary_asked(settings)


def _request(summary: str, piece: Piece, asked: PieceRequest, cap: int) -> Request:
    request = asked.request(piece)
    system, shown = request.messages
    told = "\n\n".join((data_block("summary", [{"summary_so_far": summary}]), shown.content, _limit(cap)))
    return replace(
        request,
        messages=(system, replace(shown, content=told)),
        max_tokens=reply_room(cap, asked.max_output_tokens),
    )


def _limit(cap: int) -> str:
    return f"The new summary may have at most {cap // _TOKENS_A_WORD} words."


def _shorter(answer: Answer, cap: int) -> str:
    tokens = text_tokens(answer.items[0]["summary"].strip())
    return (
        f"That summary is too long by a factor of {tokens / cap:.1f}. {_limit(cap)} Write it again, shorter: leave out what "
        "matters least, keep names, numbers, dates and conditions exact. Reply with JSON of the same form."
    )


def _with_calls(answer: Answer, earlier: Answer) -> Answer:
    """An answer with the calls of an earlier attempt counted in."""
    return replace(
        answer,
        calls=answer.calls + earlier.calls,
        splits=answer.splits + earlier.splits,
        repairs=answer.repairs + earlier.repairs,
        tokens_in=_sum(answer.tokens_in, earlier.tokens_in),
        tokens_out=_sum(answer.tokens_out, earlier.tokens_out),
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _units(making: RepresentationSpec, chains: Sequence[_Chain]) -> Units:
    answers = [answer for chain in chains for answer in chain.answers]
    tallies = [Tally() for _ in answers]
    # The unit stands in the books of the last piece that it tells of.
    firsts = np.cumsum([0, *(len(chain.answers) for chain in chains)]).tolist()
    for chain, first in zip(chains, firsts, strict=False):
        if chain.told:
            last = max(place for place, one in enumerate(chain.answers) if one.outcome == "extracted")
            tallies[first + last] = Tally(units=1, ungrounded=1, stored_chars=len(chain.summary))
    whole = [chain for chain in chains if chain.told]
    headers = [header(chain.told[-1].session_label) for chain in whole]
    units = unit_table(
        making,
        corpus=pa.array([chain.told[0].corpus for chain in whole], pa.string()),
        conversation_id=pa.array([chain.told[0].conversation_id for chain in whole], pa.string()),
        ordinal=np.zeros(len(whole), np.int64),
        kind=pa.array(["summary"] * len(whole), pa.string()),
        session_id=pa.array([_only_session(chain.told) for chain in whole], pa.string()),
        show_text=[lead + chain.summary for lead, chain in zip(headers, whole, strict=True)],
        header_chars=np.fromiter(map(len, headers), np.int64, len(headers)),
        event_at=pa.array([chain.told[-1].turns[0].at for chain in whole], TIME),
        speaker=pa.nulls(len(whole), pa.string()),
        attributes=pa.array([_attributes(chain) for chain in whole], pa.string()),
    )
    turns = [_turns(chain.told) for chain in whole]
    flat = [turn for of_unit in turns for turn in of_unit]
    provenance = provenance_table(
        units,
        np.repeat(np.arange(len(whole)), list(map(len, turns))),
        turn_id=pa.array([turn.turn_id for turn in flat], pa.string()),
        ordinal=np.array([turn.ordinal for turn in flat], np.int64),
        span=None,
        grounding="none",
        touches_text=np.ones(len(flat), np.bool_),
    )
    extractions, dead, unfinished = books(making, answers, tallies)
    return Units(units, provenance, LINKS.empty(), extractions, dead, unfinished)


def _only_session(pieces: Sequence[Piece]) -> str | None:
    sessions = {piece.session_id for piece in pieces}
    return sessions.pop() if len(sessions) == 1 else None


def _turns(pieces: Sequence[Piece]) -> list[PieceTurn]:
    """The turns of pieces, each once: a long one may have been cut."""
    return list({turn.ordinal: turn for piece in pieces for turn in piece.turns}.values())


def _attributes(chain: _Chain) -> str:
    failed = sum(answer.outcome == "failed" for answer in chain.answers)
    sessions = len({piece.session_id for piece in chain.told})
    return settings_json({"sessions": sessions} | ({"failed_pieces": failed} if failed else {}))


def _first_requests(making: RepresentationSpec, turns: pa.Table) -> list[Request]:
    """A request a session; what the summary so far will be nobody knows, so one of the cap's length stands for it."""
    asked, cap = _asked(making.settings), int(making.settings["cap_tokens"])
    likely = "word " * (3 * cap // 5)
    return [
        _request(likely if place else "", piece, asked, cap)
        for pieces in _by_conversation(turns)
        for place, piece in enumerate(piece for piece in pieces if not piece.is_blank)
    ]


ROLLING_SUMMARY = Representation(
    "rolling_summary",
    None,
    summary_settings("rolling_summary", cap_tokens=800),
    check=check_rolling_settings,
    asking=Asking(build_rolling_summary, _first_requests, lambda settings: material_of(_asked(settings))),
)
