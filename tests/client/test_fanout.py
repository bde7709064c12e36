"""The order and the bounds of a pull, without any I/O."""

from __future__ import annotations

import json
import random
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.raw_events import raw_rows

from adanalytics_client._events.check import PullCheck
from adanalytics_client._events.fanout import PageFanout
from adanalytics_client._events.page import FetchedPage
from adanalytics_client._events.paging import Cursor, following
from adanalytics_client._events.plan import Plan, make_plan
from adanalytics_client._events.resume import Position, read_token, token_of
from adanalytics_client._events.slice import SliceRules
from adanalytics_client._shapes.page import Signals

DAY = date(2026, 1, 15)


def page_of(sizes: list[int], cursor: Cursor) -> FetchedPage:
    """Page `cursor.number` of a slice whose pages have these sizes."""
    hour, at = cursor.slice.hour or 0, cursor.number - 1
    ids = [f"{hour}-{at}-{each}" for each in range(sizes[at] if at < len(sizes) else 0)]
    rows = raw_rows(json.dumps({"event_id": each}).encode() for each in ids)
    says = Signals(total=sum(sizes))
    return FetchedPage(rows, says, following(cursor, len(rows), says, 100)).with_keys()


def fanout_of(
    plan: Plan, concurrency: int, *, max_events: int | None = None, position: Position | None = None
) -> PageFanout:
    check = PullCheck(plan, position or Position(plan.slices, plan.ranges), check="none")
    return PageFanout(
        plan,
        concurrency=concurrency,
        check=check,
        rules=SliceRules(),
        max_events=max_events,
        position=position,
    )


def start(fanout: PageFanout) -> Cursor | None:
    job = fanout.start()
    assert job is None or isinstance(job, Cursor)
    return job


def ids(page: FetchedPage) -> list[str]:
    return [row["event_id"] for row in page.rows.rows()]


def every_id(script: list[list[int]]) -> list[str]:
    return [
        f"{hour}-{at}-{each}"
        for hour, sizes in enumerate(script)
        for at, size in enumerate(sizes)
        for each in range(size)
    ]


SCRIPTS = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), min_size=24, max_size=24)


@settings(max_examples=80, deadline=None)
@given(
    script=SCRIPTS,
    concurrency=st.integers(1, 6),
    enough=st.none() | st.integers(1, 40),
    seed=st.integers(0, 9999),
)
def test_every_event_comes_once_within_the_bounds(
    script: list[list[int]], concurrency: int, enough: int | None, seed: int
) -> None:
    """Pages arrive in any order; out come all events in order."""
    chance = random.Random(seed)
    fanout = fanout_of(make_plan(DAY, DAY), concurrency, max_events=enough)
    flying: list[Cursor] = []
    out: list[str] = []
    asked = held = 0
    while not fanout.finished:
        while (cursor := start(fanout)) is not None:
            flying.append(cursor)
            asked += 1
            held += 1
        assert len(flying) <= concurrency
        assert held <= 2 * concurrency
        if (ready := fanout.ready()) is not None:
            held -= 1
            out += ids(ready.page)
        else:
            cursor = flying.pop(chance.randrange(len(flying)))
            fanout.settle(cursor, page_of(script[cursor.slice.hour or 0], cursor))
    expected = every_id(script)
    if enough is None:
        assert out == expected
        assert asked == sum(map(len, script))
    else:
        assert len(out) == min(enough, len(expected))
        assert out == expected[: len(out)]
        assert asked == len({each.rpartition("-")[0] for each in out})


def test_an_error_comes_in_its_place() -> None:
    fanout = fanout_of(make_plan(DAY, DAY), 3)
    for _ in range(2):
        taken = start(fanout)
        assert taken
        fanout.settle(taken, page_of([1], taken))
        assert fanout.ready()
    first, second, third = (start(fanout) for _ in range(3))
    assert first
    assert second
    assert third
    fanout.settle(second, ValueError("broken"))
    fanout.settle(third, page_of([1], third))
    assert fanout.ready() is None
    assert fanout.start() is None
    fanout.settle(first, page_of([1], first))
    ready = fanout.ready()
    assert ready
    assert ready.cursor == first
    with pytest.raises(ValueError, match="broken"):
        fanout.ready()
    assert not fanout.finished


@settings(max_examples=60, deadline=None)
@given(
    script=SCRIPTS,
    concurrency=st.integers(1, 5),
    stops=st.lists(st.integers(1, 12), max_size=12),
    seed=st.integers(0, 9999),
)
def test_runs_that_stop_anywhere_are_one_pull(
    script: list[list[int]], concurrency: int, stops: list[int], seed: int
) -> None:
    """Pages arrive in any order, each run stops after some of them, the last one does not."""
    chance, plan = random.Random(seed), make_plan(DAY, DAY)
    out: list[str] = []
    position: Position | None = None
    for stop in [*stops, None]:
        fanout = fanout_of(plan, concurrency, position=position)
        flying: list[Cursor] = []
        handed = 0
        while not fanout.finished and handed != stop:
            while (cursor := start(fanout)) is not None:
                flying.append(cursor)
            if (ready := fanout.ready()) is not None:
                out += ids(ready.page)
                position = read_token(token_of(ready.position, plan, "acme")).position_in(
                    plan, "acme"
                )
                handed += 1
            else:
                cursor = flying.pop(chance.randrange(len(flying)))
                fanout.settle(cursor, page_of(script[cursor.slice.hour or 0], cursor))
    expected = every_id(script)
    assert out == expected


def test_cursors_are_plain_data() -> None:
    cursor = Cursor(make_plan(DAY, DAY).slices[3], number=2, seen=10)
    assert cursor.parameters(500) == {
        "start_date": "2026-01-15",
        "end_date": "2026-01-15",
        "hour": "3",
        "page": "2",
        "per_page": "500",
    }
