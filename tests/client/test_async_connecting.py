"""Connecting as a task: which address is taken, and what is left of the others."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from adanalytics_client import _async_connecting as connecting
from adanalytics_client._connecting import Address

Attempts = dict[str, Callable[[], Awaitable[socket.socket]]]
Connect = Callable[[Attempts], Coroutine[Any, Any, socket.socket]]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Connect to a host whose addresses do what the test says; no silence is waited for."""
    monkeypatch.setattr(connecting, "_NEXT_ADDRESS", 0.0)

    async def run(attempts: Attempts) -> socket.socket:
        async def found(*_: object, **__: object) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 1)) for each in attempts]

        async def attempt(address: Address) -> socket.socket:
            return await attempts[address[3][0]]()

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)
        monkeypatch.setattr(connecting, "_attempt", attempt)
        return await connecting.connected_by_task("a.example", 1)

    return run


def within(seconds: float, work: Coroutine[Any, Any, object]) -> None:
    asyncio.run(asyncio.wait_for(work, seconds))


async def refuse() -> socket.socket:
    raise ConnectionRefusedError


async def vanish() -> socket.socket:
    raise OSError("the last one")


class Silent:
    """An address that says nothing, until it is told to."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.speak = asyncio.Event()
        self.given_up = asyncio.Event()
        self.opened = socket.socket()

    async def __call__(self) -> socket.socket:
        self.asked.set()
        try:
            await self.speak.wait()
        except asyncio.CancelledError:
            self.given_up.set()
            raise
        return self.opened


def test_an_address_beside_a_silent_one_is_taken(connect: Connect) -> None:
    async def main() -> None:
        silent, other = Silent(), socket.socket()

        async def takes() -> socket.socket:
            await silent.asked.wait()
            return other

        with silent.opened, other:
            assert await connect({"1": silent, "2": refuse, "3": takes}) is other
            await silent.given_up.wait()

    within(10, main())


def test_the_silent_one_may_still_be_the_first_to_take_it(connect: Connect) -> None:
    async def main() -> None:
        first, second = Silent(), Silent()

        async def speak() -> None:
            await second.asked.wait()
            first.speak.set()

        with first.opened, second.opened:
            speaking = asyncio.create_task(speak())
            assert await connect({"1": first, "2": second}) is first.opened
            await speaking
            await second.given_up.wait()

    within(10, main())


def test_of_those_that_all_fail_the_last_is_told(connect: Connect) -> None:
    with pytest.raises(OSError, match="the last one"):
        within(10, connect({"1": refuse, "2": refuse, "3": vanish}))


def test_a_connection_made_as_the_task_is_cancelled_is_closed(connect: Connect) -> None:
    async def main() -> None:
        silent = Silent()
        connection = asyncio.create_task(connect({"1": silent}))
        await silent.asked.wait()
        silent.speak.set()
        # It has the connection now, and whoever waits for it has not been told.
        await asyncio.sleep(0)
        connection.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connection
        await asyncio.sleep(0)
        assert silent.opened.fileno() == -1

    within(10, main())


def test_two_that_take_it_at_once_leave_one(connect: Connect) -> None:
    async def main() -> None:
        first, second = Silent(), Silent()

        async def speak() -> None:
            await second.asked.wait()
            first.speak.set()
            second.speak.set()

        with first.opened, second.opened:
            speaking = asyncio.create_task(speak())
            taken = await connect({"1": first, "2": second})
            await speaking
            await asyncio.sleep(0)
            opened = [each for each in (first, second) if each.opened.fileno() >= 0]
            assert [each.opened for each in opened] == [taken]

    within(10, main())
