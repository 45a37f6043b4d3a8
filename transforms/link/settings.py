"""Which units are linked, and what the links are called."""

from dataclasses import dataclass
from typing import Annotated

from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.ids import check_name, content_id
from memlake.transforms.base.setting import Option

# Raised only when the same units and vectors come to other links.
REVISION = 1


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Which units are linked, and what the links are called.

    Attributes:
        threshold: the least cosine.
        k: at most so many links leave a unit; 0 is no limit.
        shared_word_threshold: the least cosine of two units that share a word of three letters or more which is no stop
            word; None leaves this rule out.
        relation: the name of these links; the same name with other settings replaces them.
    """

    threshold: Annotated[float, Option("Least cosine of two linked units.")] = 0.5
    k: Annotated[int, Option("Most links that leave a unit; 0 for no limit.")] = 10
    shared_word_threshold: Annotated[
        float | None,
        Option("Least cosine where two units share a word of three letters or more that is no stop word."),
    ] = None
    relation: Annotated[str, Option("Name of these links; other settings under it replace them.")] = "similar"

    def __post_init__(self) -> None:
        check_name("relation", self.relation)
        if not -1 <= self.threshold <= 1:
            raise UsageError(f"threshold={self.threshold}: a cosine from -1 to 1 is allowed", hint="--threshold 0.5")
        if self.k < 0:
            raise UsageError(f"k={self.k}: 0 (no limit) or more is allowed", hint="--k 10")
        lower = self.shared_word_threshold
        if lower is not None and not -1 <= lower <= self.threshold:
            raise UsageError(
                f"shared_word_threshold={lower}: a cosine from -1 to threshold={self.threshold} is allowed",
                hint="--shared-word-threshold 0.3",
            )

    @property
    def settings_hash(self) -> str:
        """What decides the links, but for units and vectors."""
        return content_id(
            "similar", REVISION, repr(self.threshold), self.k, repr(self.shared_word_threshold), self.relation
        )
