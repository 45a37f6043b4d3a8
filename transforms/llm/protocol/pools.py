"""Connections in several small pools: one pool looks at each of its connections for every request that begins or ends."""

import httpx2

_POOLS = 8


class _Pools(httpx2.AsyncBaseTransport):
    def __init__(self, limits: httpx2.Limits) -> None:
        # The certificates are read once: that takes longer than all the rest.
        trusted = httpx2.create_ssl_context()
        self._pools = [httpx2.AsyncHTTPTransport(verify=trusted, limits=limits) for _ in range(_POOLS)]
        self._busy = [0] * _POOLS

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # The least busy, so that no pool opens a connection while another has one to spare.
        chosen = min(range(_POOLS), key=self._busy.__getitem__)
        self._busy[chosen] += 1
        try:
            return await self._pools[chosen].handle_async_request(request)
        finally:
            self._busy[chosen] -= 1

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


def spread(limits: httpx2.Limits) -> httpx2.AsyncBaseTransport:
    """A transport that spreads requests over several pools."""
    return _Pools(limits)
