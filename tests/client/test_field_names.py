"""Fields with other names: what has the part of an id and of a time, by mapping or by spelling."""

import copy
import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant

from adanalytics_client import Event, ProtocolError, SeenEvents, ServiceProfile

DAY = "2026-01-15"
MAPPED = ServiceProfile(fields={"event_id": "request"}, time_field="when")
# 13:20 of that day.
SECONDS = 1_768_483_200


@pytest.mark.parametrize(
    ("name", "service", "left"),
    [
        ("event_id", None, 1),
        ("eventId", None, 1),
        ("request", MAPPED, 1),
        # Neither another name nor that of an id elsewhere.
        ("id", None, 3),
        ("request", None, 3),
        ("event_id", MAPPED, 3),
    ],
)
def test_seen_events_have_the_mapped_or_spelt_id(
    name: str,
    service: ServiceProfile | None,
    left: int,
    stand_in: StandIn,
    open_variant: OpenVariant,
) -> None:
    rows = [{name: "a"}, {name: 5}, {name: "b"}]
    stand_in.says(Say({"data": rows, "total": 3}))
    seen = SeenEvents(["a", 5])
    found = open_variant(service=service).rows(DAY, hour=3, seen=seen)
    assert found == rows[-left:]
    assert ("b" in seen) == (left == 1)


def test_a_repeat_on_a_later_page_has_the_mapped_id(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    pages = [["a", "b"], ["b", "c"], []]
    answers = [
        Say({"data": [{"request": name} for name in page], "has_more": bool(page)})
        for page in pages
    ]
    stand_in.says(*answers)
    rows = open_variant(service=MAPPED).rows(DAY, split="none", per_page=2, on_drift="warn")
    assert [row["request"] for row in rows] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("fields", "service"),
    [
        ({"eventTime": "2026-01-15T13:20:00Z"}, None),
        ({"ymdh": "2026-01-15 13:00:00"}, None),
        ({"Timestamp": SECONDS}, None),
        ({"eventDate": DAY, "eventHour": 13}, None),
        ({"when": "2026-01-15 13:20:00.123456789"}, MAPPED),
        ({"when": SECONDS}, MAPPED),
        ({"when": SECONDS * 1000 + 250}, MAPPED),
        ({"when": SECONDS * 10**9}, MAPPED),
        ({"event_time": f"{SECONDS}.250"}, None),
        ({"Day": DAY, "h": "13"}, ServiceProfile(fields={"event_date": "Day", "event_hour": "h"})),
    ],
)
def test_a_time_under_its_name_must_be_of_the_hour(
    fields: dict[str, Any],
    service: ServiceProfile | None,
    stand_in: StandIn,
    open_variant: OpenVariant,
) -> None:
    if isinstance(fields.get("event_time"), str):
        fields = {"event_time": float(fields["event_time"])}
    stand_in.says(Say({"data": [fields], "total": 1}))
    variant = open_variant(service=service)
    assert len(variant.rows(DAY, hour=13)) == 1
    with pytest.raises(ProtocolError, match="hold events of hour 13: they belong to another"):
        variant.rows(DAY, hour=12)
    with pytest.raises(ProtocolError, match=f"hold events of {DAY}"):
        variant.rows("2026-01-16", hour=13)


@pytest.mark.parametrize(
    ("fields", "service"),
    [
        ({"when": "2026-01-15T13:20:00Z"}, None),
        ({"event_time": "2026-01-15T13:20:00Z"}, MAPPED),
        # Digits that are no date: 1712-01-15, 23:45 in another reading.
        ({"event_time": 17_120_115_123_456}, None),
        ({"event_time": 13}, None),
        # A day and its hour.
        ({"ymdh": 2_026_011_513}, None),
        ({"event_time": "13:20"}, None),
    ],
)
def test_a_time_that_is_not_known_is_not_checked(
    fields: dict[str, Any],
    service: ServiceProfile | None,
    stand_in: StandIn,
    open_variant: OpenVariant,
) -> None:
    stand_in.says(Say({"data": [fields], "total": 1}))
    assert open_variant(service=service).rows(DAY, hour=12) == [fields]


def test_epoch_times_are_checked_in_the_zone_of_the_service(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    stand_in.says(Say({"data": [{"ts": SECONDS}], "total": 1}))
    variant = open_variant(service=ServiceProfile(zone="+05:30", time_field="ts"))
    assert len(variant.rows(DAY, hour=18)) == 1
    with pytest.raises(ProtocolError, match="events of hour 18"):
        variant.rows(DAY, hour=13)


CAMEL = {
    "eventId": "a",
    "eventTime": "2026-01-15T13:20:00Z",
    "eventDate": DAY,
    "revenue": "0.10",
    "isFiltered": False,
    "extra": "one of the service's own",
}


def test_attributes_are_found_by_spelling_and_nothing_is_renamed(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    stand_in.says(Say({"data": [CAMEL], "total": 1}))
    (event,) = open_variant().events(DAY, hour=13)
    assert (event.event_id, event.event_date, event.is_filtered) == ("a", date(2026, 1, 15), False)
    assert event.time == datetime(2026, 1, 15, 13, 20, tzinfo=UTC)
    assert (event.revenue, event.country) == (Decimal("0.10"), None)
    assert event.extra == {name: CAMEL[name] for name in CAMEL if name != "revenue"}
    assert (event["eventId"], event["event_id"], event["extra"]) == ("a", "a", CAMEL["extra"])
    for way in (event, pickle.loads(pickle.dumps(event)), event.model_copy(), copy.deepcopy(event)):
        assert way == event
        assert way.event_id == "a"
        assert way.model_dump(mode="json", exclude_unset=True) == CAMEL
        assert json.loads(way.model_dump_json(exclude_unset=True)) == CAMEL
        assert {"eventId", "revenue"} <= dict(way).keys()
        assert "event_id" not in way.model_dump()
    assert str(event).startswith(
        "Event(eventId='a', eventTime='2026-01-15T13:20:00Z', revenue=0.10"
    )
    with pytest.raises(AttributeError, match="evnt_id"):
        _ = event.evnt_id
    again = Event.model_validate(event.model_dump())
    assert (again.event_id, again) == ("a", event)
    assert Event.model_validate_json(json.dumps(CAMEL)).event_id == "a"


def test_a_mapped_name_beats_the_exact_one_and_that_one_another_spelling(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    service = ServiceProfile(
        fields={"revenue": "rev", "event_id": "auction_id", "cost": "price"}, time_field="ts"
    )
    first = {"rev": 0.30000000000000004, "revenue": "7", "auction_id": "u", "ts": SECONDS}
    first |= {"Country": "FR", "country": "DE", "price": 5, "event_time": "soon", "os": None}
    rows = [first, {"auction_id": "v", "deep": {"a": [1, {"b": 0.1}]}}, {"revenue": "1"}]
    stand_in.says(Say({"data": rows, "total": 3}))
    variant = open_variant(service=service)
    event, other, bare = variant.events(DAY, split="daily")
    assert event.revenue == Decimal("0.30000000000000004")
    assert (event.event_id, event.auction_id, event.cost) == ("u", "u", Decimal(5))
    assert (event.country, event["Country"], event["revenue"]) == ("DE", "FR", Decimal(7))
    assert (event.event_time, event["ts"], event["event_time"]) == (SECONDS, SECONDS, "soon")
    dumped = event.model_dump(exclude_unset=True)
    assert dumped == first | {"rev": Decimal("0.30000000000000004"), "revenue": Decimal(7)}
    assert (other.event_id, other.cost, other.extra["deep"]) == (
        "v",
        None,
        {"a": [1, {"b": Decimal("0.1")}]},
    )
    assert (bare.event_id, bare.event_time, bare.extra) == (None, None, {})
    price = [row.get("price") for row in variant.rows(DAY, split="daily")]
    assert (price, type(price[0])) == ([5, None, None], Decimal)


def test_a_field_behind_a_mapped_one_is_kept(stand_in: StandIn, open_variant: OpenVariant) -> None:
    row = {"event_id": "a", "auction_id": "b"}
    stand_in.says(Say({"data": [row], "total": 1}))
    variant = open_variant(service=ServiceProfile(fields={"event_id": "auction_id"}))
    (event,) = variant.events(DAY, split="daily")
    assert (event.event_id, event["event_id"], event.auction_id) == ("b", "a", "b")
    assert event.model_dump(exclude_unset=True) == row


def test_events_without_a_documented_field_are_said_once(
    stand_in: StandIn, open_variant: OpenVariant, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"a": 1, "rev": "0.5"}, {"b": 2}]
    stand_in.says(Say({"data": rows, "total": 2}), Say({"data": rows, "total": 2}))
    open_variant().events(DAY, split="daily")
    (record,) = [each for each in caplog.records if "documented" in each.message]
    assert record.levelname == "WARNING"
    assert "has no documented field, so every attribute of these events is None" in record.message
    assert "The first event has: a, rev." in record.message
    assert 'ServiceProfile(fields={"event_time": "..."})' in record.message
    caplog.clear()
    stand_in.says(Say({"data": rows, "total": 2}))
    open_variant(service=ServiceProfile(fields={"revenue": "rev"})).events(DAY, split="daily")
    stand_in.says(Say({"data": [CAMEL], "total": 1}))
    open_variant().events(DAY, hour=13)
    assert not [each for each in caplog.records if "documented" in each.message]


def test_the_models_of_callers_that_extend_events_find_their_fields(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    class Own(Event):
        score: int = 0

    stand_in.says(Say({"data": [CAMEL | {"score": "7"}], "total": 1}))
    (event,) = open_variant().events(DAY, hour=13, model=Own)
    assert (type(event), event.score, event.event_id) == (Own, 7, "a")


@pytest.mark.parametrize(
    ("sent", "microseconds"),
    [("", 0), ("250", 250_000), (".250001", 250_001), ("250001.5", 250_001)],
)
def test_the_time_of_an_event_may_be_an_epoch(sent: str, microseconds: int) -> None:
    event = Event.model_validate_json(f'{{"event_time": {SECONDS}{sent}, "received_at": true}}')
    assert event.time == datetime(2026, 1, 15, 13, 20, 0, microseconds, tzinfo=UTC)
    assert event.received is None
