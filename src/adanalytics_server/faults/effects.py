"""Play a fault: what each effect does to one request and its answer."""

from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.errors import ApiError, error_response
from adanalytics_server.exports.exports import Fate
from adanalytics_server.faults.bodies import cut, gzip_cut, slow, typed
from adanalytics_server.faults.connection import (
    close_connection,
    reset_connection,
    until_disconnected,
)
from adanalytics_server.faults.fault import Fault
from adanalytics_server.faults.pauses import Pauses

_SCOPE = "adanalytics.fault"
_HTML = (
    "<!DOCTYPE html>\n<html lang=en><title>One moment</title>"
    "<p>This page is not from the service. Something in between made it.</p></html>\n"
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request under way: the application and the three things that ASGI calls it with."""

    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send
    pauses: Pauses

    async def run(self) -> None:
        """Let the application answer."""
        await self.app(self.scope, self.receive, self.send)


async def play(fault: Fault, exchange: Exchange) -> None:
    """Serve one request in the way that a fault wants it."""
    send = exchange.send
    match fault.effect:
        case "status":
            await _status_answer(fault)(exchange.scope, exchange.receive, send)
        case "html_page":
            await HTMLResponse(_HTML)(exchange.scope, exchange.receive, send)
        case "latency":
            await exchange.pauses.wait(fault.seconds or 0)
            await exchange.run()
        case "reset":
            reset_connection(exchange.scope)
            await until_disconnected(exchange.receive)
        case "empty_reply":
            await _work_without_answer(exchange)
        case "truncated_body":
            ended = partial(close_connection, exchange.scope)
            await replace(exchange, send=cut(send, honest=False, ended=ended)).run()
            await until_disconnected(exchange.receive)
        case "truncated_gzip":
            await replace(exchange, send=gzip_cut(send)).run()
        case "slow_body":
            slowly = slow(send, exchange.pauses.wait, seconds=fault.seconds or 0)
            await replace(exchange, send=slowly).run()
        case "bad_json":
            await replace(exchange, send=cut(send, honest=True)).run()
        case "wrong_content_type":
            await replace(exchange, send=typed(send, "text/html; charset=utf-8")).run()
        case "page_drift" | "stuck_export" | "failed_export" | "expired_url":
            exchange.scope[_SCOPE] = fault
            await exchange.run()


def rows_of_drift(request: Request) -> int:
    """Return by how many rows the pages behind the first have moved for this request."""
    fault = _fault_of(request)
    return (fault.rows or 1) if fault and fault.effect == "page_drift" else 0


def fate_of_export(request: Request) -> Fate | None:
    """Return what is to become of an export that this request orders, if not a file."""
    fault = _fault_of(request)
    fates: dict[str, Fate] = {"stuck_export": "stuck", "failed_export": "failed"}
    return fates.get(fault.effect) if fault else None


def has_expired_url(request: Request) -> bool:
    """Tell whether the address in the answer to this request is to be past its time."""
    fault = _fault_of(request)
    return fault is not None and fault.effect == "expired_url"


def _fault_of(request: Request) -> Fault | None:
    fault: Fault | None = request.scope.get(_SCOPE)
    return fault


def _status_answer(fault: Fault) -> Response:
    status = fault.status or 500
    if status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
        answer = Response(status_code=status)
    elif fault.body is None:
        try:
            text = HTTPStatus(status).phrase
        except ValueError:
            text = f"Status {status}"
        answer = error_response(ApiError(status, text))
    else:
        answer = Response(fault.body, status, media_type=fault.content_type or "application/json")
    if fault.retry_after is not None:
        answer.headers["Retry-After"] = fault.retry_after
    return answer


async def _work_without_answer(exchange: Exchange) -> None:
    """Do what was asked, then end the connection without a byte: did it happen or not?"""

    async def drop(_message: Message) -> None:
        """Keep the answer back."""

    await replace(exchange, send=drop).run()
    close_connection(exchange.scope)
    await until_disconnected(exchange.receive)
