"""A piece of a transcript as a model is shown it: data between marks that the data cannot hold.

    <transcript-5f1c9a2e8b7d4036>
    {"session_date": "8 May, 2023", "speakers": ["Ann", "Bo"]}
    {"before": true, "speaker": "Bo", "text": "shown for context only"}
    {"turn": 1, "speaker": "Ann", "text": "..."}
    </transcript-5f1c9a2e8b7d4036>

Each line is a JSON object, so a line break, a quote or a mark within a text stays within its string. The digits of the
mark are a hash of what is between them, so that nobody who writes a message can know them.
"""

import json
from collections.abc import Sequence

from transforms.extract.pieces import Piece
from transforms.ids import content_id


def transcript_block(piece: Piece) -> str:
    """The piece between its marks, a JSON object a line; turns count from 1."""
    return data_block(
        "transcript",
        [
            {"session_date": piece.session_label, "speakers": piece.speakers},
            *({"before": True, "speaker": turn.speaker, "text": turn.text} for turn in piece.context),
            *(
                {"turn": number, "speaker": turn.speaker, "text": turn.text}
                for number, turn in enumerate(piece.turns, 1)
            ),
        ],
    )


def data_block(name: str, lines: Sequence[object]) -> str:
    """Values as JSON lines between marks `<NAME-digits>` and `</NAME-digits>` whose digits occur nowhere in them."""
    body = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    tries = 0
    while (digits := content_id(name, body, tries)[:16]) in body:
        tries += 1
    return f"<{name}-{digits}>\n{body}\n</{name}-{digits}>"
