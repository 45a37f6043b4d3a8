"""The lake that version 0.1.0 stored, unpacked once."""

from pathlib import Path

import pytest
import stored_lakes as stored

import memlake


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    """The stored lake beside its sources; nothing writes to it."""
    return stored.unpack(tmp_path_factory.mktemp("stored"))


@pytest.fixture(scope="session")
def lake(place):
    return memlake.open(str(place / "lake"))
