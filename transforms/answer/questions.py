"""What is asked: a question's text, date and options by its key, whatever label sets it has."""

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from memlake.transforms.answer.options import chosen, shown_order
from memlake.transforms.base.errors import NotFoundError

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question as a reader meets it.

    Attributes:
        options: in the source's order.
        order: which of them stands at each place that is shown.
    """

    text: str
    asked_at: datetime | None
    options: tuple[str, ...]
    order: tuple[int, ...]

    def option_of(self, reply: str) -> int | None:
        """The option that a reply chooses, by its place in the source; None where it names none."""
        return chosen(reply, self.options, self.order) if self.options else None


class Questions:
    """Questions by corpus and id; of several label sets the official one words it, else the first by name."""

    def __init__(self, questions: pa.Table) -> None:
        columns = ["corpus", "question_id", "label_set", "text", "asked_at", "options"]
        rows = zip(*(questions[name].to_pylist() for name in columns), strict=True)
        self._of: dict[Key, AskedQuestion] = {}
        for corpus, name, _, text, asked_at, options in sorted(rows, key=lambda row: (row[2] != "official", row[2])):
            if (corpus, name) not in self._of:
                order = shown_order(corpus, name, len(options))
                self._of[corpus, name] = AskedQuestion(text, asked_at, tuple(options), tuple(order))

    def __getitem__(self, key: Key) -> AskedQuestion:
        """The question of a key.

        Raises:
            NotFoundError: there is none, so its answers would be read against nothing.
        """
        if key not in self._of:
            raise NotFoundError(
                f"question_id={key[1]!r} of corpus={key[0]!r} is not among the questions: {len(self._of)} are",
                hint="pass the questions of every corpus that the contexts are of",
            )
        return self._of[key]

    def of_rows(self, rows: pa.Table) -> list[AskedQuestion]:
        """The question of each row of contexts or answers."""
        return [self[key] for key in zip(rows["corpus"].to_pylist(), rows["question_id"].to_pylist(), strict=True)]
