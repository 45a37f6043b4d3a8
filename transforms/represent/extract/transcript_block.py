"""A piece of a transcript as a model is shown it: data between marks that the data cannot hold.

    <transcript-5f1c9a2e8b7d4036>
    {"session_date": "8 May, 2023", "speakers": ["Ann", "Bo"]}
    {"before": true, "speaker": "Bo", "text": "shown for context only"}
    {"turn": 1, "speaker": "Ann", "text": "..."}
    </transcript-5f1c9a2e8b7d4036>

Where a piece spans several sessions the first line names none and the lines of turns have a session_date of their own. With
order=by_side the lines of the user's side stand before all others, each under its number in the talk, and they alone have
one: so published studies ask.

Each line is a JSON object, so a line break, a quote or a mark within a text stays within its string. The digits of the
mark are a hash of what is between them, so that nobody who writes a message can know them.
"""

from memlake.transforms.llm.prompting import data_block
from memlake.transforms.represent.extract.pieces import Piece, PieceTurn

ORDERS = ("spoken", "by_side")


def transcript_block(piece: Piece, order: str = ORDERS[0]) -> str:
    """The piece between its marks, a JSON object a line; turns count from 1 as they were spoken."""
    spans_several = piece.session_id is None
    numbered = list(enumerate(piece.turns, 1))
    if order == "by_side":
        numbered.sort(key=lambda line: not line[1].is_user)
    dates: dict[str, object] = {} if spans_several else {"session_date": piece.session_label}

    def dated(turn: PieceTurn) -> dict[str, object]:
        return {"session_date": turn.session_label} if spans_several and (turn.is_user or order == "spoken") else {}

    return data_block(
        "transcript",
        [
            {**dates, "speakers": piece.speakers},
            *({"before": True, "speaker": turn.speaker, "text": turn.text} for turn in piece.context),
            *({"turn": number, **dated(turn), "speaker": turn.speaker, "text": turn.text} for number, turn in numbered),
        ],
    )
