"""A host with several addresses: one wait for all of them, and a share of it for each."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from adanalytics_client._connecting import Address, addresses_of, connected

if TYPE_CHECKING:
    from tests.client.conftest import Seconds


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch, seconds: Seconds) -> list[float]:
    """Port 1 stays silent for as long as it is asked; what each wait was."""
    real = socket.socket.connect
    found: list[float] = []

    def connect(opened: socket.socket, place: Any) -> None:
        if place[1] != 1:
            real(opened, place)
            return
        wait = opened.gettimeout()
        assert wait is not None
        found.append(wait)
        seconds.now += wait
        raise TimeoutError

    monkeypatch.setattr(socket.socket, "connect", connect)
    return found


SILENT: Address = (socket.AF_INET, socket.SOCK_STREAM, 0, ("127.0.0.1", 1))


def test_silent_addresses_share_one_wait(waited: list[float], seconds: Seconds) -> None:
    with pytest.raises(TimeoutError):
        connected([SILENT] * 6, 12.0, seconds)
    assert waited == pytest.approx([2.0] * 6)


def test_an_address_behind_silent_ones_gets_its_share(
    waited: list[float], seconds: Seconds
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        address = addresses_of("127.0.0.1", listener.getsockname()[1])
        with closing(connected([SILENT, SILENT, *address], 12.0, seconds)) as opened:
            assert opened.getpeername() == listener.getsockname()
    assert waited == [4.0, 4.0]


def test_one_that_refuses_leaves_its_share_to_the_others(
    waited: list[float], seconds: Seconds
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        gone = addresses_of("127.0.0.1", listener.getsockname()[1])
    with pytest.raises(TimeoutError):
        connected([*gone, SILENT], 12.0, seconds)
    assert waited == [12.0]


def test_without_a_bound_nothing_is_given_up_by_us(seconds: Seconds) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        address = addresses_of("127.0.0.1", listener.getsockname()[1])
        with closing(connected(address, None, seconds)) as opened:
            assert opened.gettimeout() is None
