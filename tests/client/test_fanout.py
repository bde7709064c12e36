"""The order and the bounds of a pull, without any I/O."""

import json
from datetime import date

import pytest
from tests.client.raw_events import raw_rows

from adanalytics_client._events.check import PullCheck
from adanalytics_client._events.fanout import PageFanout
from adanalytics_client._events.page import FetchedPage
from adanalytics_client._events.paging import Cursor, following
from adanalytics_client._events.plan import Plan, make_plan
from adanalytics_client._events.resume import Position
from adanalytics_client._events.slice import SliceRules
from adanalytics_client._shapes.page import Signals

DAY = date(2026, 1, 15)


def page_of(sizes: list[int], cursor: Cursor) -> FetchedPage:
    """Page `cursor.number` of a slice whose pages have these sizes."""
    hour, at = cursor.slice.hour or 0, cursor.number - 1
    ids = [f"{hour}-{at}-{each}" for each in range(sizes[at] if at < len(sizes) else 0)]
    rows = raw_rows(json.dumps({"event_id": each}).encode() for each in ids)
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


def ids(page: FetchedPage) -> list[str]:
    return [row["event_id"] for row in page.rows.rows()]


def test_an_error_comes_in_its_place() -> None:
    fanout = fanout_of(make_plan(DAY, DAY), 3)
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
    fanout = fanout_of(make_plan(DAY, DAY), 2)
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
    cursor = Cursor(make_plan(DAY, DAY).slices[3], number=2, seen=10)
    assert cursor.parameters(500) == {
        "start_date": "2026-01-15",
        "end_date": "2026-01-15",
        "hour": "3",
        "page": "2",
        "per_page": "500",
    }
