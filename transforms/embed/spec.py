"""What a user asks for as an embedder or a reranker: NAME[@CHECKPOINT[#REVISION]][,KEY=VALUE,...] as data."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memlake.transforms.base.errors import UsageError

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
    """One wish: which kind, whose weights, how it is run.

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
    """Read a wish; a comma ends the checkpoint only where KEY=VALUE follows.

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
