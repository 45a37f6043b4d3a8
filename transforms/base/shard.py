"""Shards: pieces of work, planned by size, each small enough to stage anew when its worker is lost."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memlake.transforms.base.conversation import Source
from memlake.transforms.base.ids import content_id
from memlake.transforms.base.sources import shard_digest, source_bytes


@dataclass(frozen=True, slots=True)
class Shard:
    """A piece of work.

    Attributes:
        kind: 'source' is files or byte ranges; 'bucket' gathered turns; 'turns' and 'units' files of the lake's own tables.
        index: its place in the job, for the run's notes on which manifest is whose.
        seed: everything but the bytes that decides what is staged: corpus, reader, representations, embedder, schemas.
        files: of a bucket or of the lake's tables, relative to the lake's root.
        digest: given when the content is known without reading it; '' otherwise.
    """

    kind: Literal["source", "bucket", "turns", "units"]
    index: int
    seed: str
    format: str = ""
    sources: tuple[Source, ...] = ()
    files: tuple[str, ...] = ()
    digest: str = ""

    def size(self, root: Path) -> int:
        """Bytes of its input; files of the lake that are gone count nothing."""
        files = [root / file for file in self.files]
        return sum(map(source_bytes, self.sources)) + sum(file.stat().st_size for file in files if file.is_file())

    def name(self) -> str:
        """The name of its manifest: a hash of its content and of what is made of it."""
        return content_id(self.seed, self.kind, self.digest or shard_digest(self.sources))
