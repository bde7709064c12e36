"""Requests that the caller words: any path, with this client's credential, quota and errors."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import AsyncClient, errors

if TYPE_CHECKING:
    from tests.client.conftest import Say, StandIn, World

DATES = "/api/partners/acme/ad-analytics/dates"
SUMMARY = "/api/partners/acme/ad-analytics/summary"


def test_a_path_of_the_service(reference_world: World) -> None:
    client = reference_world.client
    before = client.quota.remaining
    found = reference_world.call("request", "get", DATES)
    assert (found.status, found.data) == (200, {"dates": ["2026-01-15", "2026-01-16"]})
    assert found.headers["content-type"] == "application/json"
    assert found.request_id
    day = date(2026, 1, 15)
    params = {"start_date": day, "end_date": day}
    (row,) = reference_world.call("request", "GET", SUMMARY, params=params).data["summary"]
    assert isinstance(row["revenue"], Decimal | str)
    assert client.quota.remaining == before - 2
    with pytest.raises(errors.NotFound):
        reference_world.call("request", "GET", "/api/nothing")


def test_a_body_keeps_its_digits_and_an_empty_answer_is_none(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    stand_in.says(say(status=201))
    body = {"budget": Decimal("0.10"), "name": "Ä"}
    found = world.call("request", "POST", "/api/campaigns/a b", json=body)
    assert (found.status, found.data) == (201, None)
    (asked,) = stand_in.asked
    assert (asked.method, asked.path) == ("POST", "/api/campaigns/a%20b")
    assert asked.body == '{"budget":0.10,"name":"Ä"}'.encode()
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["authorization"].endswith("key")


@pytest.mark.parametrize(("method", "sent"), [("GET", 2), ("POST", 1)])
def test_only_what_may_be_repeated_is_sent_again(
    world: World, stand_in: StandIn, say: type[Say], method: str, sent: int
) -> None:
    stand_in.says(say(status=503), say({"done": True}))
    if sent == 1:
        with pytest.raises(errors.ServerError):
            world.call("request", method, "/api/jobs")
    else:
        assert world.call("request", method, "/api/jobs").data == {"done": True}
    assert len(stand_in.asked) == sent


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("BREW", "/api"),
        ("GET", "api"),
        ("GET", "http://elsewhere.example/api"),
        ("GET", "/api?page=1"),
        ("GET", "/api#top"),
    ],
)
def test_a_wrong_method_or_path_sends_nothing(
    world: World, stand_in: StandIn, method: str, path: str
) -> None:
    with pytest.raises(errors.ConfigurationError):
        world.call("request", method, path)
    assert stand_in.asked == []


def test_a_client_says_where_and_for_whom(world: World, stand_in: StandIn) -> None:
    assert (world.client.base_url, world.client.partner) == (stand_in.url, "acme")


def test_without_asyncio_the_error_says_so() -> None:
    client = AsyncClient("http://stats.example", api_key="k", partner="acme")
    calls: list[Any] = [client.dates(), client.events("2026-01-15").pages().__anext__()]
    for call in calls:
        with pytest.raises(errors.ConfigurationError, match="event loop of asyncio"):
            call.send(None)
