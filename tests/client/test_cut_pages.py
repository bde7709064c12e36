"""Tokens of a page that `max_events` cut: what was cut off comes when the pull goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import Observer, PageDrift, SeenEvents

if TYPE_CHECKING:
    from tests.client.conftest import Asked, OpenWorld, Say, StandIn, World

DAY = "2026-01-15"
HOUR: dict[str, Any] = {"hour": 3, "per_page": 10}


class Noted(Observer):
    def __init__(self) -> None:
        self.drifts: list[PageDrift] = []

    def drift(self, info: PageDrift) -> None:
        self.drifts.append(info)


def serve(stand_in: StandIn, say: type[Say], stored: list[Any], *, totals: bool = True) -> None:
    """An hour of these events, which may change between the answers."""

    def script(asked: Asked) -> Say:
        size = int(asked.query["per_page"])
        end = int(asked.query["page"]) * size
        says = {"total": len(stored)} if totals else {}
        return say({"events": stored[end - size : end], **says})

    stand_in.script = script


def named(*names: str) -> list[dict[str, str]]:
    return [{"event_id": each} for each in names]


def numbered(count: int) -> list[dict[str, str]]:
    return named(*(f"e{at}" for at in range(count)))


def rows_of(pages: list[Any]) -> list[dict[str, Any]]:
    return [row for page in pages for row in page.rows]


@pytest.mark.parametrize("first", [1, 7, 10, 15, 20, 24, 25, 26])
@pytest.mark.parametrize("then", [26, 30, None])
@pytest.mark.parametrize("totals", [True, False])
def test_what_was_cut_off_comes_later(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    first: int,
    then: int | None,
    totals: bool,
) -> None:
    noted = Noted()
    world = open_world(observer=noted)
    serve(stand_in, say, numbered(25), totals=totals)
    pages = world.pages(DAY, max_events=first, **HOUR)
    assert len(rows_of(pages)) == min(first, 25)
    rest = world.pages(DAY, max_events=then, resume=pages[-1].token, **HOUR)
    assert rows_of([*pages, *rest]) == numbered(25)
    assert noted.drifts == []


def test_pages_of_text_are_the_same(world: World, stand_in: StandIn, say: type[Say]) -> None:
    serve(stand_in, say, numbered(25))
    query = world.client.events(DAY, max_events=15, **HOUR)
    pages = world.all_of(query.text_pages())
    query = world.client.events(DAY, resume=pages[-1].token, **HOUR)
    pages += world.all_of(query.text_pages())
    assert [page.events for page in pages] == [10, 5, 5, 5]
    assert b"".join(page.jsonl for page in pages).count(b"\n") == 25


def test_a_page_can_be_cut_more_than_once(world: World, stand_in: StandIn, say: type[Say]) -> None:
    """Also events without an id, which look alike."""
    stored = [{"n": at // 3} for at in range(25)]
    serve(stand_in, say, stored)
    pages: list[Any] = []
    for most in (12, 14, 15, 19, 22, None):
        token = pages[-1].token if pages else None
        pages += world.pages(DAY, max_events=most, resume=token, **HOUR)
    assert rows_of(pages) == stored


def test_days_and_hours_behind_a_cut_page(world: World, stand_in: StandIn, say: type[Say]) -> None:
    def script(asked: Asked) -> Say:
        hour, page = int(asked.query["hour"]), int(asked.query["page"])
        names = [f"{hour}-{at}" for at in range(hour % 4)][page * 3 - 3 : page * 3]
        return say({"events": named(*names)})

    stand_in.script = script
    whole = rows_of(world.pages(DAY, per_page=3))
    assert len(whole) == 36
    for first in range(3, 36):
        pages = world.pages(DAY, per_page=3, max_events=first)
        rest = world.pages(DAY, per_page=3, resume=pages[-1].token, ordered=False, concurrency=1)
        assert rows_of([*pages, *rest]) == whole


def test_events_that_arrived_meanwhile(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    """They move the cut page; what was handed out of it does not come again."""
    noted, stored = Noted(), numbered(25)
    world = open_world(observer=noted)
    serve(stand_in, say, stored, totals=False)
    pages = world.pages(DAY, max_events=15, **HOUR)
    stored[:0] = named("late0", "late1", "late2")
    rest = world.pages(DAY, resume=pages[-1].token, **HOUR)
    assert rows_of([*pages, *rest]) == numbered(25)
    assert [(each.number, each.repeated) for each in noted.drifts] == [(2, 3)]


@pytest.mark.parametrize("first", [5, 9])
def test_events_that_were_left_out_of_a_cut_page(
    world: World, stand_in: StandIn, say: type[Say], first: int
) -> None:
    serve(stand_in, say, numbered(25))
    seen = SeenEvents(["e0", "e3", "e4", "e12"])
    pages = world.pages(DAY, max_events=first, seen=seen, **HOUR)
    assert len(rows_of(pages)) == first
    rest = world.pages(DAY, resume=pages[-1].token, **HOUR)
    last = numbered(25).index(rows_of(pages)[-1])
    assert rows_of(rest) == numbered(25)[last + 1 :]


@pytest.mark.parametrize("gone", [[0], [1, 2], [0, 2, 4], [4], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("name", ["event_id", "other"])
@pytest.mark.parametrize("totals", [True, False])
def test_events_that_went_meanwhile(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    gone: list[int],
    name: str,
    totals: bool,
) -> None:
    """Those behind them moved up; the token knows what was handed out, also without ids."""
    noted = Noted()
    world, stored = open_world(observer=noted), [{name: f"e{at}"} for at in range(25)]
    whole = [*stored]
    serve(stand_in, say, stored, totals=totals)
    pages = world.pages(DAY, max_events=5, **HOUR)
    for at in reversed(gone):
        del stored[at]
    rest = world.pages(DAY, resume=pages[-1].token, **HOUR)
    assert rows_of([*pages, *rest]) == whole
    assert [(each.number, each.repeated, each.moved) for each in noted.drifts] == [(1, 0, True)]
    assert "any more with what an earlier run handed out of it" in str(noted.drifts[0])


def test_an_event_that_arrived_between_those_of_a_cut_page(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    noted, stored = Noted(), numbered(25)
    world = open_world(observer=noted)
    serve(stand_in, say, stored)
    pages = world.pages(DAY, max_events=5, **HOUR)
    stored[2:2] = named("late")
    cut_again = world.pages(DAY, resume=pages[-1].token, max_events=7, **HOUR)
    rest = world.pages(DAY, resume=cut_again[-1].token, **HOUR)
    names = [row["event_id"] for row in rows_of([*pages, *cut_again, *rest])]
    assert names == [*(f"e{at}" for at in range(5)), "late", *(f"e{at}" for at in range(5, 25))]
    assert [(each.number, each.moved) for each in noted.drifts] == [(1, True)]


def test_a_long_page_that_moved(open_world: OpenWorld, stand_in: StandIn, say: type[Say]) -> None:
    """Of 100 events that were handed out, the token remembers the last ones."""
    noted, stored = Noted(), numbered(250)
    world = open_world(observer=noted)
    serve(stand_in, say, stored, totals=False)
    options: dict[str, Any] = {"hour": 3, "per_page": 200}
    pages = world.pages(DAY, max_events=100, **options)
    del stored[7:9]
    rest = world.pages(DAY, resume=pages[-1].token, **options)
    assert rows_of([*pages, *rest]) == numbered(250)
    assert [(each.number, each.moved) for each in noted.drifts] == [(1, True)]


@pytest.mark.parametrize("asked", [None, 10, 500])
@pytest.mark.parametrize("then", [{}, {"max_events": 20}, {"max_events": 10}])
def test_a_token_brings_the_size_of_its_pages(
    world: World, stand_in: StandIn, say: type[Say], asked: int | None, then: dict[str, int]
) -> None:
    """`max_events` alone makes pages smaller; where a size was given, it is that."""
    serve(stand_in, say, numbered(25))
    pages = world.pages(DAY, hour=3, max_events=10, per_page=asked)
    size = asked or 10
    assert rows_of(pages) == numbered(10)
    for given in (None, size):
        stand_in.asked.clear()
        query = world.client.events(DAY, hour=3, resume=pages[-1].token, per_page=given, **then)
        assert query.plan.per_page == size
        rest = world.all_of(query.pages())
        assert rows_of(rest) == numbered(25)[10 : then.get("max_events")]
        assert {each.query["per_page"] for each in stand_in.asked} <= {str(size)}
        most = query.plan.most_requests
        assert query.plan.least_requests <= len(stand_in.asked) <= (99 if most is None else most)


def test_nothing_is_left_to_be_asked(world: World, stand_in: StandIn, say: type[Say]) -> None:
    serve(stand_in, say, numbered(25))
    token = world.pages(DAY, max_events=5)[-1].token
    query = world.client.events(DAY, max_events=5, resume=token)
    assert (query.plan.least_requests, query.plan.most_requests) == (0, 0)
    assert query.plan.max_events == 0
    stand_in.asked.clear()
    assert world.all_of(query.pages()) == []
    assert stand_in.asked == []


def test_events_that_look_alike_are_as_many_as_there_are(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    """Also where a page moved: the token remembers two of the three that look alike."""
    noted, stored = Noted(), [{"n": at} for at in (0, 1, 7, 7, 7, 8, 7)]
    world, whole = open_world(observer=noted), [*stored]
    serve(stand_in, say, stored)
    pages = world.pages(DAY, max_events=4, **HOUR)
    del stored[0]
    rest = world.pages(DAY, resume=pages[-1].token, **HOUR)
    assert rows_of([*pages, *rest]) == whole
    assert [each.moved for each in noted.drifts] == [True]


def test_a_token_does_not_grow_with_its_cuts(
    world: World, stand_in: StandIn, say: type[Say]
) -> None:
    serve(stand_in, say, numbered(250))
    options: dict[str, Any] = {"hour": 3, "per_page": 250}
    token, lengths = None, list[int]()
    for most in (40, 80, 120, 160, 200):
        (page,) = world.pages(DAY, max_events=most, resume=token, **options)
        token = page.token
        lengths.append(len(token))
    assert max(lengths) - min(lengths) < 10
