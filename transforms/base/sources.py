"""From what a user names to files, from files to shards, and from a shard to the digest that names it."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from pyarrow import fs

from memlake.transforms.base.conversation import Layout, Source
from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.lines import aligned
from memlake.transforms.base.opening import local_path, open_uri, remote

SHARD_BYTES = 128 * 1024 * 1024
_STEP = 4 * 1024 * 1024


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
