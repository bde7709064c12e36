"""Connections of tasks read more at a time, and only where httpx would connect directly."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import httpcore
import pytest

from adanalytics_client import AsyncClient
from adanalytics_client import _async_large_reads as large
from adanalytics_client._direct_connection import AT_ONCE

if TYPE_CHECKING:
    from tests.client.conftest import OpenWorld, Say, StandIn


class Inner(httpcore.AsyncNetworkStream):
    """A connection that gives what it is asked for."""

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109  # the signature is httpcore's
    ) -> bytes:
        return b"x" * max_bytes

    def get_extra_info(self, info: str) -> object:
        return f"a {info}"

    async def start_tls(self, *_: object) -> httpcore.AsyncNetworkStream:
        return Inner()


def test_a_read_of_a_task_asks_for_as_much() -> None:
    async def main() -> None:
        stream = large._Stream(Inner())
        assert len(await stream.read(65_536)) == AT_ONCE
        assert len(await stream.read(AT_ONCE + 1)) == AT_ONCE + 1
        secured = await stream.start_tls(ssl.create_default_context())
        assert len(await secured.read(1)) == AT_ONCE
        assert stream.get_extra_info("socket") == "a socket"

    asyncio.run(main())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What is asked of the streams, before they make it more."""
    found: list[int] = []
    read = large._Stream.read

    async def counted(
        self: Any,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the signature is httpcore's
    ) -> bytes:
        found.append(max_bytes)
        return await read(self, max_bytes, timeout)

    monkeypatch.setattr(large._Stream, "read", counted)
    return found


def test_own_connections_read_that_way(stand_in: StandIn, say: type[Say], asked: list[int]) -> None:
    stand_in.says(say({"dates": ["2026-01-15"]}))

    async def main() -> int:
        url = stand_in.url
        async with AsyncClient(url, api_key="k", partner="acme", quota_log="memory") as client:
            return len(await client.dates())

    assert asyncio.run(main()) == 1
    assert asked


def test_a_page_of_many_reads_is_whole(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    rows = [{"event_id": f"e{at}", "pad": "x" * 1000} for at in range(4_000)]
    stand_in.says(say({"events": rows, "total": len(rows)}))
    assert open_world().rows("2026-01-15", hour=3) == rows


def test_a_proxy_of_the_environment_stays_in_use(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.says(say({"dates": []}))
    monkeypatch.setenv("HTTP_PROXY", stand_in.url)
    monkeypatch.setenv("NO_PROXY", "")
    assert open_world("http://stats.example").call("dates") == []
    assert stand_in.asked[0].target.startswith("http://stats.example/")
