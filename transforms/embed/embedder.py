"""What every embedder is: text to vectors, with what made them on record; and how a user asks for one.

An embedder or a reranker is asked for as NAME[@CHECKPOINT[#REVISION]][,KEY=VALUE,...], which is read here as data.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from memlake.transforms.base.arrays import Float32s, Ints, runs
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.ids import content_id

_OPTION = re.compile(r",([a-z_]+)=([A-Za-z0-9.]+)$")
_HUB_ID = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*")
_DTYPES = ("fp32", "bf16", "fp16")
_POOLINGS = ("cls", "mean")
_DEVICE = re.compile(r"cpu|cuda|cuda[0-9]+")


@dataclass(frozen=True, slots=True)
class Options:
    """How a local model is run; what is None is chosen by the model or the machine.

    Attributes:
        max_length: longest input in tokens; texts above it are cut, and reported.
        dtype: fp32, bf16 or fp16; by default fp16 on CUDA and fp32 elsewhere.
        tokens: tokens of one batch with its padding; by default 8192 on a CPU, 65536 on CUDA.
        device: cpu, cuda or cuda0, cuda1, ...; by default CUDA where there is one.
        pooling: cls or mean, for `flag` where the checkpoint does not say.
    """

    max_length: int | None = None
    dtype: str | None = None
    tokens: int | None = None
    device: str | None = None
    pooling: str | None = None

    @property
    def decisive(self) -> str:
        """Those that change what comes out by more than rounding, as text; part of a card's revision."""
        chosen = {"max_length": self.max_length, "pooling": self.pooling}
        return "".join(f",{name}={value}" for name, value in chosen.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Spec:
    """What a user asks for: which kind, whose weights, how it is run.

    Attributes:
        text: as the user wrote it.
        kind: the name before '@'.
        checkpoint: a path that starts with '/', '.' or '~', or a hub id; '' for the kind's own.
        revision: of a hub id: a branch, tag or commit; '' for the one that is stored locally as 'main'.
    """

    text: str
    kind: str
    checkpoint: str = ""
    revision: str = ""
    options: Options = field(default_factory=Options)

    @property
    def is_torch(self) -> bool:
        """Whether torch runs it."""
        return self.kind not in ("static", "openai")

    @property
    def is_path(self) -> bool:
        """Whether the checkpoint is a folder rather than a hub id."""
        return self.checkpoint.startswith(("/", ".", "~"))


def parse_spec(text: str, kinds: Sequence[str]) -> Spec:
    """Read NAME[@CHECKPOINT[#REVISION]][,KEY=VALUE,...]; a comma ends the checkpoint only where KEY=VALUE follows.

    Raises:
        UsageError: a checkpoint that is neither a path nor a hub id, or an option that is not allowed.
    """
    rest, assigned = text, dict[str, str]()
    while found := _OPTION.search(rest):
        if found[1] in assigned:
            raise UsageError(f"{text!r}: option {found[1]!r} comes twice", hint=_hint(kinds))
        assigned[found[1]] = found[2]
        rest = rest[: found.start()]
    kind, mark, checkpoint = rest.partition("@")
    revision = ""
    if mark and not checkpoint.startswith(("/", ".", "~")):
        checkpoint, sign, revision = checkpoint.partition("#")
        if not _HUB_ID.fullmatch(checkpoint) or (sign and not revision):
            raise UsageError(
                f"{text!r}: checkpoint={checkpoint!r} is neither a path (it starts with '/', '.' or '~') nor a hub id "
                "OWNER/NAME with an optional #REVISION",
                hint=_hint(kinds),
            )
    return Spec(text, kind, checkpoint, revision, _options(text, assigned, kinds))


def _options(text: str, assigned: Mapping[str, str], kinds: Sequence[str]) -> Options:
    allowed: dict[str, Callable[[str], Any]] = {
        "max_length": lambda value: int(value) if value.isdecimal() and int(value) >= 8 else None,
        "tokens": lambda value: int(value) if value.isdecimal() and int(value) > 0 else None,
        "dtype": lambda value: value if value in _DTYPES else None,
        "device": lambda value: value if _DEVICE.fullmatch(value) else None,
        "pooling": lambda value: value if value in _POOLINGS else None,
    }
    chosen: dict[str, Any] = {}
    for key, value in assigned.items():
        if key not in allowed:
            raise UsageError(f"{text!r}: no option {key!r}: {', '.join(allowed)}", hint=_hint(kinds))
        chosen[key] = allowed[key](value)
        if chosen[key] is None:
            raise UsageError(
                f"{text!r}: {key}={value!r} is not allowed: max_length and tokens are whole numbers (max_length 8 or "
                f"more), dtype one of {', '.join(_DTYPES)}, device cpu, cuda or cuda0, pooling one of "
                f"{', '.join(_POOLINGS)}",
                hint=_hint(kinds),
            )
    return Options(**chosen)


def _hint(kinds: Sequence[str]) -> str:
    return f"write it as {kinds[0]}@./FOLDER or {kinds[0]}@OWNER/NAME#REVISION, options as ,dtype=bf16,max_length=512"


@dataclass(frozen=True, slots=True)
class EmbedderCard:
    """What made a vector; stored in the Lance schema metadata and compared before vectors are mixed.

    Attributes:
        embedder: its short name, of which tables are named: `memlake.schemas.vectors.embedder_name`.
        model: whose weights: a hub id, or the name of a folder.
        revision: which: a pinned commit, or a digest of the folder's files, with what else decides the output.
        sparse: it also gives a weight to each token of a text.
        multi: dimension of the vectors that it gives to each token of a text; 0 for none.
    """

    embedder: str
    model: str
    revision: str
    dimension: int
    normalised: bool
    sparse: bool = False
    multi: int = 0

    @property
    def outputs(self) -> frozenset[str]:
        """What it gives: 'dense' always, 'sparse', 'multi'."""
        there = {"dense": True, "sparse": self.sparse, "multi": bool(self.multi)}
        return frozenset(name for name, given in there.items() if given)


@dataclass(frozen=True, slots=True)
class Ragged:
    """Several values a text: those of text i are values[offsets[i]:offsets[i + 1]].

    Attributes:
        offsets: shape (texts + 1,), int64.
        values: arrays of equal length along their first axis.
    """

    offsets: Ints
    values: tuple[npt.NDArray[Any], ...]

    def of(self, text: int) -> tuple[npt.NDArray[Any], ...]:
        """The values of one text."""
        return tuple(value[self.offsets[text] : self.offsets[text + 1]] for value in self.values)

    def take(self, texts: Ints) -> "Ragged":
        """The values of some texts, in another order; copied."""
        sizes = np.diff(self.offsets)[texts]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        place = runs(self.offsets[:-1][texts], sizes)
        return Ragged(offsets, tuple(value[place] for value in self.values))


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a text has no vector; `passes` where asking again later may bring one."""

    reason: str
    detail: str = ""
    passes: bool = False


@dataclass(frozen=True, slots=True)
class Encoded:
    """All that an embedder gives of some texts.

    Attributes:
        dense: shape (n, dimension).
        sparse: token ids, ascending (int32), and their weights, above 0 (float32).
        multi: vectors of tokens, shape (tokens, multi), float32.
        cut: text number to (tokens that the model saw, tokens that the text has), of texts over its longest input.
        failed: text number to why it has no vector; its row of `dense` means nothing.
    """

    dense: Float32s
    sparse: Ragged | None = None
    multi: Ragged | None = None
    cut: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    failed: Mapping[int, Failure] = field(default_factory=dict)

    @property
    def of_tokens(self) -> list[Ragged]:
        """What it gives of single tokens: sparse and multi, those that are there."""
        return [part for part in (self.sparse, self.multi) if part is not None]


class Embedder(Protocol):
    """A loaded model; `embed` gives one row a text and never cuts a text silently."""

    card: EmbedderCard

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Vectors of shape (len(texts), dimension), float32; equal texts give equal rows whatever the batch."""


@runtime_checkable
class Encoder(Embedder, Protocol):
    """An embedder that has more to tell than vectors."""

    def embed(self, texts: Sequence[str]) -> Float32s:
        """The dense part of `encode`, of shape (len(texts), dimension)."""
        return self.encode(texts).dense

    def encode(self, texts: Sequence[str], *, questions: bool = False) -> Encoded:
        """All outputs of some texts; `questions` for models that embed questions otherwise than passages."""


def encode(embedder: Embedder, texts: Sequence[str], *, questions: bool = False) -> Encoded:
    """All that an embedder gives of some texts, one row a text in order."""
    if isinstance(embedder, Encoder):
        return embedder.encode(texts, questions=questions)
    return Encoded(embedder.embed(texts))


def ragged(pieces: Sequence[Sequence[npt.NDArray[Any]]], like: Sequence[npt.NDArray[Any]]) -> Ragged:
    """Ragged values from those of each text; `like` gives type and shape where there is no text."""
    sizes = [len(piece[0]) for piece in pieces]
    values = [np.concatenate([empty[:0], *(piece[place] for piece in pieces)]) for place, empty in enumerate(like)]
    return Ragged(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), tuple(values))


def fingerprint(card: EmbedderCard) -> str:
    """What makes vectors comparable: model, revision, dimension, normalisation, and what else stands beside them."""
    beside = [name for name, there in (("sparse", card.sparse), (f"multi={card.multi}", card.multi)) if there]
    return content_id(card.model, card.revision, card.dimension, str(card.normalised), *beside)
