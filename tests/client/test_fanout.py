"""The order and the bounds of a pull, without any I/O."""

from __future__ import annotations

import random
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adanalytics_client._fanout import Fanout
from adanalytics_client._pages import Cursor, Fetched, fetched
from adanalytics_client._plan import make_plan
from adanalytics_client._rows import find_rows

DAY = date(2026, 1, 15)


def page_of(sizes: list[int], cursor: Cursor) -> Fetched:
    """Page `cursor.number` of a slice whose pages have these sizes."""
    hour = cursor.slice.hour or 0
    at = cursor.number - 1
    rows = [{"id": (hour, at, each)} for each in range(sizes[at] if at < len(sizes) else 0)]
    return fetched(find_rows({"events": rows, "has_more": at + 1 < len(sizes)}), {})


def ids(page: Fetched) -> list[tuple[int, int, int]]:
    return [row["id"] for row in page.rows()]


@settings(max_examples=80, deadline=None)
@given(
    script=st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), min_size=24, max_size=24),
    concurrency=st.integers(1, 6),
    ordered=st.booleans(),
    enough=st.none() | st.integers(1, 40),
    seed=st.integers(0, 9999),
)
def test_every_event_comes_once_within_the_bounds(
    script: list[list[int]], concurrency: int, ordered: bool, enough: int | None, seed: int
) -> None:
    """Pages arrive in any order; out come all events, in order when asked for."""
    chance = random.Random(seed)
    fanout = Fanout(make_plan(DAY, DAY), concurrency=concurrency, ordered=ordered, enough=enough)
    flying: list[Cursor] = []
    out: list[tuple[int, int, int]] = []
    asked = held = 0
    while not fanout.finished:
        while (cursor := fanout.start()) is not None:
            flying.append(cursor)
            asked += 1
            held += 1
        assert len(flying) <= concurrency
        assert held <= 2 * concurrency
        if (turned := fanout.ready()) is not None:
            held -= 1
            # Who works with a page keeps no other one alive.
            assert turned.cursor.before is None
            out += ids(turned.page)
        else:
            cursor = flying.pop(chance.randrange(len(flying)))
            fanout.settle(cursor, page_of(script[cursor.slice.hour or 0], cursor))
    expected = [
        (hour, at, each)
        for hour, sizes in enumerate(script)
        for at, size in enumerate(sizes)
        for each in range(size)
    ]
    if enough is None:
        assert (out if ordered else sorted(out)) == expected
        assert asked == sum(map(len, script))
    else:
        assert len(out) >= min(enough, len(expected))
        assert out == expected[: len(out)]
        assert asked == len({each[:2] for each in out})


@pytest.mark.parametrize("ordered", [True, False])
def test_an_error_comes_in_its_place(ordered: bool) -> None:
    fanout = Fanout(make_plan(DAY, DAY), concurrency=3, ordered=ordered)
    first, second, third = (fanout.start() for _ in range(3))
    assert first
    assert second
    assert third
    fanout.settle(second, ValueError("broken"))
    fanout.settle(third, page_of([1], third))
    if ordered:
        assert fanout.ready() is None
        assert fanout.start() is None
        fanout.settle(first, page_of([1], first))
        turned = fanout.ready()
        assert turned
        assert turned.cursor == first
    with pytest.raises(ValueError, match="broken"):
        fanout.ready()
    assert not fanout.finished


def test_cursors_are_plain_data() -> None:
    cursor = Cursor(make_plan(DAY, DAY).slices[3], number=2, seen=10)
    assert cursor.parameters(500) == {
        "start_date": "2026-01-15",
        "end_date": "2026-01-15",
        "hour": "3",
        "page": "2",
        "per_page": "500",
    }
