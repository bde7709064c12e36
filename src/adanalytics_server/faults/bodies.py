"""Ways to spoil the body of an answer while it is sent: nothing is collected in memory."""

import math
import zlib
from collections.abc import Awaitable, Callable

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

_PIECES = 10


def cut(send: Send, *, honest: bool, ended: Callable[[], None] | None = None) -> Send:
    """Return a ``send`` that lets only the first half of a body through.

    Args:
        send: where the rest of the answer goes.
        honest: announce the half as the whole length, so that the answer is well framed; else
            the full length stays announced and the body is left open.
        ended: called once when the half is out.
    """
    left = 0
    done = False

    async def send_half(message: Message) -> None:
        nonlocal left, done
        if message["type"] == "http.response.start":
            left = _length(message) // 2
            if honest:
                MutableHeaders(scope=message)["content-length"] = str(left)
            await send(message)
        elif not done:
            part = message.get("body", b"")[:left]
            left -= len(part)
            done = not left or not message.get("more_body", False)
            await send({**message, "body": part, "more_body": not (done and honest)})
            if done and ended:
                ended()

    return send_half


def gzip_cut(send: Send) -> Send:
    """Return a ``send`` that packs the first half of a body as gzip and forgets its end.

    A file that is gzip already is cut as it is. Either way HTTP's own framing is whole.
    """
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    plain: Send | None = None

    async def packed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["content-encoding"] = "gzip"
            del headers["content-length"]
            await send(message)
            return
        body = packer.compress(message.get("body", b""))
        if not message.get("more_body", False):
            # All that was put in comes out, but neither the last block nor the checksum.
            body += packer.flush(zlib.Z_SYNC_FLUSH)
        await send({**message, "body": body})

    async def send_cut(message: Message) -> None:
        nonlocal plain
        if message["type"] == "http.response.start":
            is_gzip = MutableHeaders(scope=message).get("content-type") == "application/gzip"
            plain = cut(send if is_gzip else packed, honest=True)
        if plain is not None:
            await plain(message)

    return send_cut


def slow(send: Send, pause: Callable[[float], Awaitable[None]], *, seconds: float) -> Send:
    """Return a ``send`` that spreads a body over some seconds, in ten pieces."""
    size = 1

    async def send_slowly(message: Message) -> None:
        nonlocal size
        if message["type"] == "http.response.start":
            size = max(1, math.ceil(_length(message) / _PIECES))
            await send(message)
            return
        body = message.get("body", b"")
        for at in range(0, max(len(body), 1), size):
            await pause(seconds / _PIECES)
            more = message.get("more_body", False) or at + size < len(body)
            await send({**message, "body": body[at : at + size], "more_body": more})

    return send_slowly


def typed(send: Send, content_type: str) -> Send:
    """Return a ``send`` that claims another content type for the same body."""

    async def send_typed(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["content-type"] = content_type
        await send(message)

    return send_typed


def _length(message: Message) -> int:
    return int(MutableHeaders(scope=message).get("content-length", "0"))
