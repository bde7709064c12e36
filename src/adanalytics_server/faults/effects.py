"""The effects: what each does to one request and its response, without buffering bodies."""

import asyncio
import math
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import cast

from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.answers import Answers, answer_with
from adanalytics_server.errors import ApiError, error_response
from adanalytics_server.faults.fault import Fault
from adanalytics_server.serving.protocol import CONNECTION

_HTML = (
    "<!DOCTYPE html>\n<html lang=en><title>One moment</title>"
    "<p>This page is not from the service. Something in between made it.</p></html>\n"
)
_PIECES = 10

Pause = Callable[[float], Awaitable[None]]


class NoConnection(RuntimeError):
    """The application runs under a server that gives no access to its connections."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request in progress: the application and its ASGI arguments.

    ``pause`` waits for a number of seconds; ``answers`` are the server's.
    """

    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send
    pause: Pause
    answers: Answers

    async def run(self, *, send: Send | None = None, answers: Answers | None = None) -> None:
        """Run the application, optionally with another ``send`` or other answers."""
        if answers is not None:
            answer_with(self.scope, answers)
        await self.app(self.scope, self.receive, send or self.send)

    async def end(self, *, reset: bool) -> None:
        """Close the connection and wait until it is gone, so that no response is missing.

        A reset drops all unsent bytes.
        """
        extension = (self.scope.get("extensions") or {}).get(CONNECTION)
        if extension is None:
            raise NoConnection(
                "this fault closes connections, which only LocalServer and 'adanalytics serve' can"
            )
        transport = cast("asyncio.Transport", extension["transport"])
        if reset:
            # A linger time of zero turns closing into a reset (RFC 9293, section 3.10.5).
            transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            transport.abort()
        else:
            transport.close()
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def apply_fault(fault: Fault, exchange: Exchange) -> None:
    send, answers = exchange.send, exchange.answers
    match fault.effect:
        case "status":
            await _status_answer(fault)(exchange.scope, exchange.receive, send)
        case "html_page":
            await HTMLResponse(_HTML)(exchange.scope, exchange.receive, send)
        case "latency":
            await exchange.pause(fault.seconds or 0)
            await exchange.run()
        case "reset":
            await exchange.end(reset=True)
        case "empty_reply":
            # The request takes effect, but its response is not sent.
            await exchange.run(send=_drop)
            await exchange.end(reset=False)
        case "truncated_body":
            await exchange.run(send=_cut(send, announce=False))
            await exchange.end(reset=False)
        case "truncated_gzip":
            await exchange.run(send=_cut(_gzip(send), announce=True))
        case "slow_body":
            await exchange.run(send=_slow(send, exchange.pause, seconds=fault.seconds or 0))
        case "bad_json":
            await exchange.run(send=_cut(send, announce=True))
        case "wrong_content_type":
            await exchange.run(send=_typed(send, "text/html; charset=utf-8"))
        case "page_drift":
            await exchange.run(answers=replace(answers, moved_rows=fault.rows or 1))
        case "stuck_export":
            await exchange.run(answers=replace(answers, outcome="stuck"))
        case "failed_export":
            await exchange.run(answers=replace(answers, outcome="failed"))
        case "expired_url":
            await exchange.run(answers=replace(answers, is_expired=True))


def _status_answer(fault: Fault) -> Response:
    status = fault.status or 500
    if status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
        answer = Response(status_code=status)
    elif fault.body is None:
        text = next((known.phrase for known in HTTPStatus if known == status), f"Status {status}")
        answer = error_response(ApiError(status, text))
    else:
        answer = Response(fault.body, status, media_type=fault.content_type or "application/json")
    if fault.retry_after is not None:
        answer.headers["Retry-After"] = fault.retry_after
    return answer


async def _drop(_message: Message) -> None:
    """Drop a message of the response."""


def _cut(send: Send, *, announce: bool) -> Send:
    """Return a ``send`` that passes only the first half of a body.

    With ``announce``, ``Content-Length`` is that of the half, so that the response is complete
    HTTP; otherwise it stays that of the full body, which then ends early.
    """
    left = 0

    async def send_half(message: Message) -> None:
        nonlocal left
        if message["type"] == "http.response.start":
            left = _length(message) // 2
            if announce:
                MutableHeaders(scope=message)["content-length"] = str(left)
            await send(message)
            return
        half = message.get("body", b"")[:left]
        left -= len(half)
        more = message.get("more_body", False) or not announce
        await send({**message, "body": half, "more_body": more})

    return send_half


def _gzip(send: Send) -> Send:
    """Return a ``send`` that compresses a body without its end; a gzip file passes unchanged."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    is_file = False

    async def send_packed(message: Message) -> None:
        nonlocal is_file
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            is_file = headers.get("content-type") == "application/gzip"
            if not is_file:
                headers["content-encoding"] = "gzip"
                del headers["content-length"]
        elif not is_file:
            body = packer.compress(message.get("body", b""))
            if not message.get("more_body", False):
                # Flush all input, but leave out the last block and the checksum.
                body += packer.flush(zlib.Z_SYNC_FLUSH)
            message = {**message, "body": body}
        await send(message)

    return send_packed


def _slow(send: Send, pause: Pause, *, seconds: float) -> Send:
    """Return a ``send`` that spreads a body over some seconds, the first piece at once."""
    size = 1
    is_first = True

    async def send_slowly(message: Message) -> None:
        nonlocal size, is_first
        if message["type"] == "http.response.start":
            size = max(1, math.ceil(_length(message) / _PIECES))
            await send(message)
            return
        body = message.get("body", b"")
        for at in range(0, max(len(body), 1), size):
            if not is_first:
                await pause(seconds / (_PIECES - 1))
            is_first = False
            more = message.get("more_body", False) or at + size < len(body)
            await send({**message, "body": body[at : at + size], "more_body": more})

    return send_slowly


def _typed(send: Send, content_type: str) -> Send:
    """Return a ``send`` that claims another content type for the same body."""

    async def send_typed(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["content-type"] = content_type
        await send(message)

    return send_typed


def _length(message: Message) -> int:
    return int(MutableHeaders(scope=message).get("content-length", "0"))
