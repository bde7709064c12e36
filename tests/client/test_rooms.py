"""Memory that bodies share, one after the other: never two at the same time."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from adanalytics_client import Client
from adanalytics_client._body import Body
from adanalytics_client._borders import cut_apart
from adanalytics_client._rooms import LARGEST_ROOM, MOST_KEPT, Rooms

if TYPE_CHECKING:
    from tests.client.conftest import OpenWorld, Say, StandIn

SIZE = 300_000


def test_a_room_is_free_once_nobody_refers_to_it() -> None:
    rooms = Rooms()
    body = rooms.take(SIZE)
    place = id(body)
    assert rooms.take(SIZE) is not body
    view = memoryview(body)[5:9]
    del body
    assert id(rooms.take(SIZE)) != place
    del view
    again = rooms.take(SIZE + 10)
    assert (id(again), len(again)) == (place, SIZE + 10)
    del again
    assert len(rooms.take(SIZE - 10)) == SIZE - 10


def test_lines_keep_their_room() -> None:
    rooms = Rooms()
    text = b'{"rows":[%b]}' % b",".join(b'{"id":%d}' % at for at in range(30_000))
    body = rooms.take(len(text))
    body[:] = text
    found = cut_apart(body)
    del body
    assert found is not None
    lines = found[0].upto(3)
    del found
    rooms.take(len(text))[:] = bytes(len(text))
    assert list(lines) == ['{"id":0}', '{"id":1}', '{"id":2}']


def test_few_rooms_are_kept_and_none_after_the_end() -> None:
    rooms = Rooms()
    taken = [rooms.take(SIZE) for _ in range(MOST_KEPT + 2)]
    places = {id(each) for each in taken[:MOST_KEPT]}
    first, surplus = taken[0], taken[MOST_KEPT:]
    taken.clear()
    again = [rooms.take(SIZE) for _ in range(MOST_KEPT - 1)]
    assert places - {id(first)} == {id(each) for each in again}
    assert not {id(each) for each in surplus} & {id(each) for each in again}
    rooms.close()
    del first
    again.clear()
    one = rooms.take(SIZE)
    assert rooms.take(SIZE) is not one
    del one
    assert not rooms._kept


@pytest.mark.parametrize("size", [0, 10, LARGEST_ROOM, 10**15])
def test_small_and_growing_bodies_have_memory_of_their_own(size: int) -> None:
    rooms = Rooms()
    assert len(rooms.take(size)) == min(size, LARGEST_ROOM)
    assert not rooms._kept


@pytest.mark.parametrize("count", [None, lambda _: 4])
def test_without_a_count_of_holders_memory_is_always_new(
    count: Callable[[object], int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if count is None:
        monkeypatch.delattr(sys, "getrefcount")
    else:
        monkeypatch.setattr(sys, "getrefcount", count)
    rooms = Rooms()
    rooms.take(SIZE)[:] = b"x" * SIZE
    assert rooms.take(SIZE) == bytes(SIZE)


def test_threads_that_count_at_the_same_time_share_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    rooms = Rooms()
    rooms.take(SIZE)[:] = b"x" * SIZE
    assert rooms.take(SIZE) == bytes(SIZE)


def test_a_debugger_that_looks_on_makes_no_room_free() -> None:
    rooms, seen = Rooms(), list[dict[str, object]]()
    body = rooms.take(SIZE)

    def look(frame: FrameType, _event: str, _of: object) -> Any:
        # A copy of the local variables that stays, and so one more holder of each.
        seen.append(frame.f_locals)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        other = rooms.take(SIZE)
    finally:
        sys.settrace(before)
    assert seen
    assert other is not body


def test_a_body_that_outgrows_its_room_leaves_it() -> None:
    rooms = Rooms()
    body = Body(None, str(SIZE), rooms)
    for _ in range(5):
        body.write(b"x" * SIZE)
    assert body.finish() == b"x" * 5 * SIZE
    assert [len(each) for each in rooms._kept] == [SIZE]


def test_no_two_threads_have_the_same_room() -> None:
    rooms, wrong = Rooms(), list[int]()
    together = threading.Barrier(6)

    def work(mark: int) -> None:
        together.wait()
        for _ in range(300):
            room = rooms.take(SIZE)
            room[::1000] = bytes([mark]) * len(room[::1000])
            if room[::1000].count(mark) != len(room[::1000]):
                wrong.append(mark)
            del room

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 7)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert len(rooms._kept) <= MOST_KEPT


def pages_of(first: int, count: int) -> tuple[list[str], list[bytes]]:
    """Events of pages of more than 128 KiB, and the bodies of these."""
    pages = [
        [f'{{"event_id":"{page}-{at}","os":"{f"{page}" * 900}"}}' for at in range(200)]
        for page in range(first, first + count)
    ]
    more = [page is not pages[-1] for page in pages]
    bodies = [
        f'{{"events":[{",".join(page)}],"has_more":{str(left).lower()}}}'
        for page, left in zip(pages, more, strict=True)
    ]
    return [line for page in pages for line in page], [each.encode() for each in bodies]


def test_pages_stay_as_they_were_while_others_arrive(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say]
) -> None:
    lines, bodies = pages_of(100, 12)
    stand_in.says(*map(say, bodies))
    world = open_world()
    held = world.all_of(world.client.events("2026-01-15", split="none").text_pages())
    assert b"".join(page.jsonl for page in held).decode().splitlines() == lines
    stand_in.says(*map(say, bodies))
    query = world.client.events("2026-01-15", split="none")
    batches = world.all_of(query.to_arrow_batches(columns=["event_id", "os"]))
    assert [row for batch in batches for row in batch.to_pylist()] == [*map(json.loads, lines)]


def test_a_second_pull_needs_no_more_memory_than_the_first(
    open_world: OpenWorld, stand_in: StandIn, say: type[Say], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    take = Rooms.take

    def noted(rooms: Rooms, size: int) -> bytearray:
        room = take(rooms, size)
        taken.append(id(room))
        return room

    monkeypatch.setattr(Rooms, "take", noted)
    world = open_world()
    for first in (100, 200):
        lines, bodies = pages_of(first, 12)
        stand_in.says(*map(say, bodies))
        found = world.rows("2026-01-15", split="none", concurrency=1)
        assert found == [*map(json.loads, lines)]
    assert len(taken) == 24
    assert len({*taken}) <= MOST_KEPT


def test_a_lent_client_gets_what_its_transport_gives() -> None:
    text = b'{"dates":["2026-01-15"],"pad":"%b"}' % (b"x" * SIZE)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=text))
    with (
        httpx.Client(transport=transport) as http,
        Client("https://x.example", api_key="k", partner="acme", http=http) as client,
    ):
        assert [str(each) for each in client.dates()] == ["2026-01-15"]
