"""From what a user names to files, wherever they are, from files to shards, and from a shard to the digest that names it."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import IO, Literal, cast
from urllib.parse import unquote_to_bytes, urlsplit

from pyarrow import fs

from memlake.transforms.base.conversation import Layout, Source
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.ids import content_id

SHARD_BYTES = 128 * 1024 * 1024
_STEP = 4 * 1024 * 1024
_SHORT_STEP = 1024 * 1024


def local_path(uri: str) -> Path | None:
    """The local path of a URI; None when it names another store."""
    if "://" not in uri:
        return Path(uri)
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    # A '?' or '#' in a file's name belongs to its path.
    return Path(os.fsdecode(unquote_to_bytes(uri.removeprefix("file://").removeprefix("localhost"))))


def remote(uri: str) -> tuple[fs.FileSystem, str]:
    """The Arrow file system and path of a URI.

    Raises:
        UsageError: Arrow knows no file system for the scheme.
    """
    try:
        system, path = fs.FileSystem.from_uri(uri)
    except (ValueError, NotImplementedError) as error:
        raise UsageError(
            f"uri={uri!r} names no store that can be read: {error}", hint="give a path, file://, s3:// or gs:// URI"
        ) from error
    return system, str(path)


def open_uri(uri: str) -> IO[bytes]:
    """Open for reading; seekable. Raises OSError when it cannot be read."""
    path = local_path(uri)
    if path is not None:
        return path.open("rb", buffering=0)
    system, name = remote(uri)
    return cast("IO[bytes]", system.open_input_file(name))


def aligned(file: IO[bytes], at: int) -> int:
    """The first line start at or after a byte; the file's length when there is none."""
    if at <= 0:
        return 0
    file.seek(at - 1)
    while piece := file.read(_SHORT_STEP):
        found = piece.find(b"\n")
        if found >= 0:
            return at + found
        at += len(piece)
    return at - 1 if at > 0 else 0


def expand_sources(sources: Sequence[str]) -> list[tuple[str, int]]:
    """Files with their sizes in bytes, each once, sorted: from files, folders (recursively), globs and URIs.

    Local files are named by absolute path (by file:// URI where the path is not UTF-8). Files and folders whose name starts with a dot are left out of folders.

    Raises:
        NotFoundError: a source names no file.
        UsageError: a URI names no store that can be read.
    """
    found: dict[str, int] = {}
    for source in sources:
        path = local_path(source)
        files = _remote_files(source) if path is None else _local_files(path)
        if not files:
            raise NotFoundError(f"source={source!r} names no file", hint="check the path, folder or glob with ls")
        found.update(files)
    return sorted(found.items())


def _local_files(path: Path) -> dict[str, int]:
    # A name that exists is taken literally, so that a file called 'a[1].jsonl' can be named.
    if path.exists():
        paths = [path]
    else:
        # Path.glob takes no absolute pattern.
        paths = [Path(name) for name in glob.glob(str(path), recursive=True)]  # noqa: PTH207
    files = [file for start in paths for file in (_walk(start) if start.is_dir() else [start])]
    return {_named(file): file.stat().st_size for file in files if file.is_file()}


def _named(file: Path) -> str:
    # Path.resolve would follow links and so change the name that the user gave.
    path = os.path.abspath(file)  # noqa: PTH100
    try:
        path.encode()
    except UnicodeEncodeError:
        # A name that is no text is written as a URI, which is.
        return Path(path).as_uri()
    return path


def _walk(folder: Path) -> list[Path]:
    files = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(root, name) for name in names if not name.startswith(".")]
    return files


def _remote_files(uri: str) -> dict[str, int]:
    system, path = remote(uri)
    scheme = uri.partition("://")[0]
    info = system.get_file_info(path)
    if info.type == fs.FileType.Directory:
        inside = system.get_file_info(fs.FileSelector(path, recursive=True))
        return {f"{scheme}://{item.path}": item.size for item in inside if item.type == fs.FileType.File}
    return {uri: info.size} if info.type == fs.FileType.File else {}


def plan_shards(
    files: Iterable[tuple[str, int | None]], layout: Layout, *, shard_bytes: int = SHARD_BYTES
) -> Iterator[list[Source]]:
    """Group files into shards of about `shard_bytes`; files of lines are cut into even byte ranges, others stay whole.

    A shard is given as soon as it is full, so there may be no end of files; one of unknown size (None) is a shard of its
    own. The plan depends on names and sizes only, so a rerun over the same files plans the same shards.
    """
    shard: list[Source] = []
    filled = 0
    for source, size in _pieces(files, layout, shard_bytes):
        if shard and (size is None or filled + size > shard_bytes):
            yield shard
            shard, filled = [], 0
        shard.append(source)
        filled += shard_bytes if size is None else size
    if shard:
        yield shard


def _pieces(
    files: Iterable[tuple[str, int | None]], layout: Layout, shard_bytes: int
) -> Iterator[tuple[Source, int | None]]:
    for uri, size in files:
        count = 1 if size is None or layout == "file" else max(1, -(-size // shard_bytes))
        if size is None or count == 1:
            yield Source(uri), size
            continue
        cuts = [size * number // count for number in range(count + 1)]
        yield from ((Source(uri, start, end), end - start) for start, end in pairwise(cuts))


def source_bytes(source: Source) -> int | None:
    """How many bytes a source has; None when nobody can tell, or there is no end of them."""
    if source.end is not None:
        return source.end - source.start
    path = local_path(source.uri)
    try:
        if path is not None:
            return path.stat().st_size - source.start if path.is_file() else None
        system, name = remote(source.uri)
        size = system.get_file_info(name).size
    except OSError:
        return None
    return None if size is None else size - source.start


def shard_digest(sources: Sequence[Source]) -> str:
    """128-bit blake2b of a shard's bytes as 32 hexadecimal digits: of whole files, or of the lines that start in a range.

    A file that cannot be read counts by that fact alone, so a rerun after it was mended is another shard.
    """
    digest = blake2b(digest_size=16)
    for source in sources:
        digest.update(_source_digest(source))
    return digest.hexdigest()


def _source_digest(source: Source) -> bytes:
    digest = blake2b(digest_size=16)
    try:
        with open_uri(source.uri) as file:
            start = aligned(file, source.start)
            end = None if source.end is None else aligned(file, source.end)
            file.seek(start)
            while piece := file.read(_STEP if end is None else min(_STEP, end - start)):
                digest.update(piece)
                start += len(piece)
    except OSError:
        return b"unreadable"
    return digest.digest()


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
