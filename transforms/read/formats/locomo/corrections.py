"""Corrected labels of LoCoMo: an overlay over the official ones, matched by place and checked by the question's text."""

import json
import re
from dataclasses import dataclass
from typing import Any

from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.sources import open_uri
from memlake.transforms.read.common.draft import Draft

_NAME = re.compile(r"locomo_(\d+)_qa(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Corrections:
    """Rows by (conversation's place in the official list, question's place in it), both from 0."""

    rows: dict[tuple[int, int], dict[str, Any]]

    def of(self, position: int, text: str, draft: Draft) -> dict[str, Any]:
        """The correction of a draft's question; {} when there is none, or when it is of another question (reported)."""
        row = self.rows.get((-1 if draft.position is None else draft.position, position), {})
        if row and row.get("question") != text:
            error = f"correction locomo_{draft.position}_qa{position} is of another question than stands there"
            letter = DeadLetter("correction_mismatch", error, draft.uri, position, "question", "kept")
            draft.letters.append(letter)
            return {}
        return row


def load_corrections(uri: str) -> Corrections:
    """Read corrections.json: a list of {question_id 'locomo_0_qa1', question, correct_answer, correct_evidence, ...}.

    Raises:
        NotFoundError: there is no such file.
        UsageError: it is not a list of such rows.
    """
    try:
        with open_uri(uri) as file:
            rows = json.loads(file.read())
        named = {_NAME.fullmatch(row["question_id"]): row for row in rows}
    except FileNotFoundError as error:
        raise NotFoundError(f"corrections={uri!r} does not exist", hint="give the path of corrections.json") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"corrections={uri!r} cannot be read: {type(error).__name__}: {error}",
            hint="give a JSON list of rows with question_id locomo_N_qaM, question, correct_answer, correct_evidence",
        ) from error
    return Corrections({(int(match[1]), int(match[2])): row for match, row in named.items() if match})
