"""A test server that says what it is told, shared by the tests of a file."""

import pytest
from openai_server import Faults, OpenAIServer

ECHO = "openai_replies:echo"


@pytest.fixture(scope="module")
def echo():
    """A server that says what it is told, shared by tests that count from where they begin."""
    with OpenAIServer(script=ECHO) as server:
        yield server


@pytest.fixture
def server(echo):
    echo.set(script=ECHO, faults=Faults(), latency_s=0.0, slow_s=0.2, key="", no_schema=False, no_json_object=False)
    echo.set(reasoning=False, hold_after=None, context_tokens=None, dimension=16)
    echo.reset()
    return echo
