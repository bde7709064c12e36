"""One connection of tasks to a service, and the exchanges over it, one after the other.

asyncio's streams copy what comes twice, in pieces of 64 KiB; here it is received where it shall
lie, as on connections of threads.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import TypeVar, cast

import h11
import httpx

from adanalytics_client._direct_connection import Waits, has_news
from adanalytics_client._framing import AT_ONCE, TORN, Framing, Steps

# For what comes while nobody waits for it, a read at a time.
_UNASKED = 64 * 1024

T = TypeVar("T")


class AsyncDirectConnection(asyncio.BufferedProtocol):
    """A transport of the event loop and whether another exchange can follow.

    It holds at most `AT_ONCE` bytes that nobody has asked for yet, and one read more.

    Attributes:
        reusable: whether the last exchange left it ready for the next one.
        torn: whether it ended without the end that TLS has of its own.
    """

    def __init__(self) -> None:
        self.reusable = False
        self.torn = False
        self._ahead = bytearray()
        self._room = memoryview(b"")
        self._place: memoryview | None = None
        self._came: asyncio.Future[int] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._ended = False
        self._gone = False
        self._lost: Exception | None = None
        self._read_wait: float | None = None

    @property
    def is_stale(self) -> bool:
        """Whether the other side closed it, or sent what nobody asked for."""
        if self._ended or self._ahead or self._transport.is_closing():
            return True
        # The event loop may not have looked yet.
        return has_news(self._transport.get_extra_info("socket").fileno())

    def close(self) -> None:
        """Close the socket; what is under way ends with an error."""
        self.reusable = False
        if not self._gone:
            # Not close(), which lets TLS wait for the other side.
            self._transport.abort()

    async def ask(
        self, request: httpx.Request, waits: Waits
    ) -> tuple[h11.Response, "AsyncDirectBody"]:
        """Send a request; gives the head of the answer, and its body as it arrives.

        Args:
            request: what to send.
            waits: seconds for each step; whoever asks bounds the whole.

        Raises:
            httpx.TransportError: when no head of an answer arrives; reading the body raises
                it, too, when its end is missing.
        """
        self.reusable = False
        self._read_wait = waits.get("read")
        framing = Framing()
        # A view, since error reports show the bytes of bytes, and so the credential.
        data = memoryview(framing.sent(request, await request.aread()))
        await self._send(data, waits.get("write"))
        return await self.run(framing.head()), AsyncDirectBody(self, framing)

    async def run(self, steps: Steps[T]) -> T:
        """Receive what some steps take.

        Raises:
            httpx.TransportError: when it does not come.
        """
        try:
            most = next(steps)
            while True:
                room = bytearray(most)
                size = await self.receive_into(memoryview(room))
                most = steps.send(bytes(memoryview(room)[:size]))
        except StopIteration as end:
            result: T = end.value
            return result

    async def receive_into(self, space: memoryview) -> int:
        """Put the next bytes at the beginning of some memory; gives their number, 0 at the end.

        Raises:
            httpx.TransportError: when none come.
        """
        if not self._ahead and not self._ended:
            self._came = asyncio.get_running_loop().create_future()
            self._place = space
            try:
                async with asyncio.timeout(self._read_wait):
                    if size := await self._came:
                        return size
            except TimeoutError as error:
                raise httpx.ReadTimeout(str(error)) from error
            finally:
                self._came = self._place = None
        if self._ahead:
            return self._put(space)
        if self._lost is not None:
            raise httpx.ReadError(str(self._lost)) from self._lost
        return 0

    def _put(self, space: memoryview) -> int:
        size = min(len(space), len(self._ahead))
        space[:size] = self._ahead[:size]
        del self._ahead[:size]
        if not self._ended:
            self._transport.resume_reading()
        return size

    async def _send(self, data: memoryview, wait: float | None) -> None:
        self._transport.write(data)
        if self._drained is None:
            return
        try:
            async with asyncio.timeout(wait):
                await self._drained
        except TimeoutError as error:
            raise httpx.WriteTimeout(str(error)) from error

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The event loop has connected."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Where the event loop puts what comes.

        A view, since TLS fills it in pieces, and a slice of a bytearray would be another one.
        """
        if self._place is None:
            self._room = memoryview(bytearray(_UNASKED))
            return self._room
        return self._place

    def buffer_updated(self, nbytes: int) -> None:
        """So many bytes came; what comes next must not overwrite them."""
        if self._place is None:
            self._ahead += self._room[:nbytes]
            self._room = memoryview(b"")
            if len(self._ahead) >= AT_ONCE:
                self._transport.pause_reading()
        else:
            self._place = None
            self._wake(nbytes)

    def eof_received(self) -> None:
        """No more comes."""
        self._end()
        self._wake(0)

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed: by us, at the end, or by a failure."""
        self._end()
        self._gone = True
        self._lost = exc
        self._wake(0)
        self.resume_writing()

    def pause_writing(self) -> None:
        """More waits to be sent than the event loop likes."""
        self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """What waited is sent, or never will be: who refuses a request may answer before."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    def _end(self) -> None:
        secured = self._transport.get_extra_info("ssl_object")
        if not self._ended and secured is not None:
            self.torn = not _told_its_end(secured)
        self._ended = True

    def _wake(self, size: int) -> None:
        if self._came is not None and not self._came.done():
            self._came.set_result(size)


class AsyncDirectBody(AsyncIterator[bytes]):
    """The body of an answer, as pieces, or put where it shall lie if its length is known.

    Args:
        connection: what it is received from.
        framing: what has read its head, and a part of it with that.

    Raises:
        httpx.TransportError: from either way of receiving, when its end is missing.
    """

    def __init__(self, connection: AsyncDirectConnection, framing: Framing) -> None:
        self._connection = connection
        self._framing = framing
        self.sized = framing.sized

    async def __anext__(self) -> bytes:
        """The next bytes."""
        if piece := await self._connection.run(self._framing.piece()):
            return piece
        if self._connection.torn:
            raise httpx.RemoteProtocolError(TORN)
        self._connection.reusable = self._framing.reusable
        raise StopAsyncIteration

    async def receive_into(self, space: memoryview) -> int:
        """Put the next bytes at the beginning of some memory; gives their number, 0 at the end."""
        framing = self._framing
        if not framing.left:
            return 0
        size = framing.put(space)
        if not size:
            size = await self._connection.receive_into(space[: framing.left])
        framing.took(size)
        return size


def _told_its_end(secured: ssl.SSLObject) -> bool:
    """Whether the other side has ended TLS; event loops tell of both ends alike."""
    try:
        return not secured.read(1)
    except ssl.SSLZeroReturnError:
        return True
    except ssl.SSLError:
        return False
