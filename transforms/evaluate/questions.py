"""The questions that a study asks, and the labels that it scores them against."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.text.content_tokens import Language, content_tokens_of


def labelled_questions(
    questions: pa.Table,
    *,
    label_sets: Sequence[str] = (),
    categories: Sequence[str] = (),
    language: Language = "english",
) -> pa.Table:
    """The rows that a study asks and scores: its label sets and categories, with answer tokens in its language.

    Args:
        questions: rows of the questions schema, whose answer_tokens are English ones.
        label_sets: only rows of these; empty for all.
        categories: only rows of these; empty for all.
        language: how contexts and stores are stemmed, and so answers too.

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
    tokens = content_tokens_of(pc.fill_null(questions["answer"], ""), language=language, distinct=True)
    place = questions.schema.get_field_index("answer_tokens")
    return questions.set_column(place, questions.schema.field(place), tokens)


def each_once(questions: pa.Table) -> pa.Table:
    """Each question once, whatever the number of label sets that label it, ordered by conversation and position."""
    ordered = questions.sort_by(
        [(name, "ascending") for name in ("corpus", "conversation_id", "position", "question_id", "label_set")]
    )
    place = pa.array(range(ordered.num_rows), pa.int64())
    first = ordered.append_column("place", place).group_by(["corpus", "question_id"]).aggregate([("place", "min")])
    return ordered.take(first["place_min"].sort())
