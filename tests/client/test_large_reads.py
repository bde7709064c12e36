"""Our own connections read more at a time, and only where httpx would connect directly."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import httpcore
import pytest

from adanalytics_client import Client
from adanalytics_client import _large_reads as large

if TYPE_CHECKING:
    from tests.client.conftest import Say, StandIn


class Inner(httpcore.NetworkStream):
    """A connection that gives what it is asked for."""

    # The arguments are httpcore's.
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return b"x" * max_bytes

    def get_extra_info(self, info: str) -> object:
        return f"a {info}"

    def start_tls(self, *_: object) -> httpcore.NetworkStream:
        return Inner()


def test_a_read_asks_for_more_than_httpcore_does() -> None:
    seen: list[object] = []
    stream = large._Stream(Inner(), seen.append)
    assert len(stream.read(65_536)) == large.AT_ONCE
    assert len(stream.read(large.AT_ONCE + 1)) == large.AT_ONCE + 1
    assert len(stream.start_tls(ssl.create_default_context()).read(1)) == large.AT_ONCE
    assert seen == ["a socket", "a socket"]


def test_own_connections_read_that_way(
    stand_in: StandIn, say: type[Say], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    read = large._Stream.read

    def counted(self: large._Stream, max_bytes: int, timeout: float | None = None) -> bytes:
        asked.append(max_bytes)
        return read(self, max_bytes, timeout)

    monkeypatch.setattr(large._Stream, "read", counted)
    stand_in.says(say({"dates": ["2026-01-15"]}))
    with Client(stand_in.url, api_key="k", partner="acme", quota_log="memory") as client:
        assert len(client.dates()) == 1
    assert asked


def test_a_proxy_of_the_environment_stays_in_use(
    stand_in: StandIn, say: type[Say], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.says(say({"dates": []}))
    monkeypatch.setenv("HTTP_PROXY", stand_in.url)
    monkeypatch.setenv("NO_PROXY", "")
    with Client("http://stats.example", api_key="k", partner="acme", quota_log="memory") as client:
        assert client.dates() == []
    assert stand_in.asked[0].target.startswith("http://stats.example/")
