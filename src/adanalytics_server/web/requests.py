"""Handling of every page request: its origin, its visitor, its form, its errors."""

from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote

from fastapi import Depends
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from adanalytics_server.accounts.credentials import TOKEN_LIFETIME
from adanalytics_server.accounts.people import User
from adanalytics_server.api.requests import read_bytes
from adanalytics_server.context import context_of
from adanalytics_server.dialect import note_credential, request_id_of
from adanalytics_server.errors import ApiError, error_response, headers_of
from adanalytics_server.serving.middleware import SAFE_METHODS, comes_from_elsewhere, log_failure

from .pages import PAGE_HEADERS, error_page

COOKIE = "adanalytics_session"
FORM_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20
# Programs read these, so they get JSON even in a browser.
_API = ("/api/", "/exports/", "/_control/")
_OTHER_SITE = ApiError(403, "Another site sent this form, so the server ignored it.")


class PageRoute(APIRoute):
    """A route that refuses other origins and shows every failure as a page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint = super().get_route_handler()

        async def answer(request: Request) -> Response:
            request.state.user = None
            try:
                request.state.user = await _user_of(request)
                # The cookie alone does not prove that the user pressed the button.
                if request.method not in SAFE_METHODS and comes_from_elsewhere(request):
                    return error_page(_OTHER_SITE, request.state.user)
                return await endpoint(request)
            except ApiError as error:
                failure = error
            except Exception as error:  # noqa: BLE001  # the last resort: log it and show a page
                log_failure(request, error)
                text = f"The server failed. Look for {request_id_of(request)} in its log."
                failure = ApiError(500, text)
            return error_page(failure, request.state.user)

        return answer


async def answer_unrouted(request: Request, error: Any) -> Response:  # noqa: ANN401  # an HTTPException
    """Answer an unknown path or method: browsers get a page, except below the API's paths."""
    status, headers = HTTPStatus(error.status_code), headers_of(request, error)
    is_page = "text/html" in request.headers.get("accept", "")
    # A program that sends the headers of a browser still expects JSON from the API.
    if not is_page or request.url.path.startswith(_API):
        return error_response(ApiError(status, headers=headers))
    text = "This page does not accept this kind of request."
    if status is HTTPStatus.NOT_FOUND:
        text = "There is no page at this address."
    return error_page(ApiError(status, text, headers=headers), await _user_of(request))


async def _user_of(request: Request) -> User | None:
    user = await context_of(request).sessions.user_of(request.cookies.get(COOKIE))
    if user is not None:
        note_credential(request, f"user:{user.number}")
    return user


# Coroutines that never wait: FastAPI would run plain functions in a thread.
async def _visitor(request: Request) -> User | None:
    user: User | None = request.state.user
    return user


Visitor = Annotated[User | None, Depends(_visitor)]


async def _admin(request: Request, user: Visitor) -> User:
    if user is None:
        # Quoted, because the path arrives decoded and could contain a line end.
        login = {"Location": f"/login?next={quote(request.url.path)}"}
        raise ApiError(303, "Sign in first.", headers=login)
    if user.role != "admin":
        raise ApiError(403, "Only admins can manage API keys. Ask an admin for the key you need.")
    return user


Admin = Annotated[User, Depends(_admin)]


def redirect(address: str) -> Response:
    return RedirectResponse(address, 303, headers=dict(PAGE_HEADERS))


def set_cookie(
    response: Response, request: Request, token: str, *, max_age: int = TOKEN_LIFETIME
) -> None:
    """Set the session cookie, hidden from scripts and other sites; age 0 removes it."""
    response.set_cookie(
        COOKIE,
        token,
        max_age=max_age,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


async def read_form(request: Request, *fields: str) -> Mapping[str, str]:
    """Return the named fields of a form; a missing one is empty, others are ignored.

    Raises:
        ApiError: 415 if it is not a form, 413 above 1 MiB, 400 if it is unreadable.
    """
    sent_as = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent_as != FORM_TYPE:
        raise ApiError(415, "This address accepts only the form on its page.")
    body = await read_bytes(request)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise ApiError(400, "Unreadable form. Go back and send it again.") from error
    values = dict(pairs)
    return {field: values.get(field, "") for field in fields}
