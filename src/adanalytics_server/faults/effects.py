"""Play a fault: what each effect does to one request and its answer."""

from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus

from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.answers import Answers, answer_with
from adanalytics_server.errors import ApiError, error_response
from adanalytics_server.faults.bodies import cut, gzip_cut, slow, typed
from adanalytics_server.faults.connection import (
    close_connection,
    reset_connection,
    until_disconnected,
)
from adanalytics_server.faults.fault import Fault
from adanalytics_server.faults.pauses import Pauses

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
    answers: Answers

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
            answer_with(exchange.scope, _answers(fault, exchange.answers))
            await exchange.run()


def _answers(fault: Fault, answers: Answers) -> Answers:
    """Return how the API answers a request that a fault of the application struck."""
    match fault.effect:
        case "page_drift":
            return replace(answers, moved_rows=fault.rows or 1)
        case "stuck_export":
            return replace(answers, outcome="stuck")
        case "failed_export":
            return replace(answers, outcome="failed")
        case _:
            return replace(answers, is_expired=True)


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
