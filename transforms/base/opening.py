"""Open a source for reading, wherever it is: a local path, a file:// URI, or an object store that Arrow knows."""

import os
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote_to_bytes, urlsplit

from pyarrow import fs

from memlake.transforms.base.errors import UsageError


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
