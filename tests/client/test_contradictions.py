"""Answers that contradict themselves about the end of the pages: the pull ends, and tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client import Observer, PageDrift

if TYPE_CHECKING:
    from tests.client.conftest import OpenWorld, Say, StandIn

DAY = "2026-01-15"
LINK = {"Link": '</b>; rel="next"'}


class Noted(Observer):
    def __init__(self) -> None:
        self.drifts: list[PageDrift] = []

    def drift(self, info: PageDrift) -> None:
        self.drifts.append(info)


def pages_of(say: type[Say], *pages: tuple[int, dict[str, Any]], **headers: str) -> Any:
    """Pages of so many events with these fields beside them, and empty ones behind."""

    def script(asked: Any) -> Say:
        number = int(asked.query["page"])
        size, says = pages[number - 1] if number <= len(pages) else (0, {})
        rows = [{"event_id": f"{number}-{at}"} for at in range(size)]
        return say({"events": rows, **says}, headers=headers)

    return script


MORE, END = {"has_more": True}, {"has_more": False}
THREE = {"total_pages": 3}


@pytest.mark.parametrize(
    ("pages", "headers"),
    [
        ([(0, MORE), (10, END)], {}),
        ([(10, MORE), (0, MORE), (10, END)], {}),
        ([(0, THREE), (10, THREE)], {}),
        ([(10, THREE), (0, THREE), (10, THREE)], {}),
        ([(10, END | THREE)], {}),
        ([(10, END | {"links": {"next": "/p2"}})], {}),
        ([(10, {"is_last": True, "next_page": 2})], {}),
        ([(10, END)], LINK),
        ([(10, {"remaining_events": 5}), (0, {"remaining_events": 5})], {}),
    ],
)
def test_an_end_that_is_none_is_told(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
    pages: list[Any],
    headers: dict[str, str],
) -> None:
    noted = Noted()
    world = open_world(observer=noted)
    stand_in.script = pages_of(say, *pages, **headers)
    came = world.pages(DAY, split="none")
    number, distinct = len(came), sum(map(len, came))
    told = PageDrift(DAY, number, 0, distinct, None, last=True, contradicted=True)
    assert noted.drifts == [told] == [came[-1].drift]
    text = (
        f"Page {number} of 2026-01-15 is taken as the last, but the service also says that pages "
        "follow it. Compare 2026-01-15 with its summary, or pull it with another split."
    )
    assert caplog.messages == [text]


@pytest.mark.parametrize(
    ("pages", "headers"),
    [
        ([(10, MORE), (0, END)], {}),
        ([(10, MORE)], {}),
        ([(10, THREE), (10, THREE), (4, THREE)], {}),
        ([(10, THREE), (10, THREE), (0, THREE)], {}),
        ([(0, END | {"total_pages": 1})], {}),
        # What is called a count of pages may count the events of the page.
        ([(10, END | {"page_count": 10})], {}),
        # A total that is reached settles it.
        ([(10, END | {"total": 10, "next_page": 2})], {}),
        ([(10, MORE | {"total": 10}), (0, MORE | {"total": 10})], {}),
    ],
)
def test_ends_that_agree_are_not_told(
    open_world: OpenWorld,
    stand_in: StandIn,
    say: type[Say],
    caplog: pytest.LogCaptureFixture,
    pages: list[Any],
    headers: dict[str, str],
) -> None:
    stand_in.script = pages_of(say, *pages, **headers)
    assert len(open_world().rows(DAY, split="none")) == sum(size for size, _ in pages)
    assert caplog.messages == []
