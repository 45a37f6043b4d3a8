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

    def size(self, root: Path) -> int | None:
        """Bytes of its input; None when nobody can tell."""
        sources = [*self.sources, *(Source(str(root / file)) for file in self.files)]
        sizes = [size for source in sources if (size := source_bytes(source)) is not None]
        return sum(sizes) if len(sizes) == len(sources) else None

    def name(self) -> str:
        """The name of its manifest: a hash of its content and of what is made of it."""
        return content_id(self.seed, self.kind, self.digest or shard_digest(self.sources))
