"""The response to a download: one range of bytes, and the file in pieces.

Its URL is signed and expires, like those of an object store.

Ranges follow RFC 9110. Starlette's ``FileResponse`` refuses ranges that section 14.2 says to
ignore, and sends errors as text.
"""

import asyncio
import hashlib
import hmac
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import urlencode

from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from adanalytics_server.errors import ApiError

from .files import FORMATS, GZIP_TYPE
from .table import ExportJob

# Bytes in memory at a time for one download.
CHUNK_BYTES = 1 << 18

# Eighteen digits are enough for any file; Python refuses to read very long numbers.
_ONE_RANGE = re.compile(
    r"bytes=\s*(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))\s*", re.IGNORECASE
)


async def download_answer(request_headers: Headers, job: ExportJob, path: Path) -> Response:
    """Answer a request for the file of a completed job.

    The response is 200 with the complete file, or 206 with the requested range. If the file gets
    shorter meanwhile, the body is shorter than ``Content-Length``, which clients notice. The
    SHA-256 of the file is its entity tag.

    Raises:
        ApiError: 410, the file was deleted; 416, the range starts beyond the end or is empty.
    """
    try:
        size = (await asyncio.to_thread(path.stat)).st_size
    except FileNotFoundError as error:
        raise ApiError(410, "The file was deleted: start the export again") from error
    etag = f'"{job.sha256}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-transform"}
    part = _asked_range(
        request_headers.get("range"), request_headers.get("if-range"), etag=etag, size=size
    )
    headers |= {
        "Content-Type": GZIP_TYPE if job.suffix.endswith(".gz") else FORMATS[job.format].media_type,
        "Content-Disposition": f'attachment; filename="{job.filename}"',
        "Content-Length": str(size if part is None else len(part)),
        "Accept-Ranges": "bytes",
    }
    if part is None:
        return _FileResponse(_pieces(path, range(size)), headers=headers)
    headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    return _FileResponse(_pieces(path, part), 206, headers=headers)


def _asked_range(header: str | None, if_range: str | None, *, etag: str, size: int) -> range | None:
    """Return the bytes to send with status 206, or ``None`` for the whole file.

    Several ranges, other units and unreadable headers get the complete file, which section 14.2
    allows; object stores do the same. So does a range of another version of the file: a date in
    ``If-Range`` never matches, because the file has no date.
    """
    match = _ONE_RANGE.fullmatch(header or "")
    if match is None or (if_range is not None and if_range.strip() != etag):
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        part = range(max(size - int(suffix), 0), size)
    elif last and int(last) < int(first):
        # Not a range, by section 14.1.1.
        return None
    else:
        part = range(int(first), min(int(last) + 1, size) if last else size)
    if not part:
        raise ApiError(416, "Range Not Satisfiable", headers={"Content-Range": f"bytes */{size}"})
    return part


class _FileResponse(StreamingResponse):
    """Closes the file at once even if the client disconnects early."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces = self.body_iterator
        try:
            await super().__call__(scope, receive, send)
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()


async def _pieces(path: Path, bounds: range) -> AsyncGenerator[bytes, None]:
    # Opened here, in microseconds: a thread whose wait is cancelled would leave its file open.
    with path.open("rb") as file:
        file.seek(bounds.start)
        rest = len(bounds)
        while rest and (piece := await asyncio.to_thread(file.read, min(CHUNK_BYTES, rest))):
            rest -= len(piece)
            yield piece


class Signer:
    """Signs the path of a file until a time (seconds since 1970), and checks signatures."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def query(self, path: str, *, expires: int) -> str:
        """Return the query string that opens ``path`` until ``expires``."""
        return urlencode({"expires": expires, "signature": self._signature(path, expires)})

    def opens(self, path: str, *, expires: str, signature: str, now: int) -> bool:
        """Return whether a query string opens ``path`` at the second ``now``."""
        if not (expires.isascii() and expires.isdecimal() and len(expires) <= 12):
            return False
        reference = self._signature(path, int(expires))
        # A comparison that ends early would tell, by its time, how much of a signature is right.
        genuine = hmac.compare_digest(reference.encode(), signature.encode())
        return genuine and now < int(expires)

    def _signature(self, path: str, expires: int) -> str:
        return hmac.new(self._secret, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()
