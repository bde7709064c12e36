"""Pages of many reads, and connections that only httpx makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest
    from tests.client.conftest import OpenWorld, Say, StandIn


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
