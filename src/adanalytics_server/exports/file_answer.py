"""An answer that sends a file, or a part of it, in pieces."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

# Bytes in memory at a time for one download.
CHUNK_BYTES = 1 << 18


def file_answer(
    path: Path, *, size: int, part: range | None, headers: dict[str, str]
) -> StreamingResponse:
    """Return an answer with the bytes ``part`` of a file of ``size`` bytes; 200 with all of them.

    A file that gets shorter meanwhile gives a body that is shorter than announced, which clients
    notice.
    """
    wanted = range(size) if part is None else part
    lengths = {"Content-Length": str(len(wanted)), "Accept-Ranges": "bytes"}
    if part is not None:
        lengths["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    return _FileResponse(
        _pieces(path, wanted), 200 if part is None else 206, headers={**headers, **lengths}
    )


class _FileResponse(StreamingResponse):
    """Closes the file also when the client goes away in the middle, and not some time later."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces = self.body_iterator
        try:
            await super().__call__(scope, receive, send)
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()


async def _pieces(path: Path, wanted: range) -> AsyncGenerator[bytes, None]:
    # Opened here, which takes microseconds: a thread whose wait is cancelled leaves its file open.
    with path.open("rb") as file:
        file.seek(wanted.start)
        left = len(wanted)
        while left and (piece := await asyncio.to_thread(file.read, min(CHUNK_BYTES, left))):
            left -= len(piece)
            yield piece
