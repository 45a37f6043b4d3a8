"""Manifests: what one shard staged. Named by the shard's content and put last, so that a rerun can trust them."""

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from memlake.transforms.base.batch import PARTS_SEEN
from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.lake.storage.files import StagedFile, StagedFragment
from memlake.transforms.lake.storage.place import (
    are_whole,
    is_parquet,
    put_aside,
    put_once,
    read_json,
    read_parquet,
    remove,
    write_parquet,
)

SUFFIX = ".manifest.json"
DEAD_SEEN = pa.schema(
    [
        pa.field("reason", pa.string(), nullable=False),
        pa.field("error", pa.string(), nullable=False),
        pa.field("source_uri", pa.string(), nullable=False),
        pa.field("position", pa.int64()),
        pa.field("scope", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("payload", pa.string()),
    ]
)


class StageAgainError(Exception):
    """Some shards' manifests are gone, or no longer true of the base; not an error of the user's."""

    def __init__(self, shards: Iterable[str]) -> None:
        self.shards = tuple(shards)
        super().__init__(f"shards to stage again: {', '.join(self.shards)}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything one shard staged; `parts` and `dead` name Parquet files beside the manifest.

    `seen` counts what was read, changed or not; `conflicts` how many shards SHARD-1, ... hold other versions of
    conversations that stand in this one.
    """

    shard: str
    corpus: str
    files: tuple[StagedFile, ...]
    fragments: tuple[StagedFragment, ...]
    parts: tuple[str, ...]
    dead: tuple[str, ...]
    seen: dict[str, int]
    conflicts: int = 0

    def read_parts(self, staged: Path) -> pa.Table:
        """PARTS_SEEN rows of the shard."""
        return read_beside(staged, self.parts, PARTS_SEEN)

    def read_dead(self, staged: Path) -> pa.Table:
        """DEAD_SEEN rows of the shard."""
        return read_beside(staged, self.dead, DEAD_SEEN)

    def vector_files(self, root: Path) -> list[Path]:
        """Where the data of its Lance fragments lies."""
        return [path for fragment in self.fragments for path in fragment.sizes_in(root)]

    def is_whole(self, root: Path) -> bool:
        """Whether every file that it names is there and as long as it was written."""
        sizes = {file.path_in(root): file.size for file in self.files}
        for fragment in self.fragments:
            sizes |= fragment.sizes_in(root)
        return are_whole(sizes) and all(map(is_parquet, self.beside(root / "staged")))

    def beside(self, staged: Path) -> list[Path]:
        """The Parquet files beside the manifest."""
        return [staged / name for name in (*self.parts, *self.dead)]


def put_manifest(staged: Path, manifest: Manifest) -> Manifest:
    """Put a shard's manifest unless another attempt has; return the manifest that was put first."""
    fields = asdict(manifest)
    fields["rivals"] = fields.pop("conflicts")
    if put_once(manifest_path(staged, manifest.shard), json.dumps(fields)):
        return manifest
    return read_manifest(staged, manifest.shard) or manifest


def read_manifest(staged: Path, shard: str) -> Manifest | None:
    """The manifest of a shard; None when the shard is not finished."""
    fields = read_json(manifest_path(staged, shard))
    if fields is None:
        return None
    fields["files"] = tuple(StagedFile(**file) for file in fields["files"])
    fields["fragments"] = tuple(StagedFragment(**fragment) for fragment in fields["fragments"])
    fields["parts"], fields["dead"] = tuple(fields["parts"]), tuple(fields["dead"])
    fields["conflicts"] = fields.pop("rivals", 0)
    return Manifest(**fields)


def staged_manifests(staged: Path, shards: Iterable[str]) -> list[Manifest]:
    """The manifests of some shards, each followed by those of its other versions.

    Raises:
        StageAgainError: some are not there.
    """
    found = {shard: _versions(staged, shard) for shard in dict.fromkeys(shards)}
    if missing := [shard for shard, manifests in found.items() if None in manifests]:
        raise StageAgainError(missing)
    return [manifest for manifests in found.values() for manifest in manifests if manifest is not None]


def is_finished(root: Path, shard: str) -> bool:
    """Whether the manifests of a shard and of its other versions are all there and whole; broken ones are dropped."""
    found = _versions(root / "staged", shard)
    broken = [manifest for manifest in found if manifest is not None and not manifest.is_whole(root)]
    for manifest in broken:
        drop_manifest(root / "staged", manifest)  # or the next attempt would lose to it
    return not broken and None not in found


def _versions(staged: Path, shard: str) -> list[Manifest | None]:
    """The manifest of a shard and those of its other versions; None for each that is not there."""
    first = read_manifest(staged, shard)
    return [
        first,
        *(read_manifest(staged, f"{shard}-{number + 1}") for number in range(first.conflicts if first else 0)),
    ]


def manifest_path(staged: Path, shard: str) -> Path:
    """Where a shard's manifest lies."""
    return staged / f"{shard}{SUFFIX}"


def drop_manifest(staged: Path, manifest: Manifest, *, beside: bool = True) -> None:
    """Forget a manifest: committed, or no longer true. The files it staged are then the commit's, or orphans."""
    remove(manifest_path(staged, manifest.shard), *(manifest.beside(staged) if beside else ()))


def set_aside(staged: Path, manifest: Manifest, run_id: str) -> None:
    """Keep a manifest that failed an audit for people to look at; no run picks it up again."""
    put_aside(manifest_path(staged, manifest.shard), f"{manifest.shard}.{run_id}.failed.json")


def discard(root: Path, manifest: Manifest) -> None:
    """Delete the files of a manifest that lost to another attempt; nothing else knows their random names."""
    files = [file.path_in(root) for file in manifest.files]
    remove(*files, *manifest.beside(root / "staged"), *manifest.vector_files(root))


def dead_rows(letters: Iterable[DeadLetter]) -> pa.Table:
    """Dead letters as DEAD_SEEN rows."""
    rows = [{name: getattr(letter, name) for name in DEAD_SEEN.names} for letter in letters]
    return pa.Table.from_pylist(rows, schema=DEAD_SEEN)


def write_beside(staged: Path, rows: pa.Table, kind: str) -> str:
    """Write a small Parquet file beside the manifests and return its name."""
    name = f"{secrets.token_hex(16)}.{kind}.parquet"
    with write_parquet(staged / name, rows.schema) as writer:
        writer.write_table(rows)
    return name


def read_beside(staged: Path, names: tuple[str, ...], schema: pa.Schema) -> pa.Table:
    """Read small Parquet files that `write_beside` wrote."""
    return read_parquet([staged / name for name in names], schema=schema)
