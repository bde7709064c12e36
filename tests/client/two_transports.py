"""Our own connections of threads and of tasks, to be asked in the same way."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

from adanalytics_client._async_direct_transport import AsyncDirectTransport
from adanalytics_client._direct_transport import DirectTransport
from adanalytics_client._wire import RECEIVE_INTO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class AsTasks:
    """What `httpx.Client` does, by an `httpx.AsyncClient` on an event loop that runs meanwhile."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._loop = asyncio.Runner()
        transport = AsyncDirectTransport(keepalive=4.0, now=now)
        self._http = httpx.AsyncClient(transport=transport, timeout=10)

    def get(
        self,
        url: str,
        *,
        timeout: httpx.Timeout | float = 10,
        extensions: Mapping[str, Any] | None = None,
    ) -> httpx.Response:
        asked = self._http.get(url, timeout=timeout, extensions=dict(extensions or {}))
        return self._loop.run(asked)

    def post(
        self,
        url: str,
        *,
        content: bytes,
        headers: Mapping[str, str] | None = None,
        timeout: httpx.Timeout | float = 10,
    ) -> httpx.Response:
        return self._loop.run(
            self._http.post(url, content=content, headers=headers, timeout=timeout)
        )

    @contextmanager
    def stream(self, method: str, url: str) -> Iterator[Streamed]:
        request = self._http.build_request(method, url)
        answer = self._loop.run(self._http.send(request, stream=True))
        try:
            yield Streamed(self._loop, answer)
        finally:
            self._loop.run(answer.aclose())

    def close(self) -> None:
        self._loop.run(self._http.aclose())
        self._loop.close()


class Streamed:
    """An answer whose body is still to be read."""

    def __init__(self, loop: asyncio.Runner, answer: httpx.Response) -> None:
        self._loop = loop
        self._answer = answer
        self.extensions: dict[str, Any] = dict(answer.extensions)
        if (receive_into := answer.extensions.get(RECEIVE_INTO)) is not None:

            def receive(space: memoryview) -> int:
                async def received() -> int:
                    size: int = await receive_into(space)
                    return size

                return loop.run(received())

            self.extensions[RECEIVE_INTO] = receive

    def read(self) -> bytes:
        return self._loop.run(self._answer.aread())

    def iter_raw(self) -> Iterator[bytes]:
        pieces = self._answer.aiter_raw()

        async def following() -> bytes:
            return await anext(pieces, b"")

        while piece := self._loop.run(following()):
            yield piece


Http = httpx.Client | AsTasks


@contextmanager
def opened(world: str, now: Callable[[], float]) -> Iterator[Http]:
    """A client of the world `"sync"` or `"async"`."""
    if world == "async":
        tasks = AsTasks(now)
        try:
            yield tasks
        finally:
            tasks.close()
    else:
        transport = DirectTransport(lambda _: None, keepalive=4.0, now=now)
        with httpx.Client(transport=transport, timeout=10) as client:
            yield client
