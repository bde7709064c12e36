"""The lines of stdin, for which a signal need not wait."""

import asyncio
import os
import select
from contextlib import suppress
from threading import Thread
from typing import Self

_PIECE = 65_536
# Bytes; the largest arguments that are read, 100,000 characters, are below a megabyte in JSON.
_MOST = 32_000_000


class StdinLines:
    """Yields the lines of stdin as text, and only the beginning of one that is above 32 MB.

    A thread of the event loop would have to end before the process can, and a read that blocks does
    not end at a signal. So the thread is a daemon, which holds no lock of an open file.
    """

    def __init__(self) -> None:
        self._lines = asyncio.Queue[str | None]()
        self._loop = asyncio.get_running_loop()
        Thread(target=self._read, daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line

    def _read(self) -> None:
        line = bytearray()
        try:
            while piece := _piece():
                *ends, rest = piece.split(b"\n")
                for end in ends:
                    self._put((line + end).decode(errors="replace"))
                    line.clear()
                # The rest of a line that is too long is read and dropped, so that the next one is
                # found.
                if len(line) < _MOST:
                    line += rest
        finally:
            self._put(None)

    def _put(self, line: str | None) -> None:
        # The loop may have ended meanwhile.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _piece() -> bytes:
    """Return some bytes of stdin, which another process may have made non-blocking."""
    while True:
        try:
            return os.read(0, _PIECE)
        except BlockingIOError:
            select.select([0], [], [])
