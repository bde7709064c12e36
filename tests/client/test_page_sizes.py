"""Pages that say nothing about their end: only the sizes of the same slice's pages can tell."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.client.conftest import Asked, OpenWorld, Say, StandIn

DAY = "2026-01-15"


def serve(stand_in: StandIn, say: type[Say], sizes: dict[int, list[int]]) -> None:
    """Pages of these sizes for each hour, and nothing behind them."""

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
        # A fixed size: the first page that falls short of it is the last.
        ([10, 10, 3], 3),
        ([10, 10], 3),
        # Sizes that grow are not fixed, so only an empty page is the end.
        ([8, 10, 3], 4),
        ([5, 10, 7, 3], 5),
        ([5, 10, 4, 9], 5),
    ],
)
@pytest.mark.parametrize("per_page", [None, 10])
def test_where_a_slice_ends(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    sizes: list[int],
    requests: int,
    per_page: int | None,
) -> None:
    world = open_world()
    serve(stand_in, say, {3: sizes})
    assert len(world.rows(DAY, hour=3, per_page=per_page)) == sum(sizes)
    assert len(stand_in.asked) == requests


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_slice_does_not_judge_another(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], ordered: bool, concurrency: int
) -> None:
    world = open_world()
    sizes = {0: [10], 1: [8, 8, 4], 2: [3, 3, 3], 5: [1], 7: [12, 12]}
    serve(stand_in, say, sizes)
    rows = world.rows(DAY, ordered=ordered, concurrency=concurrency)
    assert Counter(int(row["event_id"].split("-")[0]) for row in rows) == {
        hour: sum(each) for hour, each in sizes.items()
    }
    assert Counter(int(each.query["hour"]) for each in stand_in.asked) == {
        **dict.fromkeys(range(24), 1),
        0: 2,
        1: 3,
        2: 4,
        5: 2,
        7: 3,
    }


def test_a_token_keeps_the_sizes_in_mind(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    world = open_world()
    for sizes, requests in (([10, 10, 3, 2], 1), ([5, 10, 3, 2], 3)):
        serve(stand_in, say, {3: sizes})
        pages = world.pages(DAY, hour=3)
        stand_in.asked.clear()
        rest = world.pages(DAY, hour=3, resume=pages[1].token)
        assert [len(page) for page in rest] == [len(page) for page in pages[2:]]
        assert len(stand_in.asked) == requests


@pytest.mark.parametrize("split", ["hourly", "daily", "none", "auto"])
@pytest.mark.parametrize(("max_events", "per_page"), [(1, 5), (100, 10), (100, 100), (400, 7)])
def test_the_most_requests_are_enough(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    split: str,
    max_events: int,
    per_page: int,
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
    world = open_world()
    options = {"split": split, "max_events": max_events, "per_page": per_page}
    plan = world.client.events(DAY, **options).plan
    assert len(world.rows(DAY, **options)) == min(max_events, 276)
    assert plan.most_requests is not None
    assert len(stand_in.asked) <= plan.most_requests
