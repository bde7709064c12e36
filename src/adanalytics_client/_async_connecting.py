"""Connect as a task to a host that may have several addresses, beside each other.

`asyncio` can do that, too, but in some versions of Python a cancellation leaves the connection open
that has just been made.
"""

import asyncio
import socket

from adanalytics_client._connecting import Address

# RFC 8305, section 5: how long an address may be silent before the next one is tried beside it.
_NEXT_ADDRESS = 0.25

Attempt = asyncio.Task[socket.socket]


async def connected_by_task(host: str, port: int) -> socket.socket:
    """A connection to the first address of a host that takes one, for the caller to close.

    Raises:
        OSError: when the name has no address, or of the last one that was tried.
        UnicodeError: when it can be no name.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    untried = [(family, kind, protocol, place) for family, kind, protocol, _, place in found]
    attempts: list[Attempt] = []
    taken: Attempt | None = None
    try:
        while True:
            if untried:
                attempts.append(loop.create_task(_attempt(untried.pop(0))))
            running = [each for each in attempts if not each.done()]
            if not running:
                return attempts[-1].result()
            wait = _NEXT_ADDRESS if untried else None
            await asyncio.wait(running, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            for each in running:
                if each.done() and each.exception() is None:
                    taken = each
                    return taken.result()
    finally:
        for each in attempts:
            if each is not taken:
                each.cancel()
                each.add_done_callback(_close)


async def _attempt(address: Address) -> socket.socket:
    family, kind, protocol, place = address
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, place)
    except BaseException:
        opened.close()
        raise
    return opened


def _close(attempt: Attempt) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
