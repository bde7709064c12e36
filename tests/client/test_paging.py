"""Where the pages of a slice end: no event is lost, and no page is asked for in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import Observer, PageDrift, PageReceived, ServiceProfile
from adanalytics_client.errors import ProtocolError

if TYPE_CHECKING:
    from tests.client.conftest import Asked, OpenVariant, Say, StandIn, Variant

DAY = "2026-01-15"
SIZES = (10, 8, 10)
Signs = Callable[[int, bool], dict[str, Any]]


def serve(stand_in: StandIn, say: type[Say], signs: Signs, sizes: tuple[int, ...] = SIZES) -> None:
    """Pages of these sizes, with members beside their events, and empty pages behind them."""

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        size = [*sizes, *[0] * page][page - 1]
        rows = [{"event_id": f"{page}-{at}"} for at in range(size)]
        return say({"events": rows, **signs(page, page >= len(sizes))})

    stand_in.script = script


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
        lambda *_: {"total": 28},
        lambda *_: {"meta": {"pagination": {"totalCount": "28"}}},
        lambda *_: {"count": 28},
    ],
)
def test_metadata_ends_a_slice(
    variant: Variant, stand_in: StandIn, say: type[Say], signs: Signs
) -> None:
    """Also behind a page that is shorter than the first one."""
    serve(stand_in, say, signs)
    assert len(variant.rows(DAY, hour=3)) == sum(SIZES)
    assert len(stand_in.asked) == 3


@pytest.mark.parametrize(
    ("beside", "requests"),
    [
        ({"next": None}, 1),
        ({"has_more": False}, 1),
        ({"total_pages": 1}, 1),
        ({"total": 5}, 1),
        # A count of the events of this page is no total of them.
        ({"count": 5}, 2),
        ({"count": 6, "next": None}, 1),
    ],
)
def test_one_page(
    variant: Variant, stand_in: StandIn, say: type[Say], beside: dict[str, Any], requests: int
) -> None:
    serve(stand_in, say, lambda *_: beside, (5,))
    assert len(variant.rows(DAY, hour=3)) == 5
    assert len(stand_in.asked) == requests


@pytest.mark.parametrize(
    "beside",
    [
        {"next_page_token": "abc"},
        {"next_token": None, "@odata.nextLink": "x"},
        {"remaining": 20, "remaining_events": 20},
        {"more_pages_follow": True, "cursor": "abc", "cursors": {"next": "abc"}},
        {"total": {"value": 20, "relation": "gte"}},
        {"links": [{"rel": "next", "href": "?page=2"}]},
        {"learn_more": "https://docs.example", "more_info": "x", "next_update_at": "noon"},
    ],
)
def test_names_that_only_sound_like_paging_cost_no_request(
    variant: Variant, stand_in: StandIn, say: type[Say], beside: dict[str, Any]
) -> None:
    serve(stand_in, say, lambda *_: beside, (10, 8))
    assert len(variant.rows(DAY, hour=3)) == 18
    assert len(stand_in.asked) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Total-Count": "28"},
        {"X-Total-Pages": "3", "X-RateLimit-Remaining": "7"},
        {"X-Pagination-Total-Pages": "3"},
    ],
)
def test_headers_are_metadata(
    variant: Variant, stand_in: StandIn, say: type[Say], headers: dict[str, str]
) -> None:
    serve(stand_in, say, lambda *_: {})
    script = stand_in.script
    stand_in.script = lambda asked: say(script(asked).body, headers=headers)
    assert len(variant.rows(DAY, hour=3)) == 28
    assert len(stand_in.asked) == 3


def test_events_under_the_name_of_links_are_none(
    open_variant: OpenVariant, stand_in: StandIn, say: type[Say]
) -> None:
    variant = open_variant(service=ServiceProfile(rows_key="links"))
    rows = [{"event_id": str(at), "rel": "next", "href": "/x"} for at in range(3)]
    stand_in.script = lambda asked: say({"links": rows if asked.query["page"] == "1" else []})
    assert len(variant.rows(DAY, hour=3)) == 3


def serve_hours(stand_in: StandIn, say: type[Say], sizes: dict[int, list[int]]) -> None:
    """Pages of these sizes for each hour, without any metadata."""

    def script(asked: Asked) -> Say:
        hour, page = int(asked.query["hour"]), int(asked.query["page"])
        size = [*sizes.get(hour, []), *[0] * page][page - 1]
        return say([{"event_id": f"{hour}-{page}-{at}"} for at in range(size)])

    stand_in.script = script


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
    variant: Variant,
    stand_in: StandIn,
    say: type[Say],
    sizes: list[int],
    requests: int,
    per_page: int | None,
) -> None:
    serve_hours(stand_in, say, {3: sizes})
    assert len(variant.rows(DAY, hour=3, per_page=per_page)) == sum(sizes)
    assert len(stand_in.asked) == requests


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_first_size_of_a_slice_does_not_end_another(
    variant: Variant, stand_in: StandIn, say: type[Say], ordered: bool, concurrency: int
) -> None:
    sizes = {0: [10], 1: [8, 8, 4], 2: [3, 3, 3], 5: [1], 7: [12, 12]}
    serve_hours(stand_in, say, sizes)
    rows = variant.rows(DAY, ordered=ordered, concurrency=concurrency)
    assert Counter(int(row["event_id"].split("-")[0]) for row in rows) == {
        hour: sum(each) for hour, each in sizes.items()
    }
    asked = Counter(int(each.query["hour"]) for each in stand_in.asked)
    assert asked == {**dict.fromkeys(range(24), 1), 0: 2, 1: 3, 2: 4, 5: 2, 7: 3}


def test_a_token_remembers_the_size_of_the_first_page(
    variant: Variant, stand_in: StandIn, say: type[Say]
) -> None:
    for sizes, requests in (([10, 10, 3], 1), ([5, 10, 7, 3], 2)):
        serve_hours(stand_in, say, {3: sizes})
        pages = variant.pages(DAY, hour=3)
        stand_in.asked.clear()
        rest = variant.pages(DAY, hour=3, resume=pages[1].token)
        assert [len(page) for page in rest] == [len(page) for page in pages[2:]]
        assert len(stand_in.asked) == requests


@pytest.mark.parametrize("split", ["hourly", "daily", "none", "auto"])
@pytest.mark.parametrize(("max_events", "per_page"), [(1, 5), (100, 10), (100, 100), (400, 7)])
def test_the_most_requests_are_enough(
    variant: Variant, stand_in: StandIn, say: type[Say], split: str, max_events: int, per_page: int
) -> None:
    """Also where only another page tells that a slice has ended; an hour of n has n events."""

    def script(asked: Asked) -> Say:
        query = asked.query
        if "page" not in query:
            return say({"summary": []})
        hours = [int(query["hour"])] if "hour" in query else range(24)
        names = [f"{hour}-{at}" for hour in hours for at in range(hour)]
        end = int(query["page"]) * int(query["per_page"])
        return say([{"event_id": each} for each in names[end - int(query["per_page"]) : end]])

    stand_in.script = script
    options = {"split": split, "max_events": max_events, "per_page": per_page}
    plan = variant.client.events(DAY, **options).plan
    assert len(variant.rows(DAY, **options)) == min(max_events, 276)
    assert plan.most_requests is not None
    assert len(stand_in.asked) <= plan.most_requests


class Pages(Observer):
    """Collects how many pages a slice has, as each of its pages says."""

    def __init__(self) -> None:
        self.found: list[int | None] = []

    def page(self, info: PageReceived) -> None:
        self.found.append(info.pages)


@pytest.mark.parametrize(
    ("signs", "pages"),
    [
        (lambda _, last: {"has_more": not last}, [None, None, 3]),
        (lambda *_: {"total_pages": 3}, [3, 3, 3]),
        (lambda *_: {"total": 28}, [3, 3, 3]),
        (
            lambda page, last: {"has_more": not last, **({"total": 28} if page == 1 else {})},
            [3] * 3,
        ),
        (lambda _, last: {"has_more": not last, "total_pages": 1}, [2, 3, 3]),
    ],
)
def test_an_observer_is_told_how_many_pages_a_slice_has(
    open_variant: OpenVariant,
    stand_in: StandIn,
    say: type[Say],
    signs: Signs,
    pages: list[int | None],
) -> None:
    serve(stand_in, say, signs)
    seen = Pages()
    open_variant(observer=seen).rows(DAY, hour=3)
    assert seen.found == pages


class Drifts(Observer):
    """Collects what shows that pages contradict each other."""

    def __init__(self) -> None:
        self.found: list[PageDrift] = []

    def drift(self, info: PageDrift) -> None:
        self.found.append(info)


MORE, END, THREE = {"has_more": True}, {"has_more": False}, {"total_pages": 3}


def serve_pages(stand_in: StandIn, say: type[Say], *pages: tuple[int, dict[str, Any]]) -> None:
    """Pages of so many events with these members beside them, and empty ones behind."""

    def script(asked: Asked) -> Say:
        number = int(asked.query["page"])
        size, beside = pages[number - 1] if number <= len(pages) else (0, {})
        return say({"events": [{"event_id": f"{number}-{at}"} for at in range(size)], **beside})

    stand_in.script = script


@pytest.mark.parametrize(
    "pages",
    [
        [(0, MORE), (10, END)],
        [(10, MORE), (0, MORE), (10, END)],
        [(0, THREE), (10, THREE)],
        [(10, THREE), (0, THREE), (10, THREE)],
    ],
)
def test_a_last_page_that_says_that_others_follow_is_reported(
    open_variant: OpenVariant,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
    pages: list[Any],
) -> None:
    drifts = Drifts()
    variant = open_variant(observer=drifts)
    serve_pages(stand_in, say, *pages)
    came = variant.pages(DAY, split="none")
    number, distinct = len(came), sum(map(len, came))
    drift = PageDrift(DAY, number, 0, distinct, None, last=True, contradicted=True)
    assert drifts.found == [drift] == [came[-1].drift]
    text = (
        f"Page {number} of 2026-01-15 was taken as the last page, but the service also says that "
        "more follow. Compare 2026-01-15 with its summary, or pull it with another split."
    )
    assert caplog.messages == [text]


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
def test_an_end_beside_another_page_is_an_error(
    open_variant: OpenVariant, stand_in: StandIn, say: type[Say], beside: dict[str, Any], words: str
) -> None:
    drifts = Drifts()
    variant = open_variant(observer=drifts)
    serve_pages(stand_in, say, (10, beside), (10, beside))
    for split in ("none", "auto"):
        with pytest.raises(ProtocolError, match=f"Page 1 of {DAY} states {words}") as caught:
            variant.rows(DAY, split=split)
        assert "signature" not in str(caught.value)
        assert len(variant.rows(DAY, split=split, on_drift="warn")) in {10, 20}
    assert [each.contradicted for each in drifts.found] == [True] * 2


@pytest.mark.parametrize("name", ["total_pages", "pages", "lastPage"])
def test_as_many_pages_as_events_on_the_first_are_still_pages(
    variant: Variant, stand_in: StandIn, say: type[Say], name: str
) -> None:
    serve_pages(stand_in, say, *[(3, END | {name: 3})] * 3)
    with pytest.raises(ProtocolError, match="has_more: false and 3 pages"):
        variant.rows(DAY, split="none")


@pytest.mark.parametrize(
    "beside",
    [
        END | {"next": None, "next_cursor": "", "total_pages": 1},
        {"last_page": 1, "current_page": 1, "has_more": False},
        {"last_page": 0, "has_more": False, "total": 10},
        {"links": {"next": {"href": None}, "last": "/?page=3"}, "is_last": True},
    ],
)
def test_an_end_beside_no_other_page_is_none(
    variant: Variant, stand_in: StandIn, say: type[Say], beside: dict[str, Any]
) -> None:
    serve_pages(stand_in, say, (10, beside))
    assert len(variant.rows(DAY, split="none")) == 10


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
    variant: Variant,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
    pages: list[Any],
) -> None:
    serve_pages(stand_in, say, *pages)
    assert len(variant.rows(DAY, split="none")) == sum(size for size, _ in pages)
    assert caplog.messages == []
