"""An answer that sends a file, or a part of it, in pieces."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
from starlette.responses import StreamingResponse

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
    return StreamingResponse(
        _pieces(path, wanted), 200 if part is None else 206, headers={**headers, **lengths}
    )


async def _pieces(path: Path, wanted: range) -> AsyncIterator[bytes]:
    async with await anyio.open_file(path, "rb") as file:
        await file.seek(wanted.start)
        left = len(wanted)
        while left and (piece := await file.read(min(CHUNK_BYTES, left))):
            left -= len(piece)
            yield piece
