"""The questions that a study asks."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from transforms.errors import NotFoundError


def asked_questions(questions: pa.Table, *, label_sets: Sequence[str] = (), categories: Sequence[str] = ()) -> pa.Table:
    """Each question once, whatever the number of label sets that label it, ordered by conversation and position.

    Args:
        questions: rows of the questions schema.
        label_sets: only questions that one of these labels; empty for all.
        categories: only questions of these; empty for all.

    Raises:
        NotFoundError: no question has one of the label sets or categories.
    """
    for column, wanted in (("label_set", label_sets), ("category", categories)):
        there = pc.unique(questions[column]).to_pylist()
        if missing := [name for name in wanted if name not in there]:
            raise NotFoundError(
                f"no question has {column}={missing[0]!r}: there are {', '.join(sorted(there)) or 'none'}",
                hint="memlake sql --file corpus-overview",
            )
        if wanted:
            questions = questions.filter(pc.is_in(questions[column], value_set=pa.array(wanted, pa.string())))
    ordered = questions.sort_by(
        [(name, "ascending") for name in ("corpus", "conversation_id", "position", "question_id", "label_set")]
    )
    place = pa.array(range(ordered.num_rows), pa.int64())
    first = ordered.append_column("place", place).group_by(["corpus", "question_id"]).aggregate([("place", "min")])
    return ordered.take(first["place_min"].sort())
