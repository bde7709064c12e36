"""What every route of the web area does around its own work."""

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from adanalytics_server.accounts import User
from adanalytics_server.answers import note_credential, request_id_of
from adanalytics_server.context import context_of
from adanalytics_server.errors import ApiError
from adanalytics_server.serving import is_cross_origin, log_failure
from adanalytics_server.web.errors import PageError, error_page, from_api_error
from adanalytics_server.web.pages import PAGE_HEADERS
from adanalytics_server.web.session import COOKIE

_CROSS_ORIGIN = PageError(403, "This form was sent by another site, so nothing was done.")


class PageRoute(APIRoute):
    """A route that refuses other origins and answers every failure with a page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the endpoint."""
        endpoint = super().get_route_handler()

        async def answer(request: Request) -> Response:
            if is_cross_origin(request):
                return error_page(_CROSS_ORIGIN)
            try:
                return await endpoint(request)
            except PageError as error:
                return error_page(error)
            except ApiError as error:
                return error_page(from_api_error(error))
            except Exception as error:  # noqa: BLE001  # the last resort; logged, and a page for the reader
                request_id = request_id_of(request)
                log_failure(request, error)
                text = f"The server failed; its log says why, under request {request_id}."
                return error_page(PageError(500, text))

        return answer


def page_router() -> APIRouter:
    """Make a router for pages: not part of the API's document."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)


def redirect(address: str) -> Response:
    """Send the browser on with a GET."""
    return RedirectResponse(address, 303, headers=dict(PAGE_HEADERS))


async def signed_in(request: Request) -> User | None:
    """Return who is signed in, or ``None``."""
    user = await context_of(request).sessions.user_of(request.cookies.get(COOKIE))
    if user is not None:
        note_credential(request, f"user:{user.number}")
    return user


async def signed_in_admin(request: Request) -> User:
    """Return the admin who is signed in; others are refused.

    Raises:
        PageError: 403 for another role; 303 to the login page for nobody.
    """
    user = await signed_in(request)
    if user is None:
        raise PageError(303, "Sign in first.", headers={"Location": login_address(request)})
    if user.role != "admin":
        raise PageError(403, "Only admins manage API keys; ask one for the key you need.")
    return user


def login_address(request: Request) -> str:
    """Return the login page that leads back to the page that was asked for."""
    # Quoted, because the path arrives decoded and could hold the end of a header line.
    return f"/login?next={quote(request.url.path)}"
