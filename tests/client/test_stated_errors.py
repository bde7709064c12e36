"""Answers of status 200 that say that something failed, with and without data beside it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import Observer, PartialAnswer, ProtocolError

if TYPE_CHECKING:
    from tests.client.conftest import OpenVariant, Say, StandIn, Variant

DAY = "2026-01-15"
ROWS = [{"event_id": "a"}, {"event_id": "b"}]
SIGNS: list[tuple[dict[str, Any], str]] = [
    ({"error": "db timeout"}, "db timeout"),
    ({"errors": [{"message": "shard down"}]}, "shard down"),
    ({"errors": ["one", {"message": "two"}]}, "one; two"),
    ({"errors": {"hour": ["is busy"]}}, 'hour":["is busy'),
    ({"error": True}, "true"),
    ({"Error": {"code": 17, "detail": "db"}}, '"detail":"db"'),
]
EMPTY: list[Any] = [None, "", [], {}, False, 0, 17, {"code": 0, "message": ""}]
COUNTS: list[Any] = [0, 3, [], [None], {}]
NO_SIGNS: list[dict[str, Any]] = [
    *({"error": each} for each in EMPTY),
    *({"errors": each} for each in COUNTS),
    {"error_code": 303, "warnings": ["slow"]},
    {"success": False, "ok": "false", "status": "error", "message": "suspended"},
]


class Told(Observer):
    def __init__(self) -> None:
        self.partial_answers: list[PartialAnswer] = []

    def partial(self, info: PartialAnswer) -> None:
        self.partial_answers.append(info)


@pytest.mark.parametrize(("sign", "words"), SIGNS)
def test_an_error_beside_no_data_is_not_taken_for_no_data(
    variant: Variant, stand_in: StandIn, say: type[Say], sign: dict[str, Any], words: str
) -> None:
    headers = {"X-Request-Id": "r-17"}
    for body in ({"events": [], **sign}, {"data": {"items": [], **sign}}, sign):
        stand_in.says(say(body, headers=headers))
        with pytest.raises(ProtocolError, match="an error instead of records") as caught:
            variant.rows(DAY)
        assert words in caught.value.message
        assert caught.value.request_id == "r-17"
    stand_in.says(say({"summary": [], **sign}, headers=headers))
    with pytest.raises(ProtocolError, match="an error instead of records"):
        variant.call("summary", DAY)
    stand_in.says(say({"dates": [], **sign}, headers=headers))
    with pytest.raises(ProtocolError, match="an error instead of dates") as caught:
        variant.call("dates")
    assert words in caught.value.message


@pytest.mark.parametrize("room", NO_SIGNS)
def test_room_for_an_error_is_none(
    open_variant: OpenVariant, stand_in: StandIn, say: type[Say], room: dict[str, Any]
) -> None:
    told = Told()
    variant = open_variant(observer=told)
    stand_in.says(say({"events": [], **room}))
    assert variant.rows(DAY, split="none") == []
    stand_in.says(say({"events": ROWS, "total": 2, **room}))
    assert variant.rows(DAY, split="none") == ROWS
    stand_in.says(say({"dates": [], **room}))
    assert variant.call("dates") == []
    stand_in.says(say({"summary": [], **room}))
    assert variant.call("summary", DAY).rows == []
    assert told.partial_answers == []


@pytest.mark.parametrize(("sign", "words"), SIGNS)
def test_an_error_beside_data_is_told(
    open_variant: OpenVariant,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
    sign: dict[str, Any],
    words: str,
) -> None:
    told = Told()
    variant, headers = open_variant(observer=told), {"X-Request-Id": "r-17"}
    stand_in.says(say({"events": ROWS, "total": 2, **sign}, headers=headers))
    with caplog.at_level(logging.WARNING, "adanalytics_client"):
        assert [each.partial for each in variant.pages(DAY, split="none")] == told.partial_answers
    (partial,) = told.partial_answers
    assert words in partial.reason
    assert (partial.request_id, "/events?start_date=2026-01-15" in partial.url) == ("r-17", True)
    (line,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert line == str(partial)
    stand_in.says(say({"summary": [{"clicks": 1}], **sign}))
    assert variant.call("summary", DAY).rows[0].clicks == 1
    stand_in.says(say({"dates": [DAY], **sign}))
    assert len(variant.call("dates")) == 1
    assert [each.url.rpartition("/")[2][:5] for each in told.partial_answers[1:]] == [
        "summa",
        "dates",
    ]


def test_events_about_errors_are_events(
    open_variant: OpenVariant, stand_in: StandIn, say: type[Say]
) -> None:
    told = Told()
    variant = open_variant(observer=told)
    rows = [{"event_id": "a", "error": "no ad", "error_code": 303, "status": "failed"}]
    stand_in.says(say({"events": rows, "total": 1}))
    assert variant.rows(DAY, split="none") == rows
    assert told.partial_answers == []


def test_a_stated_error_shows_no_credential_and_ends(
    open_variant: OpenVariant, stand_in: StandIn, say: type[Say]
) -> None:
    told = Told()
    variant = open_variant(observer=told, api_key="k1-secret")
    words = "x" * 990 + "k1-secret" + "y" * 5000
    stand_in.says(say({"events": [], "error": words}))
    with pytest.raises(ProtocolError) as caught:
        variant.rows(DAY)
    assert "k1-s" not in str(caught.value)
    assert len(str(caught.value)) < 1500
    stand_in.says(say({"events": ROWS, "total": 2, "error": words}))
    variant.rows(DAY, split="none")
    assert "k1-s" not in str(told.partial_answers[0])
    assert len(str(told.partial_answers[0])) < 1500


def test_a_page_as_text_tells_it_too(variant: Variant, stand_in: StandIn, say: type[Say]) -> None:
    stand_in.says(say({"events": ROWS, "total": 2, "error": "slow"}))
    (page,) = variant.all_of(variant.client.events(DAY, split="none").text_pages())
    assert (page.events, page.partial.reason) == (2, "slow")
