"""Ask a model about every piece of some conversations: what all representations that ask have in common.

Each piece is asked on its own. A reply that was cut, or an input that was too long, is never kept: the piece is cut in
two and both halves are asked, down to pieces that cannot be cut; with on_cut=drop, as published studies ask, it is lost
whole, and its answer says so. The answers are of the pieces that are left then, each
with an outcome; calls, splits, tokens of what they were cut from are counted with the first of them, so that sums hold.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memlake.schemas.table import settings_json
from memlake.transforms.base.concurrent import each
from memlake.transforms.llm.protocol.model import UNFINISHED, Message, Model, Reply, Request
from memlake.transforms.llm.structured import JsonReply, ask_json, problem_of
from memlake.transforms.represent.by_model.pieces import ORDERS, Piece, halves, transcript_block

# The least room for a reply: below it even one item may be cut.
LEAST_REPLY_TOKENS = 512
# Pieces under way at a time, each one task; the edge decides how many of them are calls in flight.
_AT_ONCE = 1000
ON_CUT = ("split", "drop")
_TOO_MUCH: frozenset[str] = frozenset({"cut", "too_long"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceRequest:
    """What is asked of every piece.

    Attributes:
        system: the system message; nothing of a transcript is in it.
        reminder: what stands below the transcript in the user message.
        schema: JSON Schema of the reply: an object.
        items: the key of the reply's list of items; '' when the whole reply is the one item.
        need: tokens that the whole reply about a piece is expected to take; twice as many are allowed.
        max_output_tokens: the most that a reply may be allowed; pieces that need more are cut before they are asked.
        missed: what is asked after the reply, in the same talk, in a second pass; '' for none.
        refused: what is wrong with an item that keeps to the schema, in words; '' when nothing is.
        on_cut: split; or drop: every reply is allowed max_output_tokens, no piece is cut, and what does not fit is lost.
        repairs: how often a reply that is no JSON of the schema is asked for again, at most.
        order: in which a transcript's turns are shown (see `transcript_block`).
    """

    model: str
    system: str
    reminder: str
    schema_name: str
    schema: Mapping[str, Any]
    items: str
    need: Callable[[Piece], int]
    max_output_tokens: int
    missed: str = ""
    refused: Callable[[Mapping[str, Any]], str] | None = None
    temperature: float = 0.0
    seed: int = 0
    on_cut: str = ON_CUT[0]
    repairs: int = 2
    order: str = ORDERS[0]

    def request(self, piece: Piece) -> Request:
        """The first request about a piece."""
        return Request(
            model=self.model,
            messages=(
                Message("system", self.system),
                Message("user", f"{transcript_block(piece, self.order)}\n\n{self.reminder}"),
            ),
            max_tokens=self.room(piece),
            schema=settings_json(self.schema),
            schema_name=self.schema_name,
            temperature=self.temperature,
            seed=self.seed,
        )

    def room(self, piece: Piece) -> int:
        """Tokens to allow for the reply about a piece."""
        return self.max_output_tokens if self.on_cut == "drop" else reply_room(self.need(piece), self.max_output_tokens)

    def halves(self, piece: Piece) -> tuple[Piece, Piece] | None:
        """The halves of a piece that is too much; None where it is not to be cut, or cannot be."""
        return halves(piece) if self.on_cut == "split" else None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a piece that was not cut further.

    Attributes:
        outcome: extracted, empty (nothing was found, or there was no text) or failed.
        reason: why it failed, or why the second pass of an extracted one did: second_pass_cut, ...
        items: those that keep to the schema, in the reply's order, a second pass's after the first's.
        second: how many of these, the last ones, are a second pass's.
        dropped: items that do not keep to it.
        detail: what was wrong, in words.
        raw: the last reply as the model wrote it, where something failed or was dropped.
        unfinished: hashes of requests whose failure may pass.
        request_hash: the last request's; None when nothing was asked.
    """

    piece: Piece
    outcome: Literal["extracted", "empty", "failed"]
    reason: str = ""
    items: tuple[Mapping[str, Any], ...] = ()
    second: int = 0
    dropped: int = 0
    detail: str = ""
    raw: str = ""
    calls: int = 0
    splits: int = 0
    repairs: int = 0
    mode: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    request_hash: str | None = None
    unfinished: tuple[str, ...] = ()


def text_tokens(text: str) -> int:
    """About how many tokens a text is, never much too few: a third of its UTF-8 bytes.

    By rule, so that a request never depends on which tokeniser is installed: four bytes a token is usual for English, three
    for one ideograph.
    """
    return -(-len(text.encode()) // 3)


def reply_room(need: int, ceiling: int) -> int:
    """Tokens to allow for a reply that is expected to take `need`: twice that, within bounds."""
    return min(max(2 * need, LEAST_REPLY_TOKENS), ceiling)


def fitting(pieces: Iterable[Piece], asked: PieceRequest) -> Iterator[Piece]:
    """Cut pieces until twice what a reply needs is allowed: those that cannot be cut stay as they are."""
    for piece in pieces:
        halved = asked.halves(piece) if 2 * asked.need(piece) > asked.max_output_tokens else None
        if halved:
            yield from fitting(halved, asked)
        else:
            yield piece


def first_requests(pieces: Sequence[Piece], asked: PieceRequest) -> list[Request]:
    """The requests that are known before any reply, in order."""
    return [asked.request(piece) for piece in fitting(pieces, asked) if not piece.is_blank]


async def ask_pieces(pieces: Sequence[Piece], asked: PieceRequest, model: Model) -> list[Answer]:
    """What came of every piece, in order; a piece that had to be cut gives an answer for each of its parts.

    Raises:
        ModelStoppedError: the whole run is to stop.
    """

    async def answers(piece: Piece) -> list[Answer]:
        return await _answers(piece, asked, model)

    found = await each(answers, list(fitting(pieces, asked)), at_once=_AT_ONCE)
    return [answer for of_piece in found for answer in of_piece]


def answer_of(piece: Piece, parsed: JsonReply, asked: PieceRequest) -> Answer:
    """What a model's reply about a piece comes to: its items, or why there are none."""
    answer = _counted(Answer(piece, "failed", parsed.outcome), parsed)
    if parsed.outcome not in ("ok", "invalid"):
        last = parsed.replies[-1]
        waiting = (last.request_hash,) if parsed.outcome in UNFINISHED else ()
        return replace(answer, detail=last.detail or parsed.problem, raw=last.text, unfinished=waiting)
    found = checked_items(
        parsed.value, asked.schema, asked.items, is_valid=parsed.outcome == "ok", refused=asked.refused
    )
    raw = parsed.replies[-1].text if parsed.outcome == "invalid" or (found and found.dropped) else ""
    if found is None or (found.dropped and not found.items):
        return replace(
            answer,
            reason="invalid",
            dropped=found.dropped if found else 0,
            detail=parsed.problem or (found.problem if found else ""),
            raw=raw,
        )
    return replace(
        answer,
        outcome="extracted" if found.items else "empty",
        reason="",
        items=found.items,
        dropped=found.dropped,
        detail=found.problem,
        raw=raw,
    )


async def _answers(piece: Piece, asked: PieceRequest, model: Model) -> list[Answer]:
    if piece.is_blank:
        return [Answer(piece, "empty")]
    request = asked.request(piece)
    parsed = await _ask(model, request, piece, asked)
    answer = answer_of(piece, parsed, asked)
    too_much = answer.reason in _TOO_MUCH
    if asked.missed and answer.outcome != "failed":
        answer, too_much = await _second_pass(answer, parsed.replies[-1], request, asked, model)
    halved = asked.halves(piece) if too_much else None
    if halved is None:
        return [answer]
    # One after the other: a piece is one task, and other pieces fill the time.
    found = [part for half in halved for part in await _answers(half, asked, model)]
    # With the first part stand the calls that the whole took before it was cut.
    return [with_calls(found[0], answer, splits=1), *found[1:]]


async def _second_pass(
    first: Answer, reply: Reply, request: Request, asked: PieceRequest, model: Model
) -> tuple[Answer, bool]:
    """The first pass's answer with what it missed, and whether that was too much for one reply."""
    talk = (*request.messages, Message("assistant", reply.text), Message("user", asked.missed))
    parsed = await _ask(model, replace(request, messages=talk), first.piece, asked)
    second = answer_of(first.piece, parsed, asked)
    both = _counted(first, parsed)
    if second.outcome == "failed":
        return replace(
            both,
            reason=f"second_pass_{second.reason}",
            dropped=both.dropped + second.dropped,
            detail=second.detail,
            raw=second.raw,
            unfinished=second.unfinished,
        ), second.reason in _TOO_MUCH
    items = (*first.items, *second.items)
    return replace(
        both,
        outcome="extracted" if items else "empty",
        items=items,
        second=len(second.items),
        dropped=first.dropped + second.dropped,
        detail=first.detail or second.detail,
        raw=first.raw or second.raw,
    ), False


async def _ask(model: Model, request: Request, piece: Piece, asked: PieceRequest) -> JsonReply:
    return await ask_json(model, request, stage="extract", about=piece.about, repairs=asked.repairs)


def _counted(answer: Answer, parsed: JsonReply) -> Answer:
    """An answer with the calls of one more request, its repairs among them, counted in."""
    last = parsed.replies[-1]
    return replace(
        answer,
        calls=answer.calls + len(parsed.replies),
        repairs=answer.repairs + parsed.repairs,
        mode=last.mode or answer.mode,
        tokens_in=_sum([answer.tokens_in, *(reply.tokens_in for reply in parsed.replies)]),
        tokens_out=_sum([answer.tokens_out, *(reply.tokens_out for reply in parsed.replies)]),
        request_hash=last.request_hash,
    )


def with_calls(answer: Answer, earlier: Answer, *, splits: int = 0) -> Answer:
    """An answer with the calls that came before it counted in: of an earlier attempt, or of a whole that was split."""
    return replace(
        answer,
        calls=answer.calls + earlier.calls,
        splits=answer.splits + earlier.splits + splits,
        repairs=answer.repairs + earlier.repairs,
        tokens_in=_sum([answer.tokens_in, earlier.tokens_in]),
        tokens_out=_sum([answer.tokens_out, earlier.tokens_out]),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    counted = [count for count in counts if count is not None]
    return sum(counted) if counted else None


@dataclass(frozen=True, slots=True)
class Items:
    """What a reply holds.

    Attributes:
        items: those that keep to the schema, in order.
        dropped: how many do not.
        problem: what is wrong with the first of these.
    """

    items: tuple[Mapping[str, Any], ...]
    dropped: int = 0
    problem: str = ""


def checked_items(
    value: object,
    schema: Mapping[str, Any],
    key: str,
    *,
    is_valid: bool = False,
    refused: Callable[[Mapping[str, Any]], str] | None = None,
) -> Items | None:
    """The items of a parsed reply, those that break the schema left out; None when the reply has no list of items.

    What an item says beyond the schema is left out, and what it leaves out is null where that is allowed.

    Args:
        schema: of the whole reply.
        key: of the list in it; '' when the reply as a whole is the item.
        is_valid: whether the whole reply is known to keep to the schema.
        refused: what is wrong with an item that keeps to the schema; '' when nothing is.
    """
    of_item = schema["properties"][key]["items"] if key else schema
    if key:
        # Some models answer with the list alone, without the object around it.
        value = value.get(key) if isinstance(value, dict) else value
        if not isinstance(value, list):
            return None
    kept: list[Mapping[str, Any]] = []
    problem = ""
    raw = value if key and isinstance(value, list) else [value]
    schema_text = "" if is_valid else settings_json(of_item)
    for place, item in enumerate(raw):
        fitted = item if is_valid else _fitted(item, of_item)
        wrong = "" if is_valid else problem_of(fitted, schema_text).removeprefix("$: ").removeprefix("$.")
        wrong = wrong or (refused(fitted) if refused else "")
        if wrong:
            problem = problem or f"item {place}: {wrong}"
        else:
            kept.append(fitted)
    return Items(tuple(kept), len(raw) - len(kept), problem)


def _fitted(item: Any, schema: Mapping[str, Any]) -> Any:
    if not isinstance(item, dict):
        return item
    return {
        name: item.get(name)
        for name, field in schema["properties"].items()
        if name in item or "null" in field.get("type", ())
    }
