"""The layer that plays faults and writes the journal; there only with test controls."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.answers import Answers, request_id_of
from adanalytics_server.api.operations import operation_of
from adanalytics_server.clock import Clock
from adanalytics_server.faults.armed import Faults, Incoming
from adanalytics_server.faults.effects import Exchange, play
from adanalytics_server.faults.fault import Fault
from adanalytics_server.faults.journal import Entry, Journal, shown_headers, shown_query, shown_text
from adanalytics_server.faults.pauses import Pauses

CONTROL_PREFIX = "/_control/"


@dataclass(frozen=True, slots=True)
class Levers:
    """What a tester moves while the server runs."""

    clock: Clock
    faults: Faults
    journal: Journal
    pauses: Pauses


class FaultLayer:
    """ASGI middleware: each request may meet a fault and leaves an entry in the journal."""

    def __init__(self, app: ASGIApp, levers: Levers, answers: Answers) -> None:
        self._app = app
        self._answers = answers
        self._levers = levers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; the control API itself is out of the reach of faults."""
        if scope["type"] != "http" or scope["path"].startswith(CONTROL_PREFIX):
            await self._app(scope, receive, send)
            return
        request = incoming(Request(scope))
        fault = self._levers.faults.strike(request)
        record = _Record(self._levers, Request(scope), request, fault)

        async def send_recorded(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.write(message["status"])
            await send(message)

        pauses = self._levers.pauses
        exchange = Exchange(self._app, scope, receive, send_recorded, pauses, self._answers)
        if fault and fault.effect in ("reset", "empty_reply"):
            # Before the connection ends, so that who sees its end finds the entry.
            record.write(None)
        try:
            await (play(fault, exchange) if fault else exchange.run())
        except Exception:
            # The layer around this one answers 500.
            record.write(500)
            raise


class _Record:
    """The entry of one request, written once."""

    def __init__(
        self, levers: Levers, request: Request, found: Incoming, fault: Fault | None
    ) -> None:
        self._journal = levers.journal
        self._request = request
        self._found = found
        self._fault = fault
        self._at = levers.clock.now()
        self._number = levers.journal.next_number()
        self._written = False

    def write(self, status: int | None) -> None:
        if self._written:
            return
        self._written = True
        self._journal.add(
            Entry(
                number=self._number,
                at=self._at,
                method=self._found.method,
                path=shown_text(self._found.path),
                query=shown_query(self._found.query),
                operation=self._found.operation,
                key=self._found.key,
                headers=shown_headers(self._request.headers.raw),
                status=status,
                fault=self._fault.label if self._fault else None,
                request_id=request_id_of(self._request),
            )
        )


def incoming(request: Request) -> Incoming:
    """Take from a request what faults are matched on."""
    path = request.scope["path"]
    scheme, _, credential = request.headers.get("authorization", "").partition(" ")
    is_bearer = scheme.lower() == "bearer" and len(credential.strip()) > 8
    return Incoming(
        method=request.method,
        path=path,
        query=request.scope["query_string"],
        operation=operation_of(request.method, path),
        # Of a short credential, the last four would be too much of it.
        key=credential.strip()[-4:] if is_bearer else None,
    )
