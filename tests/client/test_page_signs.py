"""Signs of a next page in many shapes: none of its events is lost, none is asked for in vain."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import errors

if TYPE_CHECKING:
    from tests.client.conftest import Asked, Say, StandIn, World

DAY = "2026-01-15"
SIZES = (10, 8, 10)
Signs = Callable[[int, bool], dict[str, Any]]


def serve(stand_in: StandIn, say: type[Say], signs: Signs, sizes: tuple[int, ...] = SIZES) -> None:
    """Pages of these sizes, what stands beside the events of each, and nothing behind them."""

    def script(asked: Asked) -> Say:
        page = int(asked.query["page"])
        size = [*sizes, *[0] * page][page - 1]
        rows = [{"event_id": f"{page}-{at}"} for at in range(size)]
        return say({"events": rows, **signs(page, page >= len(sizes))})

    stand_in.script = script


def links(page: int, last: bool, rel: Any = "next") -> list[dict[str, Any]]:
    following = [] if last else [{"rel": rel, "href": f"?page={page + 1}"}]
    return [{"rel": "self", "href": f"?page={page}"}, *following]


@pytest.mark.parametrize(
    ("signs", "requests"),
    [
        (lambda _, last: {"cursor": {"next": None if last else "abc"}}, 3),
        (lambda _, last: {"paging": {"cursors": {"next": None if last else "abc"}}}, 3),
        (lambda _, last: {"has_more": "no" if last else "Yes"}, 3),
        (lambda _, last: {"hasMoreResults": "0" if last else "1"}, 3),
        (lambda *_: {"total": {"value": 28, "relation": "eq"}}, 3),
        (lambda *_: {"meta": {"total": {"value": "28", "relation": "eq"}}}, 3),
        (lambda *_: {"total": 28.0}, 3),
        (lambda page, _: {"remaining_events": 28 - sum(SIZES[:page])}, 3),
        (lambda page, _: {"meta": {"remaining_items": str(28 - sum(SIZES[:page]))}}, 3),
        # Nobody says in these that there is no other: that takes an empty page. A token may never
        # be filled, and what remains may be that of a limit.
        (lambda _, last: {"next_page_token": "" if last else "abc"}, 4),
        (lambda _, last: {"meta": {"continuationToken": None if last else "abc"}}, 4),
        (lambda _, last: {"@odata.nextLink": None if last else "x"}, 4),
        (lambda page, _: {"remaining": 28 - sum(SIZES[:page])}, 4),
        (lambda page, last: {"links": links(page, last)}, 4),
        (lambda page, last: {"meta": {"_links": links(page, last, rel=["last", "next"])}}, 4),
        (lambda _, last: {} if last else {"next_page_token": "abc"}, 4),
        # What cannot be read may be such a sign.
        (lambda *_: {"total": {"value": 20, "relation": "gte"}}, 4),
        (lambda *_: {"total": {"value": 20}}, 4),
        (lambda _, last: {"more": "" if last else "?page"}, 4),
        (lambda _, last: {"more_pages_follow": not last}, 4),
        (lambda _, last: {"meta": {"cursor": "the end" if last else "abc"}}, 4),
        (lambda _, last: {} if last else {"remaining": "some"}, 4),
        (lambda _, last: {} if last else {"remaining": {"events": 10}}, 4),
    ],
)
def test_a_page_behind_a_short_one(
    world: World, stand_in: StandIn, say: type[Say], signs: Signs, requests: int
) -> None:
    serve(stand_in, say, signs)
    assert len(world.rows(DAY, hour=3)) == sum(SIZES)
    assert len(stand_in.asked) == requests


@pytest.mark.parametrize(
    ("signs", "requests"),
    [
        (lambda *_: {"cursor": {"next": None}}, 1),
        (lambda *_: {"links": [{"rel": "next", "href": None}]}, 1),
        (lambda *_: {"has_more": "no"}, 1),
        (lambda *_: {"total": {"value": 5, "relation": "eq"}}, 1),
        (lambda *_: {"total": {"value": 5}}, 2),
        (lambda *_: {"remainingItems": 0}, 1),
        (lambda *_: {"remaining": 0, "next": None, "cursor": "abc"}, 1),
        (lambda page, _: {"remaining": 5 if page == 1 else 0, "next_token": None}, 2),
        (lambda *_: {"remaining": 0}, 2),
        (lambda *_: {"next_page_token": ""}, 2),
        # A token that is never filled hides no count of all events.
        (lambda *_: {"count": 6, "next_page_token": None}, 2),
    ],
)
def test_one_page(
    world: World, stand_in: StandIn, say: type[Say], signs: Signs, requests: int
) -> None:
    serve(stand_in, say, signs, (5,))
    assert len(world.rows(DAY, hour=3)) == 5
    assert len(stand_in.asked) == requests


@pytest.mark.parametrize(
    "beside", [{"next_page_token": ""}, {"next_token": None}, {"remaining": 0}]
)
def test_what_may_be_empty_for_another_reason_ends_nothing(
    world: World, stand_in: StandIn, say: type[Say], beside: dict[str, Any]
) -> None:
    serve(stand_in, say, lambda *_: beside, (10, 10, 4))
    assert len(world.rows(DAY, hour=3)) == 24


@pytest.mark.parametrize(
    "beside",
    [
        {"previous_cursor": "abc"},
        {"learn_more": "https://docs.example", "more_info": "x", "next_update_at": "noon"},
        {"rate_limit_remaining": 5, "requests_remaining": 7},
        {"cursors": {"before": "x", "after": None}},
        {"total": {"count": 25}},
        {"next_updates": None},
        {"cursor": ""},
        {"more_pages_follow": False},
        {"more_pages_follow": "no"},
        {"rate": {"remaining": 990}},
        {"links": [{"rel": "prev", "href": "?page=1"}, {"title": "next"}, 7]},
    ],
)
def test_what_is_no_sign_costs_no_request(
    world: World, stand_in: StandIn, say: type[Say], beside: dict[str, Any]
) -> None:
    serve(stand_in, say, lambda *_: beside, (10, 8))
    assert len(world.rows(DAY, hour=3)) == 18
    assert len(stand_in.asked) == 2


def test_a_limit_in_a_header_is_none(world: World, stand_in: StandIn, say: type[Say]) -> None:
    headers = {"X-RateLimit-Remaining": "7", "X-Remaining": "7", "X-Nextjs-Cache": "HIT"}
    serve(stand_in, say, lambda *_: {}, (10, 8))
    script = stand_in.script
    stand_in.script = lambda asked: say(script(asked).body, headers=headers)
    assert len(world.rows(DAY, hour=3)) == 18
    assert len(stand_in.asked) == 2


def test_events_under_the_name_of_links_are_none(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    rows = [{"event_id": str(at), "rel": "next", "href": "/x"} for at in range(3)]
    stand_in.script = lambda asked: say({"links": rows if asked.query["page"] == "1" else []})
    assert len(world.rows(DAY, hour=3, rows_key="links")) == 3


def test_a_broken_link_is_told(world: World, stand_in: StandIn, say: type[Say]) -> None:
    body = b'{"links":[{"rel":"a"},{"rel" 7},{"rel":"c"}],"events":[{"event_id":"1"}]}'
    stand_in.says(say(body))
    with pytest.raises(errors.ProtocolError, match="not JSON"):
        world.rows(DAY, hour=3)


def test_a_short_page_that_was_not_the_last_leaves_no_fixed_size(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    serve(stand_in, say, lambda page, _: {"has_more": True} if page == 2 else {}, (10, 8, 9, 4))
    assert len(world.rows(DAY, hour=3)) == 31
    assert len(stand_in.asked) == 5
