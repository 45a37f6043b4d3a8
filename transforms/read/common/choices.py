"""The options of multiple-choice questions, with the place of the right one kept apart from them."""

from dataclasses import dataclass, field
from hashlib import blake2b

from memlake.transforms.text.clean import as_answer


@dataclass(frozen=True, slots=True)
class Choices:
    """Options in the order in which they are shown; `right` is the place of the right one, None when nobody says."""

    options: list[str] = field(default_factory=list)
    right: int | None = None

    @property
    def right_text(self) -> str | None:
        """The right option's text."""
        return None if self.right is None else self.options[self.right]

    @property
    def attributes(self) -> dict[str, object]:
        """What a question records of them: right_option, from 0; {} when nobody says which one is right."""
        return {} if self.right is None else {"right_option": self.right}


def lettered(choices: object, right: object) -> Choices:
    """The options of {letter: text} in the source's order; the right one is named by its letter."""
    if not isinstance(choices, dict):
        return Choices()
    texts = {letter: text for letter, value in choices.items() if (text := as_answer(value)) is not None}
    letters = list(texts)
    name = right.strip() if isinstance(right, str) else right
    return Choices(list(texts.values()), letters.index(name) if name in letters else None)


def shuffled(options: list[str], right: int, key: str) -> Choices:
    """The options in an order that depends on the key alone: sources that always put the right one first tell it."""
    order = sorted(range(len(options)), key=lambda place: blake2b(f"{key}|{place}".encode(), digest_size=8).digest())
    return Choices([options[place] for place in order], order.index(right))
