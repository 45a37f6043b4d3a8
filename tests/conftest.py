"""What every test may ask for."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test asserts a time: a busy machine would fail it.
settings.register_profile("memlake", deadline=None)
settings.load_profile("memlake")

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real evaluation data; skips where it is absent, since its licences forbid shipping it."""
    path = Path(os.environ.get("MEMLAKE_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no evaluation data at {path}: set MEMLAKE_SHARED_DATA")
    return path
