"""Where the pages of a slice end, in both variants: no event is lost, no page asked in vain."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from datetime import date
from typing import Any, TypedDict

import numpy as np
import pytest
from pydantic import BaseModel
from tests.client.bench import Bench
from tests.client.notes import Notes
from tests.client.raw_events import raw_rows
from tests.client.stand_in import Asked, Say
from tests.client.variants import BOTH_LIBRARIES, Variant

from adanalytics_client import Client, Event, RetryPolicy, SeenEvents, ServiceProfile
from adanalytics_client._events.check import PullCheck
from adanalytics_client._events.fanout import PageFanout
from adanalytics_client._events.page import FetchedPage
from adanalytics_client._events.paging import Cursor, following
from adanalytics_client._events.plan import Plan, make_plan
from adanalytics_client._events.resume import Position
from adanalytics_client._events.slice import SliceRules
from adanalytics_client._shapes.page import Signals
from adanalytics_client.errors import ConfigurationError, ProtocolError, ServerError
from adanalytics_client.observers import PageReceived
from adanalytics_server.local import LocalServer, Sample

DAY = "2026-01-15"
SIZES = (10, 8, 10)
Signs = Callable[[int, bool], dict[str, Any]]


def serve(bench: Bench, signs: Signs, sizes: tuple[int, ...] = SIZES) -> None:
    """Pages of these sizes, with members beside their events, and empty pages behind them."""

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        size = [*sizes, *[0] * page][page - 1]
        rows = [{"event_id": f"{page}-{at}"} for at in range(size)]
        return Say({"events": rows, **signs(page, page >= len(sizes))})

    bench.script = script


@pytest.mark.parametrize(
    "signs",
    [
        lambda _, last: {"has_more": not last},
        lambda _, last: {"pageInfo": {"hasNextPage": not last}},
        lambda _, last: {"has_more": 0 if last else 1},
        lambda _, last: {"last": last},
        lambda _, last: {"meta": {"isLast": last}},
        lambda _, last: {"links": {"next": None if last else "?page"}},
        lambda _, last: {"_links": {"next": {"href": None if last else "?page"}}},
        lambda *_: {"page": {"totalPages": 3, "number": 0}},
        lambda page, _: {"current_page": page, "last_page": 3},
        lambda _, last: {"next_page_token": "" if last else "abc"},
        lambda _, last: {} if last else {"@odata.nextLink": "x"},
        lambda _, last: {"more": True, "cursors": {"next": "abc"}} if not last else {},
        lambda _, last: {"links": [] if last else [{"rel": "next", "href": "?page=2"}]},
        lambda _, last: {"IsTruncated": not last},
        lambda _, last: {"next_page_available": not last},
        lambda _, last: {"canLoadMore": "no" if last else "yes"},
        lambda _, last: {"endOfRecords": last},
        lambda _, last: {"isLastPage": last},
        lambda _, last: {"exceededTransferLimit": not last},
        lambda _, last: {"page_context": {"has_more_page": not last}},
        lambda _, last: {"info": {"more_records": not last}},
        lambda _, last: {"additional_data": {"pagination": {"more_items_in_collection": not last}}},
        lambda page, last: {} if last else {"next_start": page * 100},
        lambda *_: {"nbPages": 3},
        lambda *_: {"result_info": {"total_pages": 3}},
        lambda _, last: {"done": last, **({} if last else {"nextRecordsUrl": "/q"})},
    ],
)
def test_a_sign_of_another_page_is_followed(bench: Bench, signs: Signs) -> None:
    """Also behind a page that is shorter than the first; the end is seen by an empty page."""
    serve(bench, signs)
    assert len(bench.rows(DAY, hour=3)) == sum(SIZES)
    assert len(bench.asked) == 4


@pytest.mark.parametrize(
    "beside",
    [
        {"total": 28},
        {"total": "28", "has_more": False},
        {"meta": {"pagination": {"totalCount": "28"}}},
        {"count": 28},
        {"numFound": 28},
        {"hits": {"total": 3}, "total": {"value": 28, "relation": "eq"}},
    ],
)
def test_a_total_ends_a_slice(bench: Bench, beside: dict[str, Any]) -> None:
    serve(bench, lambda *_: beside)
    assert len(bench.rows(DAY, hour=3)) == sum(SIZES)
    assert len(bench.asked) == 3


@pytest.mark.parametrize(
    ("beside", "requests"),
    [
        # Without a total, another page tells: a service may cut pages and not know it.
        ({"next": None}, 2),
        ({"has_more": False}, 2),
        ({"total_pages": 1}, 2),
        ({"total": {"value": 5, "relation": "gte"}}, 2),
        ({"count": 6, "next": None}, 2),
        # A count of the events of this page is no total of them.
        ({"count": 5}, 2),
        ({"total": 5}, 1),
        # A full page is never the last by word alone.
        ({"total": 5, "per_page": 5}, 2),
    ],
)
def test_one_page(bench: Bench, beside: dict[str, Any], requests: int) -> None:
    serve(bench, lambda *_: beside, (5,))
    assert len(bench.rows(DAY, hour=3)) == 5
    assert len(bench.asked) == requests


@pytest.mark.parametrize(("per_page", "requests"), [(5, 2), (6, 1)])
def test_a_full_page_is_not_the_last_by_a_total(bench: Bench, per_page: int, requests: int) -> None:
    """A search engine caps its total where it caps a page."""
    serve(bench, lambda *_: {"total": 5}, (5,))
    assert len(bench.rows(DAY, hour=3, per_page=per_page)) == 5
    assert len(bench.asked) == requests
    serve(bench, lambda *_: {"total": 5}, (5, 2))
    if per_page == 5:
        with pytest.raises(ProtocolError, match=r"counts 5 events in .*, but 7 arrived"):
            bench.rows(DAY, hour=3, per_page=per_page)


@pytest.mark.parametrize(
    "beside",
    [
        {"remaining": 20},
        {"learn_more": "https://docs.example", "more_info": "x", "next_update_at": "noon"},
        {"links": [{"rel": "self", "href": "?page=2"}, {"rel": "next", "href": None}]},
    ],
)
def test_names_that_only_sound_like_paging_cost_no_request(
    bench: Bench, beside: dict[str, Any]
) -> None:
    serve(bench, lambda *_: beside, (10, 8))
    assert len(bench.rows(DAY, hour=3)) == 18
    assert len(bench.asked) == 2


@pytest.mark.parametrize(
    ("headers", "requests"),
    [
        ({"X-Total-Count": "28"}, 3),
        ({"Content-Range": "items 0-9/28"}, 3),
        ({"X-Total-Pages": "3", "X-RateLimit-Remaining": "7"}, 4),
        ({"X-Pagination-Total-Pages": "3"}, 4),
        ({"X-WP-Total": "28", "X-WP-TotalPages": "3"}, 3),
        ({"X-Pagination": '{"TotalCount": 28, "CurrentPage": null}'}, 3),
        ({"X-Pagination": '{"total_pages": 3}'}, 4),
        ({"X-Pagination": "{", "Pagination": "3", "X-Total": "28"}, 3),
    ],
)
def test_headers_are_metadata(bench: Bench, headers: dict[str, str], requests: int) -> None:
    serve(bench, lambda *_: {})
    script = bench.script
    bench.script = lambda asked: Say(script(asked).body, headers=headers)
    assert len(bench.rows(DAY, hour=3)) == 28
    assert len(bench.asked) == requests


@pytest.mark.parametrize(
    "header",
    [
        {"Link": '</x?page=1>; rel="first", </x?page=2>; rel="next"'},
        {"Link": "</x>; rel=next"},
        {"Link": '</x>; title="a"; rel="last next"'},
        {"X-Next-Page": "2"},
        {"X-Has-More": "true"},
        {"x-ms-continuation": "abc"},
        {"X-Pagination": '{"next_page": 2}'},
        {"X-Pagination": '{"HasNext": true}'},
    ],
)
def test_a_header_that_leads_on_is_never_ignored(bench: Bench, header: dict[str, str]) -> None:
    """Behind a short page, and behind an empty one as an error that names it."""
    serve(bench, lambda *_: {}, (10, 4, 10))
    script = bench.script
    ends = 3

    def headed(asked: Asked) -> Say:
        more = int(asked.query["page"]) < ends
        return Say(script(asked).body, headers=header if more else {})

    bench.script = headed
    assert len(bench.rows(DAY, hour=3)) == 24
    ends = 99
    with pytest.raises(ProtocolError, match=f"(?i)no events and {next(iter(header))}"):
        bench.rows(DAY, hour=3)


def test_events_under_the_name_of_links_are_none(bench: Bench) -> None:
    rows = [{"event_id": str(at), "rel": "next", "href": "/x"} for at in range(3)]
    bench.script = lambda asked: Say({"links": rows if asked.query["page"] == "1" else []})
    variant = bench.open(service=ServiceProfile(rows_key="links"))
    assert len(variant.rows(DAY, hour=3)) == 3


def serve_hours(bench: Bench, sizes: dict[int, list[int]]) -> None:
    """Pages of these sizes for each hour, without any metadata."""

    def script(asked: Asked) -> Say:
        hour, page = int(asked.query["hour"]), int(asked.query["page"])
        size = [*sizes.get(hour, []), *[0] * page][page - 1]
        return Say([{"event_id": f"{hour}-{page}-{at}"} for at in range(size)])

    bench.script = script


@pytest.mark.parametrize(
    ("sizes", "requests"),
    [
        # One page: whether the service cut it, only another one tells.
        ([5], 2),
        ([], 1),
        # A page shorter than the first is the last one.
        ([10, 10, 3], 3),
        ([10, 10], 3),
        ([8, 10, 3], 3),
        ([8, 10, 9], 4),
    ],
)
@pytest.mark.parametrize("per_page", [None, 10])
def test_the_length_of_a_page_ends_a_slice_without_metadata(
    bench: Bench, sizes: list[int], requests: int, per_page: int | None
) -> None:
    serve_hours(bench, {3: sizes})
    assert len(bench.rows(DAY, hour=3, per_page=per_page)) == sum(sizes)
    assert len(bench.asked) == requests


@pytest.mark.parametrize("beside", [{"X-Total-Count": "3"}, {"Content-Range": "rows 0-1/3"}])
def test_of_two_totals_the_larger_one_counts(bench: Bench, beside: dict[str, str]) -> None:
    def script(asked: Asked) -> Say:
        rows = [{"event_id": each} for each in ("ab", "c", "")[int(asked.query["page"]) - 1]]
        return Say({"events": rows, "total": 2}, headers=beside)

    bench.script = script
    assert len(bench.rows(DAY, hour=3)) == 3


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_first_size_of_a_slice_does_not_end_another(bench: Bench, concurrency: int) -> None:
    sizes = {0: [10], 1: [8, 8, 4], 2: [3, 3, 3], 5: [1], 7: [12, 12]}
    serve_hours(bench, sizes)
    rows = bench.rows(DAY, concurrency=concurrency)
    assert Counter(int(row["event_id"].split("-")[0]) for row in rows) == {
        hour: sum(each) for hour, each in sizes.items()
    }
    asked = Counter(int(each.query["hour"]) for each in bench.asked)
    assert asked == {**dict.fromkeys(range(24), 1), 0: 2, 1: 3, 2: 4, 5: 2, 7: 3}


def test_a_token_remembers_the_size_of_the_first_page(bench: Bench) -> None:
    for sizes, requests in (([10, 10, 3], 2), ([5, 10, 7, 3], 3)):
        serve_hours(bench, {3: sizes})
        pages = bench.pages(DAY, hour=3)
        bench.asked.clear()
        rest = bench.pages(DAY, hour=3, resume=pages[1].token)
        assert [len(page) for page in rest] == [len(page) for page in pages[2:]]
        assert len(bench.asked) == requests


@pytest.mark.parametrize("split", ["hourly", "daily", "none", "auto"])
@pytest.mark.parametrize(("max_events", "per_page"), [(1, 5), (100, 10), (100, 100), (400, 7)])
def test_the_most_requests_are_enough(
    bench: Bench, split: str, max_events: int, per_page: int
) -> None:
    """Also where only another page tells that a slice has ended; an hour of n has n events."""

    def script(asked: Asked) -> Say:
        query = asked.query
        if "page" not in query:
            return Say({"summary": []})
        hours = [int(query["hour"])] if "hour" in query else range(24)
        names = [f"{hour}-{at}" for hour in hours for at in range(hour)]
        end = int(query["page"]) * int(query["per_page"])
        return Say([{"event_id": each} for each in names[end - int(query["per_page"]) : end]])

    bench.script = script
    options = {"split": split, "max_events": max_events, "per_page": per_page}
    plan = bench.client.events(DAY, **options).plan
    assert len(bench.rows(DAY, **options)) == min(max_events, 276)
    assert plan.most_requests is not None
    assert len(bench.asked) <= plan.most_requests


@pytest.mark.parametrize(
    ("signs", "pages"),
    [
        (lambda _, last: {"has_more": not last}, [None, None, None, 4]),
        (lambda *_: {"total_pages": 3}, [3, 3, 4, 4]),
        (lambda *_: {"total": 28}, [3, 3, 3]),
        (
            lambda page, last: {"has_more": not last, **({"total": 28} if page == 1 else {})},
            [3] * 3,
        ),
        (lambda _, last: {"has_more": not last, "total_pages": 1}, [2, 3, 4, 4]),
    ],
)
def test_an_observer_is_told_how_many_pages_a_slice_has(
    bench: Bench, signs: Signs, pages: list[int | None]
) -> None:
    serve(bench, signs)
    notes = Notes()
    bench.open(observer=notes).rows(DAY, hour=3)
    assert [each.pages for each in notes.of(PageReceived)] == pages


MORE, END, THREE = {"has_more": True}, {"has_more": False}, {"total_pages": 3}


def serve_pages(bench: Bench, *pages: tuple[int, dict[str, Any]]) -> None:
    """Pages of so many events with these members beside them, and empty ones behind."""

    def script(asked: Asked) -> Say:
        number = int(asked.query["page"])
        size, beside = pages[number - 1] if number <= len(pages) else (0, {})
        return Say({"events": [{"event_id": f"{number}-{at}"} for at in range(size)], **beside})

    bench.script = script


@pytest.mark.parametrize(
    "pages",
    [
        [(0, MORE), (10, END)],
        [(10, MORE), (0, MORE), (10, END)],
        [(0, THREE), (10, THREE)],
        [(10, THREE), (0, THREE), (10, THREE)],
    ],
)
@pytest.mark.parametrize("on_drift", ["raise", "warn"])
def test_an_empty_page_that_says_that_others_follow_is_an_error(
    bench: Bench, on_drift: str, pages: list[Any]
) -> None:
    serve_pages(bench, *pages)
    number = [size for size, _ in pages].index(0) + 1
    words = f"Page {number} of 2026-01-15 states no events and (has_more: true|3 pages)"
    with pytest.raises(ProtocolError, match=words):
        bench.pages(DAY, split="none", on_drift=on_drift)


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        (END | THREE, "has_more: false and 3 pages"),
        (END | {"next": "/?page=2&signature=x"}, "has_more: false and next,"),
        ({"meta": {"isLast": True, "nextCursor": "abc"}}, "isLast: true and nextCursor,"),
        ({"last": True, "links": {"next": {"href": "/2"}}}, "last: true and next,"),
        ({"has_more": "false", "hasNextPage": True}, 'has_more: "false" and hasNextPage: true,'),
        (END | THREE | {"total": 10}, "has_more: false and 3 pages"),
    ],
)
@pytest.mark.parametrize("on_drift", ["raise", "warn"])
def test_an_end_beside_another_page_is_an_error(
    bench: Bench, beside: dict[str, Any], words: str, on_drift: str
) -> None:
    serve_pages(bench, (10, beside), (10, beside))
    for split in ("none", "auto"):
        with pytest.raises(ProtocolError, match=f"Page 1 of {DAY} states {words}") as caught:
            bench.rows(DAY, split=split, on_drift=on_drift)
        assert "signature" not in str(caught.value)


@pytest.mark.parametrize("name", ["total_pages", "pages", "lastPage"])
def test_as_many_pages_as_events_on_the_first_are_still_pages(bench: Bench, name: str) -> None:
    serve_pages(bench, *[(3, END | {name: 3})] * 3)
    with pytest.raises(ProtocolError, match="has_more: false and 3 pages"):
        bench.rows(DAY, split="none")


@pytest.mark.parametrize(
    "beside",
    [
        END | {"next": None, "next_cursor": "", "total_pages": 1},
        {"last_page": 1, "current_page": 1, "has_more": False},
        {"last_page": 0, "has_more": False, "total": 10},
        {"links": {"next": {"href": None}, "last": "/?page=3"}, "is_last": True},
    ],
)
def test_an_end_beside_no_other_page_is_none(bench: Bench, beside: dict[str, Any]) -> None:
    serve_pages(bench, (10, beside))
    assert len(bench.rows(DAY, split="none")) == 10


@pytest.mark.parametrize(
    "pages",
    [
        [(10, MORE), (0, END)],
        [(10, MORE)],
        [(10, THREE), (10, THREE), (4, THREE)],
        [(10, THREE), (10, THREE), (0, THREE)],
        [(0, END | {"total_pages": 1})],
        # What is called a count of pages may count the events of the page.
        [(10, END | {"page_count": 10})],
        # A total that is reached settles it.
        [(10, MORE | {"total": 10}), (0, MORE | {"total": 10})],
    ],
)
def test_ends_that_agree_are_not_reported(
    bench: Bench, caplog: pytest.LogCaptureFixture, pages: list[Any]
) -> None:
    serve_pages(bench, *pages)
    assert len(bench.rows(DAY, split="none")) == sum(size for size, _ in pages)
    assert caplog.messages == []


def rows(start: int, stop: int) -> list[dict[str, Any]]:
    return [{"event_id": f"e{number}"} for number in range(start, stop)]


def ids(found: list[Any]) -> list[str]:
    return [each["event_id"] for each in found]


@BOTH_LIBRARIES
def test_a_day_is_24_hourly_requests_in_order(bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        hour = int(asked.query["hour"])
        return Say({"data": rows(hour * 10, hour * 10 + 2), "meta": {"total": 2}})

    bench.script = script
    found = ids(bench.rows(DAY))
    assert found == [f"e{hour * 10 + each}" for hour in range(24) for each in (0, 1)]
    assert len(bench.asked) == 24
    assert all(asked.query["per_page"] == "10000" for asked in bench.asked)
    assert {tuple(asked.query) for asked in bench.asked} == {
        ("start_date", "end_date", "hour", "page", "per_page")
    }


@pytest.mark.parametrize(
    ("split", "hour", "requests"),
    [("daily", None, 2), ("none", None, 1), ("hourly", 3, 2), ("none", 3, 1)],
)
def test_split_decides_the_requests(
    bench: Bench, split: str, hour: int | None, requests: int
) -> None:
    bench.script = lambda _: Say(
        {"events": rows(len(bench.asked), len(bench.asked) + 1), "total": 1}
    )
    query = bench.client.events(DAY, "2026-01-16", split=split, hour=hour)
    assert query.plan.least_requests == requests
    bench.rows(DAY, "2026-01-16", split=split, hour=hour)
    assert len(bench.asked) == requests
    assert all(("hour" in asked.query) == (hour is not None) for asked in bench.asked)


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
def test_pages_end_by_any_metadata(bench: Bench, wrap: Any) -> None:
    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        found = rows(page * 10 - 10, min(page * 10, 25))
        return Say(wrap(found, page == 3))

    bench.script = script
    assert ids(bench.rows(DAY, split="none")) == ids(rows(0, 25))
    assert len(bench.asked) == 3


@pytest.mark.parametrize("error", [None, "", False, {}, []])
def test_an_empty_error_is_none(bench: Bench, error: Any) -> None:
    bench.says(Say({"events": [], "error": error}))
    assert bench.rows(DAY, split="none") == []
    bench.says(Say({"events": rows(0, 2), "errors": [{"a": 1}], "total": 2}))
    assert ids(bench.rows(DAY, split="none")) == ["e0", "e1"]


@pytest.mark.parametrize("unknown", [{"total": "many"}, {"total": -1}, {"total_pages": 0}])
def test_a_total_that_cannot_be_loses_nothing(bench: Bench, unknown: dict[str, int]) -> None:
    bench.holds(rows(0, 25), size=10, totals=False, **unknown)
    assert ids(bench.rows(DAY, split="none")) == ids(rows(0, 25))


def test_pages_name_their_slice(bench: Bench) -> None:
    bench.holds(rows(0, 3), size=2, totals=False)
    first, second = bench.pages(DAY, split="none")
    assert (first.number, len(first), first.last) == (1, 2, False)
    assert (second.number, len(second), second.last) == (2, 1, True)
    assert str(first.slice) == DAY
    assert (repr(first), repr(second)) == (
        f"Page({DAY}, page 1, 2 events)",
        f"Page({DAY}, page 2, 1 event, last)",
    )


def test_max_events_fetches_no_page_in_vain(bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        hour = int(asked.query["hour"])
        return Say({"events": rows(hour * 10, hour * 10 + 2), "has_more": True})

    bench.script = script
    assert ids(bench.rows(DAY, max_events=2)) == ["e0", "e1"]
    assert [asked.query["per_page"] for asked in bench.asked] == ["2"]


def test_events_before_a_broken_page_are_given_and_nothing_behind_is_asked(bench: Bench) -> None:
    def script(asked: Asked) -> Say:
        hour = int(asked.query["hour"])
        if hour == 2:
            return Say({"error": "no"}, status=500)
        return Say({"events": rows(hour, hour + 1), "total": 1})

    bench.script = script
    variant = bench.open(retry=RetryPolicy(attempts=3, patience=0))
    seen: list[int] = []
    with pytest.raises(ServerError) as caught:
        variant.events(DAY, concurrency=1, model=_recording(seen))
    assert seen == [0, 1]
    assert caught.value.attempts == 3
    assert max(int(asked.query["hour"]) for asked in bench.asked) == 2


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


def test_without_a_total_events_are_read_to_be_counted(bench: Bench) -> None:
    bench.holds([{"event_id": at} for at in range(3)], totals=False)
    assert bench.on(bench.client.events(DAY, split="none"), "count") == 3


@pytest.mark.parametrize(("number", "requests"), [(1, 2), (3, 6)])
def test_a_total_of_the_page_is_not_the_number_of_events(
    bench: Bench, number: int, requests: int
) -> None:
    def script(asked: Asked) -> Say:
        size, page = int(asked.query["per_page"]), int(asked.query["page"])
        rows = [{"event_id": at} for at in range(number)][size * (page - 1) : size * page]
        return Say({"data": rows, "meta": {"total": len(rows), "page": page, "per_page": size}})

    bench.script = script
    assert bench.on(bench.client.events(DAY, split="none"), "count") == number
    assert len(bench.asked) == requests


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
    bench: Bench, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        bench.client.events(DAY, **options)
    assert bench.asked == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic works with every TypedDict")
def test_a_typed_dict_that_pydantic_cannot_work_with(variant: Variant) -> None:
    class Mine(TypedDict):
        event_id: str

    with pytest.raises(
        ConfigurationError, match=r"model=Mine is not valid\..*the TypedDict of typing_extensions"
    ):
        variant.client.events(DAY, model=Mine)


def test_a_partner_is_read_without_what_stands_around_it(bench: Bench) -> None:
    bench.says(Say({"dates": []}))
    bench.open(partner=" acme\n").call("dates")
    assert bench.asked[0].path == "/api/partners/acme/ad-analytics/dates"
    with pytest.raises(ConfigurationError, match="No partner is set"):
        bench.open(partner=" ").call("dates")


A_DAY = date(2026, 1, 15)


def page_of(sizes: list[int], cursor: Cursor) -> FetchedPage:
    """Page `cursor.number` of a slice whose pages have these sizes."""
    hour, at = cursor.slice.hour or 0, cursor.number - 1
    ids_of_pages = [f"{hour}-{at}-{each}" for each in range(sizes[at] if at < len(sizes) else 0)]
    rows = raw_rows(json.dumps({"event_id": each}).encode() for each in ids_of_pages)
    says = Signals(total=sum(sizes))
    return FetchedPage(cursor, rows, says, following(cursor, len(rows), says, 100)).with_keys()


def fanout_of(
    plan: Plan, concurrency: int, *, max_events: int | None = None, position: Position | None = None
) -> PageFanout:
    position = position or Position(plan.slices, plan.ranges)
    check = PullCheck(plan, position, check="none")
    return PageFanout(
        position, concurrency=concurrency, check=check, rules=SliceRules(), max_events=max_events
    )


def start(fanout: PageFanout) -> Cursor | None:
    job = fanout.start()
    assert job is None or isinstance(job, Cursor)
    return job


def ids_of_pages(page: FetchedPage) -> list[str]:
    return [row["event_id"] for row in page.rows.rows()]


def test_an_error_comes_in_its_place() -> None:
    fanout = fanout_of(make_plan(A_DAY, A_DAY), 3)
    for _ in range(2):
        taken = start(fanout)
        assert taken
        fanout.receive(taken, page_of([1], taken))
        assert fanout.ready()
    first, second, third = (start(fanout) for _ in range(3))
    assert first
    assert second
    assert third
    fanout.receive(second, ValueError("broken"))
    fanout.receive(third, page_of([1], third))
    assert fanout.ready() is None
    assert fanout.start() is None
    fanout.receive(first, page_of([1], first))
    ready = fanout.ready()
    assert ready
    assert ready.cursor == first
    with pytest.raises(ValueError, match="broken"):
        fanout.ready()
    assert not fanout.finished


def test_two_pages_for_each_request_wait_at_most() -> None:
    fanout = fanout_of(make_plan(A_DAY, A_DAY), 2)
    for _ in range(3):
        cursor = start(fanout)
        assert cursor
        fanout.receive(cursor, page_of([1], cursor))
        assert fanout.ready()
    # The first one is in flight while the others wait behind it.
    assert start(fanout)
    waiting = 0
    while (cursor := start(fanout)) is not None:
        fanout.receive(cursor, page_of([1], cursor))
        waiting += 1
    assert waiting == 3


def test_cursors_are_plain_data() -> None:
    cursor = Cursor(make_plan(A_DAY, A_DAY).slices[3], number=2, seen=10)
    assert cursor.parameters(500) == {
        "start_date": "2026-01-15",
        "end_date": "2026-01-15",
        "hour": "3",
        "page": "2",
        "per_page": "500",
    }
