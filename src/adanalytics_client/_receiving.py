"""Take the body of an answer to where it belongs, on a thread or as a task."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import cast

import httpx

from adanalytics_client._body import Body, DamagedBody, OversizedBody
from adanalytics_client._effects import Failure, Head, Reply, Send, Trouble
from adanalytics_client._rooms import Rooms
from adanalytics_client._wire import RECEIVE_INTO, to_head

ReceiveInto = Callable[[memoryview], int]
"""Puts the next bytes of the body at the beginning of some memory and tells how many.

At least one, and 0 only behind the last.
"""

AsyncReceiveInto = Callable[[memoryview], Awaitable[int]]
"""The same, to be awaited."""


class SinkError(Exception):
    """Carries an error of httpx that a sink raised past those of the transport.

    An observer that is told of a piece may send requests of its own.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def _of_a_sink() -> Iterator[None]:
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise SinkError(error) from None


class Receiver:
    """Takes one answer's body, piece by piece, to where it belongs."""

    def __init__(
        self, send: Send, response: httpx.Response, rooms: Rooms, *, decoded: bool
    ) -> None:
        self.head = _decoded(to_head(response)) if decoded else to_head(response)
        self._sink = send.sink
        takes: bool | None = False
        if self._sink is not None:
            with _of_a_sink():
                takes = self._sink.accept(self.head)
        self.unread = takes is None
        self._body: Body | None = None
        self._damage: Failure | None = None
        if takes is False:
            try:
                self._body = Body(
                    self.head.get("content-encoding"), self.head.get("content-length"), rooms
                )
            except DamagedBody as error:
                self._damage = Failure(Trouble.UNREADABLE, arrived=True, detail=str(error))

    def space(self) -> memoryview:
        """Where the next bytes shall lie; empty where pieces have to be written."""
        return memoryview(b"") if self._body is None else self._body.space()

    def filled(self, size: int) -> None:
        """So many bytes were put there, and every view of it is released."""
        if self._body is not None:
            self._body.filled(size)

    def write(self, piece: bytes) -> bool:
        """Take a piece; False means that no more is wanted."""
        if self._damage is not None:
            return False
        if self._body is None:
            with _of_a_sink():
                return self._sink is None or self._sink.write(piece)
        try:
            self._body.write(piece)
        except DamagedBody as error:
            self._damage = Failure(Trouble.UNREADABLE, arrived=True, detail=str(error))
        except OversizedBody:
            self._damage = Failure(Trouble.TOO_LARGE, arrived=True)
        return self._damage is None

    def finish(self) -> Reply | Failure:
        """The reply, or why there is none."""
        if self._damage is not None:
            return self._damage
        try:
            return Reply(self.head, self._body.finish() if self._body else b"")
        except DamagedBody as error:
            return Failure(Trouble.TRUNCATED, arrived=True, detail=str(error))


def _decoded(head: Head) -> Head:
    """The head of a body that is no longer as it was sent."""
    spoilt = {"content-encoding", "content-length"}
    return Head(
        head.status, {name: text for name, text in head.headers.items() if name not in spoilt}
    )


def received(
    receiver: Receiver, response: httpx.Response, read: bytes | None
) -> Generator[bool, None, None]:
    """Receive a body; tells after each step whether more of it is wanted."""
    if (receive_into := response.extensions.get(RECEIVE_INTO)) is not None:
        while size := _put(receiver, receive_into):
            receiver.filled(size)
            yield True
    stream = cast("httpx.SyncByteStream", response.stream)
    for piece in stream if read is None else (read,):
        yield receiver.write(piece)


def _put(receiver: Receiver, receive_into: ReceiveInto) -> int:
    with receiver.space() as space:
        return receive_into(space) if space else 0


async def received_by_task(
    receiver: Receiver, response: httpx.Response, read: bytes | None
) -> AsyncGenerator[bool, None]:
    """Receive a body; tells after each step whether more of it is wanted."""
    if (receive_into := response.extensions.get(RECEIVE_INTO)) is not None:
        while size := await _put_by_task(receiver, receive_into):
            receiver.filled(size)
            yield True
    stream = cast("httpx.AsyncByteStream", response.stream)
    async for piece in stream if read is None else httpx.ByteStream(read):
        # A sink's write of some 64 KiB to the page cache costs less than a hop to a thread.
        yield receiver.write(piece)


async def _put_by_task(receiver: Receiver, receive_into: AsyncReceiveInto) -> int:
    with receiver.space() as space:
        return await receive_into(space) if space else 0
