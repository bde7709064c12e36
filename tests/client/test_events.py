"""Pulls of events: the same scenarios in both variants, against arbitrary page shapes."""

import sys
from typing import Any, TypedDict

import numpy as np
import pytest
from pydantic import BaseModel
from tests.client.stand_in import Asked, Say, Script, StandIn
from tests.client.variants import BOTH_LIBRARIES, OpenVariant, Variant

from adanalytics_client import Client, Event, RetryPolicy, SeenEvents
from adanalytics_client.errors import ConfigurationError, ProtocolError, ServerError
from adanalytics_server.local import LocalServer, Sample

DAY = "2026-01-15"


def rows(start: int, stop: int) -> list[dict[str, Any]]:
    return [{"event_id": f"e{number}"} for number in range(start, stop)]


def ids(found: list[Any]) -> list[str]:
    return [each["event_id"] for each in found]


def paged(total: int, size: int) -> Script:
    """A service of `total` events that never gives more than `size` a page and says nothing."""

    def script(asked: Asked) -> Say:
        first = (int(asked.query["page"]) - 1) * size
        return Say({"events": rows(first, min(total, first + size))})

    return script


@BOTH_LIBRARIES
def test_a_day_is_24_hourly_requests_in_order(variant: Variant, stand_in: StandIn) -> None:
    def script(asked: Asked) -> Say:
        hour = int(asked.query["hour"])
        return Say({"data": rows(hour * 10, hour * 10 + 2), "meta": {"total": 2}})

    stand_in.script = script
    found = ids(variant.rows(DAY))
    assert found == [f"e{hour * 10 + each}" for hour in range(24) for each in (0, 1)]
    assert len(stand_in.asked) == 24
    assert all(asked.query["per_page"] == "10000" for asked in stand_in.asked)
    assert {tuple(asked.query) for asked in stand_in.asked} == {
        ("start_date", "end_date", "hour", "page", "per_page")
    }


@pytest.mark.parametrize(
    ("split", "hour", "requests"),
    [("daily", None, 2), ("none", None, 1), ("hourly", 3, 2), ("none", 3, 1)],
)
def test_split_decides_the_requests(
    variant: Variant, stand_in: StandIn, split: str, hour: int | None, requests: int
) -> None:
    stand_in.script = lambda _: Say(
        {"events": rows(len(stand_in.asked), len(stand_in.asked) + 1), "total": 1}
    )
    query = variant.client.events(DAY, "2026-01-16", split=split, hour=hour)
    assert query.plan.least_requests == requests
    variant.rows(DAY, "2026-01-16", split=split, hour=hour)
    assert len(stand_in.asked) == requests
    assert all(("hour" in asked.query) == (hour is not None) for asked in stand_in.asked)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda page, last: {"content": page, "last": last},
        lambda page, _: {"items": page, "meta": {"pagination": {"totalPages": 3}}},
        lambda page, _: {"data": {"events": page, "total": "25"}},
        lambda page, _: {"payload": {"rows": page}, "count": 25},
        lambda page, last: {"events": page, "count": len(page), "next": not last},
        lambda page, last: {"events": page, "total_pages": 1 if last else 9, "errors": [{"a": 1}]},
    ],
)
def test_pages_end_by_any_metadata(variant: Variant, stand_in: StandIn, wrap: Any) -> None:
    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        found = rows(page * 10 - 10, min(page * 10, 25))
        return Say(wrap(found, page == 3))

    stand_in.script = script
    assert ids(variant.rows(DAY, split="none")) == ids(rows(0, 25))
    assert len(stand_in.asked) == 3


@pytest.mark.parametrize("error", [None, "", False, {}, []])
def test_an_empty_error_is_none(variant: Variant, stand_in: StandIn, error: Any) -> None:
    stand_in.says(Say({"events": [], "error": error}))
    assert variant.rows(DAY, split="none") == []
    stand_in.says(Say({"events": rows(0, 2), "errors": [{"a": 1}], "total": 2}))
    assert ids(variant.rows(DAY, split="none")) == ["e0", "e1"]


@pytest.mark.parametrize("unknown", [{"total": "many"}, {"total": -1}, {"total_pages": 0}])
def test_a_total_that_cannot_be_loses_nothing(
    variant: Variant, stand_in: StandIn, unknown: dict[str, int]
) -> None:
    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        return Say({"events": rows(page * 10 - 10, min(page * 10, 25)), **unknown})

    stand_in.script = script
    assert ids(variant.rows(DAY, split="none")) == ids(rows(0, 25))


def test_pages_name_their_slice(variant: Variant, stand_in: StandIn) -> None:
    stand_in.script = paged(3, 2)
    first, second = variant.pages(DAY, split="none")
    assert (first.number, len(first), first.last) == (1, 2, False)
    assert (second.number, len(second), second.last) == (2, 1, True)
    assert str(first.slice) == DAY
    assert (repr(first), repr(second)) == (
        f"Page({DAY}, page 1, 2 events)",
        f"Page({DAY}, page 2, 1 event, last)",
    )


def test_max_events_fetches_no_page_in_vain(variant: Variant, stand_in: StandIn) -> None:
    def script(asked: Asked) -> Say:
        hour = int(asked.query["hour"])
        return Say({"events": rows(hour * 10, hour * 10 + 2), "has_more": True})

    stand_in.script = script
    assert ids(variant.rows(DAY, max_events=2)) == ["e0", "e1"]
    assert [asked.query["per_page"] for asked in stand_in.asked] == ["2"]


def test_events_before_a_broken_page_are_given_and_nothing_behind_is_asked(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    def script(asked: Asked) -> Say:
        hour = int(asked.query["hour"])
        if hour == 2:
            return Say({"error": "no"}, status=500)
        return Say({"events": rows(hour, hour + 1), "total": 1})

    stand_in.script = script
    variant = open_variant(retry=RetryPolicy(attempts=3, patience=0))
    seen: list[int] = []
    with pytest.raises(ServerError) as caught:
        variant.events(DAY, concurrency=1, model=_recording(seen))
    assert seen == [0, 1]
    assert caught.value.attempts == 3
    assert max(int(asked.query["hour"]) for asked in stand_in.asked) == 2


def _recording(seen: list[int]) -> type[BaseModel]:
    class Recorded(BaseModel):
        event_id: str

        def model_post_init(self, _context: Any) -> None:
            seen.append(int(self.event_id[1:]))

    return Recorded


def test_a_look_at_an_event_sends_one_request(
    reference_variant: Variant, reference: LocalServer
) -> None:
    query = reference_variant.client.events(DAY)
    reference.journal.clear()
    first = reference_variant.first(query)
    assert len(reference.journal.entries()) == 1
    assert ids(reference_variant.all_of(query.rows()))[0] == first["event_id"]
    assert len(reference.journal.entries()) == 1 + query.plan.least_requests


def test_the_first_event_and_the_number_cost_one_request_each(
    reference_variant: Variant, reference: LocalServer
) -> None:
    variant, count = reference_variant, len(reference_variant.events(DAY))
    for options, number in (
        ({}, count),
        ({"hour": np.int64(13)}, len(variant.events(DAY, hour=13))),
        ({"start": "2026-01-01", "end": DAY}, count),
        ({"start": "2026-01-01"}, 0),
    ):
        query = variant.client.events(**{"start": DAY, "split": "none", **options})
        reference.journal.clear()
        assert variant.on(query, "count") == number
        # An hour, and nothing, are read: a service may have ignored a part of the query.
        assert len(reference.journal.entries()) == 1 or not number or "hour" in options
        first = variant.on(query, "first")
        assert isinstance(first, Event if number else type(None))
    seen = SeenEvents([event.event_id for event in variant.events(DAY, max_events=10)])
    assert variant.on(variant.client.events(DAY, seen=seen), "count") == count - 10
    assert variant.on(variant.client.events(DAY, max_events=np.int32(7)), "count") == 7


@pytest.mark.parametrize(
    ("dialect", "options"),
    [("end-date-exclusive", {}), ("days-other", {}), ("hour-ignored", {"hour": 3})],
)
def test_a_count_of_other_days_or_hours_is_an_error(dialect: str, options: dict[str, int]) -> None:
    with (
        LocalServer(sample=Sample(events_per_day=200), dialect=dialect) as server,
        Client(server.url, api_key=server.api_key, partner=server.partner) as client,
        pytest.raises(ProtocolError),
    ):
        client.events(DAY, hour=options.get("hour")).count()


def test_without_a_total_events_are_read_to_be_counted(variant: Variant, stand_in: StandIn) -> None:
    def script(asked: Asked) -> Say:
        size, page = int(asked.query["per_page"]), int(asked.query["page"])
        return Say([{"event_id": at} for at in range(3)][size * (page - 1) : size * page])

    stand_in.script = script
    assert variant.on(variant.client.events(DAY, split="none"), "count") == 3


@pytest.mark.parametrize(("number", "requests"), [(1, 2), (3, 6)])
def test_a_total_of_the_page_is_not_the_number_of_events(
    variant: Variant, stand_in: StandIn, number: int, requests: int
) -> None:
    def script(asked: Asked) -> Say:
        size, page = int(asked.query["per_page"]), int(asked.query["page"])
        rows = [{"event_id": at} for at in range(number)][size * (page - 1) : size * page]
        return Say({"data": rows, "meta": {"total": len(rows), "page": page, "per_page": size}})

    stand_in.script = script
    assert variant.on(variant.client.events(DAY, split="none"), "count") == number
    assert len(stand_in.asked) == requests


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split": "weekly"}, "hourly, daily, none, auto"),
        ({"hour": 24}, "0 to 23, or None for all hours"),
        ({"hour": True}, "0 to 23"),
        ({"per_page": 10_001}, "1 to 10000"),
        ({"concurrency": 0}, "1 to 64"),
        ({"concurrency": "4"}, "concurrency='4'"),
        ({"max_events": 0}, "at least 1, or None for all"),
        ({"max_events": 1.5}, "at least 1"),
        ({"model": 5}, "model=5 is not valid. Pass a pydantic model"),
        ({"model": int}, "model=int is not valid. Pass a pydantic model"),
        ({"model": list[str]}, "model=list is not valid. Pass a pydantic model"),
        ({"model": "Event"}, r"model='Event' is not valid. .*\(the class, not its name\)"),
        (
            {"model": Event(event_id="e1")},
            r"^model=Event\(.*\) is not valid. Pass a pydantic model",
        ),
        ({"end": "9999-12-31"}, "would take 69898296 requests"),
        ({"end": "2026-01-14"}, "before start"),
        ({"end": "2026-02-30"}, "calendar"),
        ({"end": "20260132"}, "YYYY-MM-DD"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_sent(
    variant: Variant, stand_in: StandIn, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        variant.client.events(DAY, **options)
    assert stand_in.asked == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic works with every TypedDict")
def test_a_typed_dict_that_pydantic_cannot_work_with(variant: Variant) -> None:
    class Mine(TypedDict):
        event_id: str

    with pytest.raises(
        ConfigurationError, match=r"model=Mine is not valid\..*the TypedDict of typing_extensions"
    ):
        variant.client.events(DAY, model=Mine)


def test_a_partner_is_read_without_what_stands_around_it(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says(Say({"dates": []}))
    open_variant(partner=" acme\n").call("dates")
    assert stand_in.asked[0].path == "/api/partners/acme/ad-analytics/dates"
    with pytest.raises(ConfigurationError, match="No partner is set"):
        open_variant(partner=" ").call("dates")
