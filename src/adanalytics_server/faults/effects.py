"""The effects: what each does to one request and its response."""

import asyncio
import math
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple, cast

from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.dialect import DIALECT, Dialect
from adanalytics_server.errors import ApiError, error_response
from adanalytics_server.serving.protocol import CONNECTION

from .fault import Fault

_HTML = (
    "<!DOCTYPE html>\n<html lang=en><title>One moment</title>"
    "<p>This page is not from the service. Something in between made it.</p></html>\n"
)
_PIECES = 10
_BODY = {"type": "http.response.body"}

Pause = Callable[[float], Awaitable[None]]


class NoConnection(RuntimeError):
    """The application runs under a server that gives no access to its connections."""


class Exchange(NamedTuple):
    """One request in progress: the application and its ASGI arguments.

    ``pause`` waits for a number of seconds; ``dialect`` is the server's.
    """

    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send
    pause: Pause
    dialect: Dialect

    async def run(self, *, send: Send | None = None, dialect: Dialect | None = None) -> None:
        """Run the application, optionally with another ``send`` or another dialect."""
        if dialect is not None:
            self.scope[DIALECT] = dialect
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
    send, dialect = exchange.send, exchange.dialect
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
        case "page_drift":
            await exchange.run(dialect=replace(dialect, moved_rows=fault.rows or 1))
        case "stuck_export":
            await exchange.run(dialect=replace(dialect, outcome="stuck"))
        case "failed_export":
            await exchange.run(dialect=replace(dialect, outcome="failed"))
        case "expired_url":
            await exchange.run(dialect=replace(dialect, is_expired=True))
        case _:
            await _damage(fault, exchange)


async def _damage(fault: Fault, exchange: Exchange) -> None:
    """Let the request take effect, and send its response in another form."""
    head: Message = {}
    body = b""

    async def keep(message: Message) -> None:
        nonlocal body
        head.update(message if message["type"] == "http.response.start" else {})
        body += message.get("body", b"")

    await exchange.run(send=keep)
    headers = MutableHeaders(scope=head)
    half = body[: len(body) // 2]
    match fault.effect:
        case "truncated_body":
            await exchange.send(head)
            await exchange.send({**_BODY, "body": half, "more_body": True})
        case "slow_body":
            await exchange.send(head)
            size = max(1, math.ceil(len(body) / _PIECES))
            for offset in range(0, max(len(body), 1), size):
                if offset:
                    await exchange.pause((fault.seconds or 0) / (_PIECES - 1))
                has_more = offset + size < len(body)
                await exchange.send(
                    {**_BODY, "body": body[offset : offset + size], "more_body": has_more}
                )
        case "wrong_content_type":
            headers["content-type"] = "text/html; charset=utf-8"
            await _send_whole(exchange, head, body)
        case "bad_json":
            await _send_whole(exchange, head, half)
        case "truncated_gzip":
            if headers.get("content-type") != "application/gzip":
                headers["content-encoding"] = "gzip"
                packer = zlib.compressobj(1, zlib.DEFLATED, 31)
                # All input, but neither the last block nor the checksum.
                half = packer.compress(half) + packer.flush(zlib.Z_SYNC_FLUSH)
            await _send_whole(exchange, head, half)
    if fault.effect in ("empty_reply", "truncated_body"):
        await exchange.end(reset=False)


async def _send_whole(exchange: Exchange, head: Message, body: bytes) -> None:
    MutableHeaders(scope=head)["content-length"] = str(len(body))
    await exchange.send(head)
    await exchange.send({**_BODY, "body": body})


def _status_answer(fault: Fault) -> Response:
    status = fault.status or 500
    # Clients take a body of these for the next response.
    if status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
        answer = Response(status_code=status)
    elif fault.body is None:
        answer = error_response(ApiError(status))
    else:
        answer = Response(fault.body, status, media_type=fault.content_type or "application/json")
    if fault.retry_after is not None:
        answer.headers["Retry-After"] = fault.retry_after
    return answer
