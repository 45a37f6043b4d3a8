"""rolling_summary: one text a conversation that a model carries from session to session, never longer than a cap.

Each call shows the summary so far and the next session, and brings a new summary; so calls of one conversation follow each
other, while conversations go side by side. A summary above the cap is asked for again, shorter; one that stays above it is a
dead letter and the summary so far goes on without that session: nothing is ever cut. Where a call may succeed later the
chain of its conversation stops, since every later call would be another one then.

The cap is in tokens by rule, a third of the text's UTF-8 bytes, so that it never depends on which tokeniser is installed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain as joined
from itertools import groupby

import pyarrow as pa

from memlake.transforms.base.concurrent import each
from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.prompting import data_block
from memlake.transforms.llm.protocol.model import UNFINISHED, Message, Model, Request
from memlake.transforms.llm.structured import ask_json
from memlake.transforms.represent.by_model.asked import check_asking_settings, material_of, pieces_for
from memlake.transforms.represent.by_model.extracted import Item, Tally, extracted_units
from memlake.transforms.represent.by_model.extraction import (
    Answer,
    PieceRequest,
    answer_of,
    reply_room,
    text_tokens,
    with_calls,
)
from memlake.transforms.represent.by_model.pieces import Piece, halves
from memlake.transforms.represent.by_model.summaries import (
    all_turns,
    summary_request,
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

LEAST_CAP_TOKENS = 50
_SHORTER_ASKED = 2
_CONVERSATIONS_AT_ONCE = 1000
# By the rule of text_tokens a word of English is about two tokens.
_TOKENS_A_WORD = 2


@dataclass(slots=True)
class _Chain:
    """A conversation on its way: the summary so far, what came of its pieces, and why no more are asked about."""

    summary: str = ""
    answers: list[Answer] = field(default_factory=list)
    stopped: str = ""


def _check(settings: Settings) -> None:
    check_asking_settings(settings)
    summary_request(settings)
    cap, room = int(settings["cap_tokens"]), int(settings["max_output_tokens"])
    if not LEAST_CAP_TOKENS <= cap <= room:
        raise UsageError(
            f"cap_tokens={cap} is not allowed with max_output_tokens={room}: from {LEAST_CAP_TOKENS} to {room}",
            hint="the defaults are cap_tokens=800,max_output_tokens=8192",
        )


async def build_rolling_summary(spec: RepresentationSpec, turns: pa.Table, model: Model) -> Units:
    """Carry a summary through every conversation and make the last of each a unit.

    Raises:
        ModelStoppedError: the whole run is to stop.
    """
    asked, cap = summary_request(spec.settings), int(spec.settings["cap_tokens"])

    async def rolled(pieces: Sequence[Piece]) -> _Chain:
        chain = _Chain()
        for piece in pieces:
            await _fold(chain, piece, asked, cap, model)
        return chain

    return _units(spec, await each(rolled, _by_conversation(spec, turns), at_once=_CONVERSATIONS_AT_ONCE))


def _by_conversation(spec: RepresentationSpec, turns: pa.Table) -> list[list[Piece]]:
    pieces = pieces_for(spec.settings, turns)
    return [list(sessions) for _, sessions in groupby(pieces, key=lambda piece: piece.conversation_id)]


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
        chain.answers[place] = with_calls(chain.answers[place], answer, splits=1)
        return
    chain.answers.append(answer)
    if answer.outcome == "extracted":
        chain.summary = answer.items[0]["summary"].strip()
    elif answer.reason in UNFINISHED:
        chain.stopped = answer.reason


async def _answer(summary: str, piece: Piece, asked: PieceRequest, cap: int, model: Model) -> Answer:
    """What came of asking for the summary with one more piece in it, and again while it is too long."""
    request = _request(summary, piece, asked, cap)
    before: Answer | None = None
    for _ in range(_SHORTER_ASKED + 1):
        parsed = await ask_json(model, request, stage="extract", about=piece.about)
        answer = without_blank(answer_of(piece, parsed, asked))
        answer = answer if before is None else with_calls(answer, before)
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


def _request(summary: str, piece: Piece, asked: PieceRequest, cap: int) -> Request:
    request = asked.request(piece)
    system, shown = request.messages
    content = "\n\n".join((data_block("summary", [{"summary_so_far": summary}]), shown.content, _limit(cap)))
    return replace(
        request,
        messages=(system, replace(shown, content=content)),
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


def _units(spec: RepresentationSpec, chains: Sequence[_Chain]) -> Units:
    answers = list(joined.from_iterable(chain.answers for chain in chains))
    tallies = [Tally() for _ in answers]
    items, first = [], 0
    for chain in chains:
        extracted = [place for place, answer in enumerate(chain.answers) if answer.outcome == "extracted"]
        if extracted:
            # The unit is accounted for with the last piece that it tells of.
            last = extracted[-1]
            tallies[first + last].ungrounded = 1
            items.append(_item_of(chain, [chain.answers[place].piece for place in extracted], first + last))
        first += len(chain.answers)
    return extracted_units(spec, answers, items, tallies)


def _item_of(chain: _Chain, pieces: Sequence[Piece], answer: int) -> Item:
    sessions = len({piece.session_id for piece in pieces})
    failed = sum(answer.outcome == "failed" for answer in chain.answers)
    return Item(
        answer=answer,
        kind="summary",
        text=chain.summary,
        grounded=(all_turns(pieces),),
        dated_by=pieces[-1],
        attributes={"sessions": sessions} | ({"failed_pieces": failed} if failed else {}),
    )


def _first_requests(spec: RepresentationSpec, turns: pa.Table) -> list[Request]:
    """A request a session; what the summary so far will be nobody knows, so one of the cap's length stands for it."""
    asked, cap = summary_request(spec.settings), int(spec.settings["cap_tokens"])
    likely = "word " * (3 * cap // 5)
    return [
        _request(likely if place else "", piece, asked, cap)
        for pieces in _by_conversation(spec, turns)
        for place, piece in enumerate(piece for piece in pieces if not piece.is_blank)
    ]


ROLLING_SUMMARY = Representation(
    "rolling_summary",
    None,
    summary_settings("rolling_summary", cap_tokens=800),
    check=_check,
    asking=Asking(build_rolling_summary, _first_requests, lambda settings: material_of(summary_request(settings))),
)
