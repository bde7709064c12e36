"""Fields with other names: what has the part of an id and of a time, by mapping or by spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import ProtocolError, SeenEvents, ServiceProfile

if TYPE_CHECKING:
    from tests.client.conftest import OpenVariant, Say, StandIn

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
    say: type[Say],
    open_variant: OpenVariant,
) -> None:
    rows = [{name: "a"}, {name: 5}, {name: "b"}]
    stand_in.says(say({"data": rows, "total": 3}))
    seen = SeenEvents(["a", 5])
    found = open_variant(service=service).rows(DAY, hour=3, seen=seen)
    assert found == rows[-left:]
    assert ("b" in seen) == (left == 1)


def test_a_repeat_on_a_later_page_has_the_mapped_id(
    stand_in: StandIn, say: type[Say], open_variant: OpenVariant
) -> None:
    pages = [["a", "b"], ["b", "c"], []]
    answers = [
        say({"data": [{"request": name} for name in page], "has_more": bool(page)})
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
        ({"eventDate": DAY, "eventHour": 13}, None),
        ({"when": "2026-01-15 13:20:00.123456789"}, MAPPED),
        ({"when": SECONDS}, MAPPED),
        ({"when": SECONDS * 1000 + 250}, MAPPED),
        ({"event_time": f"{SECONDS}.250"}, None),
        ({"Day": DAY, "h": "13"}, ServiceProfile(fields={"event_date": "Day", "event_hour": "h"})),
    ],
)
def test_a_time_under_its_name_must_be_of_the_hour(
    fields: dict[str, Any],
    service: ServiceProfile | None,
    stand_in: StandIn,
    say: type[Say],
    open_variant: OpenVariant,
) -> None:
    if isinstance(fields.get("event_time"), str):
        fields = {"event_time": float(fields["event_time"])}
    stand_in.says(say({"data": [fields], "total": 1}))
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
        ({"event_time": 1_712_011_512_345_678}, None),
        ({"event_time": 13}, None),
        ({"event_time": "13:20"}, None),
    ],
)
def test_a_time_that_is_not_known_is_not_checked(
    fields: dict[str, Any],
    service: ServiceProfile | None,
    stand_in: StandIn,
    say: type[Say],
    open_variant: OpenVariant,
) -> None:
    stand_in.says(say({"data": [fields], "total": 1}))
    assert open_variant(service=service).rows(DAY, hour=12) == [fields]


def test_epoch_times_are_checked_in_the_zone_of_the_service(
    stand_in: StandIn, say: type[Say], open_variant: OpenVariant
) -> None:
    stand_in.says(say({"data": [{"ts": SECONDS}], "total": 1}))
    variant = open_variant(service=ServiceProfile(zone="+05:30", time_field="ts"))
    assert len(variant.rows(DAY, hour=18)) == 1
    with pytest.raises(ProtocolError, match="events of hour 18"):
        variant.rows(DAY, hour=13)
