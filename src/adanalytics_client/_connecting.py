"""Connect to a host that may have several addresses, within one wait for all of them."""

import socket
from collections.abc import Callable
from time import monotonic
from typing import Any

Address = tuple[socket.AddressFamily, socket.SocketKind, int, Any]
"""Family, kind and protocol of a socket, and what it connects to."""


def addresses_of(host: str, port: int) -> list[Address]:
    """The addresses of a host, the most promising first; at least one.

    Raises:
        OSError: when the name has none.
        UnicodeError: when it can be no name.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, kind, protocol, address) for family, kind, protocol, _, address in found]


def connected(
    addresses: list[Address], until: float | None, now: Callable[[], float] = monotonic
) -> socket.socket:
    """A connection to the first address that takes one.

    Each may use an even share of the time that is left, so that a silent one leaves some to those
    behind it.

    Args:
        addresses: at least one.
        until: when to give up, on the clock of `now`; None is never.
        now: seconds that never go back.

    Raises:
        OSError: of the last address, when none takes one; TimeoutError is one.
    """
    *others, last = addresses
    for number, each in enumerate(others):
        try:
            return _attempt(each, until, now, shares=len(addresses) - number)
        except OSError:
            continue
    return _attempt(last, until, now, shares=1)


def remaining(until: float | None, now: Callable[[], float] = monotonic) -> float | None:
    """Seconds that are left, more than none; None is without end.

    Raises:
        TimeoutError: when none are left.
    """
    if until is None:
        return None
    left = until - now()
    if left <= 0:
        raise TimeoutError("no connection in time")
    return left


def _attempt(
    address: Address, until: float | None, now: Callable[[], float], *, shares: int
) -> socket.socket:
    family, kind, protocol, place = address
    left = remaining(until, now)
    opened = socket.socket(family, kind, protocol)
    try:
        opened.settimeout(None if left is None else left / shares)
        opened.connect(place)
    except BaseException:
        opened.close()
        raise
    return opened
