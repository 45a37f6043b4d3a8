"""What the settings of a representation that asks come to: which pieces, and what is asked of each."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from memlake.schemas.table import settings_json
from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.prompting import prompt
from memlake.transforms.llm.protocol.model import Model
from memlake.transforms.represent.by_model.extraction import (
    LEAST_REPLY_TOKENS,
    ON_CUT,
    Answer,
    PieceRequest,
    ask_pieces,
    first_requests,
    text_tokens,
)
from memlake.transforms.represent.by_model.pieces import ORDERS, Piece, check_piece_settings, pieces_of
from memlake.transforms.represent.common.checks import check_choices, check_least
from memlake.transforms.represent.common.representation import (
    Asking,
    Representation,
    RepresentationSpec,
    Settings,
    Units,
)
from memlake.transforms.text.turn_pairs import FIRST, FOLDS

# The settings of the representations that ask about pieces: each adds its own, may have other defaults and may leave out
# those that it fixes at the values here.
ASKING_SETTINGS: Settings = {
    "granularity": "session",
    "turns": 20,
    "context": 0,
    "second_pass": False,
    "temperature": 0.0,
    "seed": 0,
    "max_output_tokens": 8192,
    "prompt": "",
    "model": "",
    "provider": "",
}
REMINDER = "reminder"
# The settings that reproduce how published studies ask. At their defaults they are no part of the settings hash, so that
# units from before these settings existed keep theirs.
PUBLISHED_SETTINGS: Settings = {
    "folds": FOLDS[0],
    "user": FIRST,
    "order": ORDERS[0],
    "on_cut": ON_CUT[0],
    "repairs": 2,
    "merge": "same",
    "header": "every",
}
# For representations that leave some of them out.
_ALL: Settings = {**ASKING_SETTINGS, **PUBLISHED_SETTINGS}


def representation_of_answers(
    kind: str,
    defaults: Settings,
    *,
    check: Callable[[Settings], None],
    request: Callable[[Settings], PieceRequest],
    units: Callable[[RepresentationSpec, pa.Table, Sequence[Answer]], Units],
) -> Representation:
    """The representation that asks about every piece of some turns and makes units of the answers.

    Args:
        check: raises UsageError for settings that make no sense.
        request: what is asked of every piece; raises NotFoundError where there is no such prompt.
        units: of the turns and of the answers about their pieces.
    """

    async def build(spec: RepresentationSpec, turns: pa.Table, model: Model) -> Units:
        answers = await ask_pieces(pieces_for(spec.settings, turns), request(spec.settings), model)
        # In a thread: other conversations' calls go on while quotes are looked for.
        return await asyncio.to_thread(units, spec, turns, answers)

    def checked(settings: Settings) -> None:
        check(settings)
        request(settings)

    return Representation(
        kind,
        None,
        defaults,
        check=checked,
        asking=Asking(
            build,
            lambda spec, turns: first_requests(pieces_for(spec.settings, turns), request(spec.settings)),
            lambda settings: material_of(request(settings)),
        ),
    )


def check_asking_settings(settings: Settings) -> None:
    """Raise UsageError for pieces, sampling and room that make no sense."""
    settings = {**_ALL, **settings}
    check_piece_settings(settings)
    check_least(settings, "max_output_tokens", LEAST_REPLY_TOKENS, default=8192)
    temperature = float(settings["temperature"])
    if not 0 <= temperature <= 2:
        raise UsageError(
            f"temperature={temperature} is not allowed: from 0 to 2", hint="the default is temperature=0.0"
        )


def check_published_asking(settings: Settings) -> None:
    """Raise UsageError for values of PUBLISHED_SETTINGS that are not allowed."""
    check_choices(settings, folds=FOLDS, order=ORDERS, on_cut=ON_CUT)
    check_least(settings, "repairs", 0, default=2)


def pieces_for(settings: Settings, turns: pa.Table) -> list[Piece]:
    """The pieces of these turns by the settings granularity, turns, context, folds and user."""
    settings = {**_ALL, **settings}
    return pieces_of(
        turns,
        granularity=str(settings["granularity"]),
        count=int(settings["turns"]),
        context=int(settings["context"]),
        folds=str(settings["folds"]),
        user=str(settings["user"]),
    )


def asked_of(
    settings: Settings,
    *,
    schema_name: str,
    schema: Mapping[str, Any],
    items: str,
    need: Callable[[Piece], int],
    refused: Callable[[Mapping[str, Any]], str] | None = None,
) -> PieceRequest:
    """What is asked of every piece: the prompt of the setting `prompt`, and NAME-missed where there is a second pass.

    Raises:
        NotFoundError: there is no such prompt.
    """
    settings = {**_ALL, **settings}
    name = str(settings["prompt"])
    return PieceRequest(
        model=str(settings["model"]),
        system=prompt(name),
        reminder=prompt(REMINDER),
        missed=prompt(f"{name}-missed") if settings["second_pass"] else "",
        schema_name=schema_name,
        schema=schema,
        items=items,
        need=need,
        refused=refused,
        max_output_tokens=int(settings["max_output_tokens"]),
        temperature=float(settings["temperature"]),
        seed=int(settings["seed"]),
        on_cut=str(settings["on_cut"]),
        repairs=int(settings["repairs"]),
        order=str(settings["order"]),
    )


def list_need(piece: Piece, *, of_text: float, of_turn: int) -> int:
    """Tokens of a reply that lists what a piece says: a share of its own tokens, and what each turn takes in JSON."""
    tokens = sum(text_tokens(turn.text) for turn in piece.turns)
    return round(of_text * tokens) + of_turn * len(piece.turns)


def material_of(asked: PieceRequest) -> list[str]:
    """The texts that decide, beside the settings, what comes out: prompts and schema."""
    return [asked.system, asked.reminder, asked.missed, settings_json(asked.schema)]
