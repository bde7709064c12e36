"""Errors of the API, all in one shape: ``{"error": "<text>"}``, where the text names the field."""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

_METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")


class Detail(msgspec.Struct, frozen=True):
    """What is wrong with one parameter or field."""

    field: str
    message: str


class ApiError(Exception):
    """An error response, raised anywhere below an endpoint; it says at least what its status is."""

    def __init__(
        self,
        status: int,
        message: str = "",
        *,
        details: Sequence[Detail] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        phrases = (code.phrase for code in HTTPStatus if code == status)
        self.message = message or next(phrases, f"Status {status}")
        super().__init__(self.message)
        self.status = status
        self.details = details
        self.headers = headers or {}


def unauthorized() -> ApiError:
    """Return the same error for a missing, wrong, expired or deleted credential."""
    return ApiError(401, headers={"WWW-Authenticate": "Bearer"})


def bad_request(details: Sequence[Detail]) -> ApiError:
    """Return the error of parameters or fields, whose text names each of them."""
    text = "; ".join(f"{detail.field or '(no name)'} {detail.message}" for detail in details)
    return ApiError(400, text, details=details)


def bad_parameter(field: str, message: str) -> ApiError:
    return bad_request([Detail(field, message)])


def error_response(error: ApiError, *, has_details: bool = False) -> Response:
    """Return the response of an error, in a dialect with ``details`` beside the text."""
    body: dict[str, object] = {"error": error.message}
    if has_details and error.details:
        body["details"] = list(error.details)
    return json_response(body, status=error.status, headers=error.headers)


def json_response(
    body: object, *, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(
        msgspec.json.encode(body), status, headers=headers, media_type="application/json"
    )


def headers_of(request: Request, error: HTTPException) -> dict[str, str]:
    """Return the headers of a framework's error, with a complete ``Allow`` on a 405.

    The framework names the methods of one route only; a path may have several routes.
    """
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(
            name
            for name in _METHODS
            if any(
                route.matches({**request.scope, "method": name})[0] is Match.FULL
                for route in request.app.routes
            )
        )
    return headers
