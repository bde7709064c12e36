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
    options = {**HOUR, "per_page": min(first, 10)}
    pages = world.pages(DAY, max_events=first, **options)
    assert len(rows_of(pages)) == min(first, 25)
    rest = world.pages(DAY, max_events=then, resume=pages[-1].token, **options)
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
    options = {**HOUR, "per_page": first}
    pages = world.pages(DAY, max_events=first, seen=seen, **options)
    assert len(rows_of(pages)) == first
    rest = world.pages(DAY, resume=pages[-1].token, **options)
    last = numbered(25).index(rows_of(pages)[-1])
    assert rows_of(rest) == numbered(25)[last + 1 :]
