"""Where a checkpoint's files lie, and which they are exactly; nothing is ever fetched from here."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.embed.embedder import Spec

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_DIGESTED = (".safetensors", ".bin", ".pt", ".json", ".txt", ".model")
# Other exports of the same weights, which nothing here loads.
_SKIPPED = ("onnx", "openvino", "imgs")
_BLOCK = 1 << 22
_COMMIT = 40


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Files of a model: the folder, whose they are, and which: the commit of a hub id, a digest of other files."""

    folder: Path
    model: str
    revision: str


# What every checkpoint holds beside weights.
PLAIN = ("config.json",)


def find_checkpoint(spec: Spec, *, hub_id: str = "", needs: Sequence[str] = PLAIN) -> Checkpoint:
    """Find a checkpoint on this machine: a folder, or a hub id in the local cache of the hub.

    Args:
        hub_id: of the kind's own checkpoint, where the spec names none.
        needs: files that it must hold; beside a config.json also weights.

    Raises:
        NotFoundError: it, or a file of it, is not here; the hint is the command that fetches it.
    """
    if spec.is_path:
        folder = Path(spec.checkpoint).expanduser()
        fetch = f"hf download {hub_id or 'OWNER/NAME'} --local-dir {shlex.quote(spec.checkpoint)}"
        if not folder.is_dir():
            raise NotFoundError(f"{spec.kind}: checkpoint={spec.checkpoint!r} is no folder", hint=fetch)
        _check_files(spec, folder, needs, fetch)
        # Not where it lies: the same files under another path are the same model.
        return Checkpoint(folder, hub_id or folder.resolve().name, _digest(folder))
    name = spec.checkpoint or hub_id
    if not name:
        raise NotFoundError(
            f"{spec.kind} stands for no model of its own",
            hint=f"name one: {spec.kind}@./FOLDER or {spec.kind}@OWNER/NAME",
        )
    fetch = f"hf download {name}" + (f" --revision {spec.revision}" if spec.revision else "")
    folder = _cached(spec, name, fetch)
    _check_files(spec, folder, needs, fetch)
    return Checkpoint(folder, name, folder.name)


def _cached(spec: Spec, name: str, fetch: str) -> Path:
    with extra_imports(spec.kind):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    try:
        folder = Path(str(snapshot_download(name, revision=spec.revision or None, local_files_only=True)))
    except (LocalEntryNotFoundError, HFValidationError) as error:
        beside = f"; for the folder of that name write {spec.kind}@./{name}" if Path(name).is_dir() else ""
        revision = f" revision={spec.revision!r}" if spec.revision else ""
        raise NotFoundError(
            f"{spec.kind}: the weights of {name!r}{revision} are not in the local cache of the hub{beside}", hint=fetch
        ) from error
    if len(folder.name) != _COMMIT:
        raise NotFoundError(f"{spec.kind}: the cache of {name!r} names no commit: {folder}", hint=fetch)
    return folder


@contextmanager
def extra_imports(kind: str) -> Iterator[None]:
    """A block that imports libraries of the extra `bge`; NotFoundError where one is not installed, or does not import."""
    try:
        yield
    except ImportError as error:
        raise NotFoundError(
            f"{kind} needs FlagEmbedding, torch and transformers below 5.24, which do not import: {error}",
            hint="pip install 'memlake[bge]'",
        ) from error


def _check_files(spec: Spec, folder: Path, needs: Sequence[str], fetch: str) -> None:
    missing = [name for name in needs if not (folder / name).is_file()]
    if "config.json" in needs and not any((folder / name).is_file() for name in _WEIGHTS):
        missing.append(_WEIGHTS[0])
    if missing:
        raise NotFoundError(
            f"{spec.kind}: checkpoint={str(folder)!r} lacks {', '.join(missing)}: it is no whole checkpoint", hint=fetch
        )


def _digest(folder: Path) -> str:
    """Digest of every file that makes the model what it is: weights, heads, settings, tokeniser."""
    whole = blake2b(digest_size=10)
    files = (path for path in folder.rglob("*") if path.suffix in _DIGESTED and path.is_file())
    named = sorted((path.relative_to(folder).as_posix(), path) for path in files)
    for name, path in named:
        if any(part in _SKIPPED or part.startswith(".") for part in name.split("/")):
            continue
        whole.update(f"{name}\0{path.stat().st_size}\0".encode("utf-8", "surrogateescape"))
        with path.open("rb") as opened:
            while block := opened.read(_BLOCK):
                whole.update(block)
    return whole.hexdigest()
