"""Model edges on test servers: one at a time or several, quick to give up, and what they wrote."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from memlake.transforms.llm.edge import Edge, EdgeSettings
from memlake.transforms.llm.limits.quota import Limits
from memlake.transforms.llm.limits.quota_server import QuotaServer, quota_server
from memlake.transforms.llm.protocol.model import Message, Request
from memlake.transforms.llm.protocol.retry_policy import RetryPolicy

QUICK = RetryPolicy(attempts=6, first_delay_s=0.01, most_delay_s=0.05, budget_s=30.0)
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"summary": {"type": "string"}},
        "required": ["summary"],
        "additionalProperties": False,
    }
)


class EdgeAndQuota(NamedTuple):
    """An edge and the driver's side of it."""

    edge: Edge
    quota: QuotaServer


@contextmanager
def edge_and_quota(url: str, root: Path, *, limits: Limits | None = None, **settings: Any) -> Iterator[EdgeAndQuota]:
    """One worker's edge with a quota server of its own."""
    tests = {name: settings.pop(name) for name in ("sleep", "random") if name in settings}
    with quota_server(limits or Limits(in_flight=16)) as quota:
        fields = {"run_id": "run-1", "provider": "test", "retry": QUICK, **settings}
        edge = Edge(EdgeSettings(lake=str(root), base_url=url, quota=quota.address, **fields), **tests)
        try:
            yield EdgeAndQuota(edge, quota)
        finally:
            edge.close()


def request(text: str = "hello", **fields: Any) -> Request:
    """A request whose user message holds the text; the test server's script answers it with a summary."""
    messages = (Message("system", "Write a summary as JSON."), Message("user", text))
    return Request(**{"model": "m", "messages": messages, "max_tokens": 500, "schema_name": "summary", **fields})


def rows(root: Path) -> list[dict[str, Any]]:
    """The rows of `calls` that workers wrote, in the order of each."""
    segments = sorted((root / "staged" / "calls").glob("*.jsonl"))
    return [json.loads(line) for segment in segments for line in segment.read_text().splitlines()]


def ask(edge, *requests, stage="extract"):
    """Replies of requests that are asked at the same time."""

    async def all_of_them():
        asked = (
            edge.ask(request, stage=stage, about=f"about {request.messages[-1].content[:20]}") for request in requests
        )
        return await asyncio.gather(*asked)

    return edge.submit(all_of_them()).result(60)


def embed(edge, texts, model="e"):
    return edge.submit(edge.embed(model, texts, about="some texts")).result(60)
