"""What the caller words: requests of any path, and further query parameters."""

import pickle
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import Variant

from adanalytics_client import AsyncClient, errors

DATES = "/api/partners/acme/ad-analytics/dates"
SUMMARY = "/api/partners/acme/ad-analytics/summary"


def test_a_path_of_the_service(reference_variant: Variant) -> None:
    client = reference_variant.client
    before = client.quota.remaining
    found = reference_variant.call("request", "get", DATES)
    assert (found.status, found.data) == (200, {"dates": ["2026-01-15", "2026-01-16"]})
    assert found.headers["Content-Type"] == found.headers["content-type"] == "application/json"
    assert "X-Nothing" not in found.headers
    assert found.request_id
    day = date(2026, 1, 15)
    params = {"start_date": day, "end_date": day}
    (row,) = reference_variant.call("request", "GET", SUMMARY, params=params).data["data"]
    assert isinstance(row["revenue"], Decimal | str)
    assert client.quota.remaining == before - 2
    with pytest.raises(errors.NotFound):
        reference_variant.call("request", "GET", "/api/nothing")


def test_a_body_keeps_its_digits_and_an_empty_answer_is_none(
    variant: Variant, stand_in: StandIn
) -> None:
    stand_in.says(Say(status=201))
    body = {"budget": Decimal("0.10"), "name": "Ä"}
    found = variant.call("request", "POST", "/api/campaigns/a b", json=body)
    assert (found.status, found.data) == (201, None)
    (asked,) = stand_in.asked
    assert (asked.method, asked.path) == ("POST", "/api/campaigns/a%20b")
    assert asked.body == '{"budget":0.10,"name":"Ä"}'.encode()
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["authorization"].endswith("key")


@pytest.mark.parametrize(("method", "sent"), [("GET", 2), ("POST", 1)])
def test_only_what_may_be_repeated_is_sent_again(
    variant: Variant, stand_in: StandIn, method: str, sent: int
) -> None:
    stand_in.says(Say(status=503), Say({"done": True}))
    if sent == 1:
        with pytest.raises(errors.ServerError):
            variant.call("request", method, "/api/jobs")
    else:
        assert variant.call("request", method, "/api/jobs").data == {"done": True}
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
    variant: Variant, stand_in: StandIn, method: str, path: str
) -> None:
    with pytest.raises(errors.ConfigurationError):
        variant.call("request", method, path)
    assert stand_in.asked == []


def test_further_parameters_are_sent_and_belong_to_the_token(
    variant: Variant, stand_in: StandIn
) -> None:
    stand_in.script = lambda _: Say({"events": [{"event_id": "e-1"}], "total": 1})
    query = {"split": "none", "params": {"campaign_id": 7, "since": date(2026, 1, 2), "q": "ä&b"}}
    (page,) = variant.pages("2026-01-15", **query)
    (asked,) = stand_in.asked
    assert asked.query["campaign_id"] == "7"
    assert (asked.query["since"], asked.query["q"]) == ("2026-01-02", "ä&b")
    assert asked.query["page"] == "1"
    resumed = variant.client.events("2026-01-15", resume=page.token, **query)
    assert resumed.plan.params == (("campaign_id", "7"), ("since", "2026-01-02"), ("q", "ä&b"))
    assert "campaign_id=7" in str(resumed.plan)
    for other in ({"campaign_id": 8}, None):
        with pytest.raises(errors.ConfigurationError, match=r"page, campaign_id=7.*; this query"):
            variant.client.events("2026-01-15", resume=page.token, **{**query, "params": other})


def test_a_summary_takes_further_parameters(variant: Variant, stand_in: StandIn) -> None:
    stand_in.script = lambda _: Say({"summary": []}, headers={"X-Request-Id": "r-7"})
    found = variant.call("summary", "2026-01-15", params={"campaign_id": 7})
    assert stand_in.asked[0].query["campaign_id"] == "7"
    assert found.request_id == "r-7"


def test_a_list_is_sent_as_several_parameters(variant: Variant, stand_in: StandIn) -> None:
    stand_in.script = lambda _: Say({"data": [], "meta": {"total": 0}})
    params = {"tag": [1, "b", date(2026, 1, 2)], "q": 7}
    variant.call("summary", "2026-01-15", params=params)
    variant.rows("2026-01-15", split="none", params=params)
    variant.call("request", "GET", "/api/jobs", params=params)
    assert len(stand_in.asked) == 3
    for asked in stand_in.asked:
        assert asked.target.endswith("tag=1&tag=b&tag=2026-01-02&q=7")


def test_a_pull_with_further_parameters_is_not_compared_with_the_summary(
    variant: Variant, stand_in: StandIn
) -> None:
    stand_in.script = lambda _: Say(status=204)
    assert variant.rows("2026-01-15", split="daily", params={"campaign_id": 7}) == []
    assert {asked.path.rpartition("/")[2] for asked in stand_in.asked} == {"events"}


@pytest.mark.parametrize("method", ["events", "summary"])
@pytest.mark.parametrize(
    ("params", "remedy"),
    [
        ({"start_date": "2026-01-01"}, "own names; the client itself sends start_date, end_date"),
        ({"": 1}, "own names"),
        ({"a": 1.5}, "a str, an int or a date"),
        ({"a": [1, None]}, r"or a list of these"),
        ({"a": []}, r"or a list of these"),
        ({"a": True}, "a str, an int or a date"),
        ([("a", 1)], "a dict, such as"),
    ],
)
def test_a_wrong_parameter_is_refused(
    variant: Variant, stand_in: StandIn, method: str, params: Any, remedy: str
) -> None:
    with pytest.raises(errors.ConfigurationError, match=remedy):
        variant.call(method, "2026-01-15", params=params)
    assert stand_in.asked == []


def test_the_request_id_of_a_success_is_no_part_of_the_data(reference_variant: Variant) -> None:
    first, second = (reference_variant.call("summary", "2026-01-15") for _ in range(2))
    assert first.request_id
    assert first.request_id != second.request_id
    assert first == second
    assert "request_id" not in first.model_dump()
    assert "request_id" not in repr(first)
    assert pickle.loads(pickle.dumps(first)).request_id == first.request_id
    pages = [reference_variant.pages("2026-01-15", split="none") for _ in range(2)]
    assert pages[0] == pages[1]
    assert pages[0][0].request_id != pages[1][0].request_id


def test_a_client_says_where_and_for_whom(variant: Variant, stand_in: StandIn) -> None:
    assert (variant.client.base_url, variant.client.partner) == (stand_in.url, "acme")


def test_without_asyncio_the_error_says_so() -> None:
    client = AsyncClient("http://stats.example", api_key="k", partner="acme")
    calls: list[Any] = [client.dates(), client.events("2026-01-15").pages().__anext__()]
    for call in calls:
        with pytest.raises(errors.ConfigurationError, match="event loop of asyncio"):
            call.send(None)
    # As `async with` closes it when the error passes.
    with pytest.raises(StopIteration):
        client.close().send(None)
