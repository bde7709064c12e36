"""Errors of the web area, as small pages; the API keeps its JSON."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.errors import ApiError, answer_framework_error, headers_of
from adanalytics_server.web.pages import page

_PATHS = ("/", "/login", "/logout", "/settings")


class PageError(Exception):
    """An answer of the web area that is not a success; ``text`` says what to do."""

    def __init__(self, status: int, text: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers or {}


def error_page(error: PageError) -> Response:
    """Write an error as a page."""
    values = {
        "user": None,
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "text": error.text,
    }
    return page("error.html", values, status=error.status, headers=error.headers)


def from_api_error(error: ApiError) -> PageError:
    """Carry an error of shared code, such as a body that is too long, over to the pages."""
    return PageError(error.status, f"{error.message}.", headers=dict(error.headers))


async def answer_unrouted(request: Request, error: Exception) -> Response:
    """Answer a path or method that does not exist: a page below the web area's paths."""
    path = request.url.path
    if isinstance(error, HTTPException) and (
        path in _PATHS or path.startswith(tuple(f"{known}/" for known in _PATHS[1:]))
    ):
        text = (
            "There is no such page."
            if error.status_code == HTTPStatus.NOT_FOUND
            else "This address cannot be used in this way."
        )
        headers = headers_of(request, error)
        return error_page(PageError(error.status_code, text, headers=headers))
    return await answer_framework_error(request, error)
