"""Small helpers for the tests of readers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions, Source
from memlake.transforms.read.catalogue import read_source

Read = Callable[..., tuple[list[Conversation], list[DeadLetter]]]
Write = Callable[..., str]


@pytest.fixture
def read() -> Read:
    """Read a source; return its conversations and its dead letters."""

    def call(source: str | Source, format_name: str = "auto", **options: str):
        source = source if isinstance(source, Source) else Source(source)
        items = list(read_source(source, format_name, ReadOptions(**options)))
        return (
            [item for item in items if isinstance(item, Conversation)],
            [item for item in items if isinstance(item, DeadLetter)],
        )

    return call


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write bytes, JSON lines (a list) or one JSON value (anything else) to a file; return its path."""

    def call(content: object, name: str = "input") -> str:
        if isinstance(content, bytes):
            raw = content
        elif isinstance(content, list):
            raw = b"".join(json.dumps(line).encode() + b"\n" for line in content)
        else:
            raw = json.dumps(content).encode()
        (tmp_path / name).write_bytes(raw)
        return str(tmp_path / name)

    return call
