"""The layer around everything: every answer, also one to a failure, gets a request id."""

import logging
from uuid import uuid4

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adanalytics_server.accounts import hide_credentials
from adanalytics_server.answers import HEADERS
from adanalytics_server.errors import ApiError, error_response
from adanalytics_server.storage.damage import DamagedFile, is_no_room

_log = logging.getLogger("adanalytics_server.errors")


class AnswerHeaders:
    """ASGI middleware that adds ``X-Request-Id`` and turns a crash into a plain 500."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other scopes pass through untouched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex
        scope[HEADERS] = {"X-Request-Id": request_id}
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).update(scope[HEADERS])
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            # The last resort of the process: whatever it was, the client gets the one shape. A
            # file that went bad or a full disk is no fault of the code: no traceback is needed.
            _log.error(
                "request %s failed: %s %s: %s",
                request_id,
                scope["method"],
                hide_credentials(scope["path"], mark="..."),
                error,
                exc_info=not (isinstance(error, DamagedFile) or is_no_room(error)),
            )
            if started:
                raise
            answer = error_response(ApiError(500, "Internal Server Error"))
            await answer(scope, receive, send_with_headers)
