"""Turn templates into responses: pages, errors, and their stylesheet and icon."""

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Self

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from adanalytics_server.accounts.people import User
from adanalytics_server.clock import rfc3339
from adanalytics_server.web import format as web_format

# Nothing from other sites, no frames, no caching.
PAGE_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
)
_FOLDER = Path(__file__).parent / "static"
_A_YEAR = 365 * 86_400


@dataclass(frozen=True, slots=True)
class Asset:
    """A file in memory; its URL changes with its content, so caches may keep it."""

    name: str
    media_type: str
    content: bytes
    version: str

    @classmethod
    def read(cls, name: str, media_type: str) -> Self:
        """Read a file of the package."""
        content = (_FOLDER / name).read_bytes()
        return cls(name, media_type, content, hashlib.sha256(content).hexdigest()[:16])

    @property
    def url(self) -> str:
        """The URL of this version."""
        return f"/static/{self.name}?v={self.version}"


STYLESHEET = Asset.read("web.css", "text/css; charset=utf-8")
ICON = Asset.read("icon.svg", "image/svg+xml")
_ASSETS = {asset.name: asset for asset in (STYLESHEET, ICON)}

_TEMPLATES = Environment(
    loader=PackageLoader("adanalytics_server.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals.update(stylesheet=STYLESHEET, icon=ICON)
_TEMPLATES.filters.update(
    amount=web_format.amount,
    count=web_format.count,
    duration=web_format.duration,
    exact_amount=web_format.exact_amount,
    file_size=web_format.file_size,
    hour_list=web_format.hour_list,
    instant=web_format.instant,
    rfc3339=rfc3339,
    shell=shlex.quote,
)


class PageError(Exception):
    """An error page of the web area; ``text`` says what to do."""

    def __init__(self, status: int, text: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers or {}


def page(
    template: str,
    user: User | None,
    values: Mapping[str, object],
    *,
    section: str = "",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Render a template of ``templates/`` for a user; a variable that is missing is an error.

    ``section`` is the navigation entry of the page.
    """
    text = _TEMPLATES.get_template(template).render(values, user=user, section=section)
    return HTMLResponse(text, status, headers={**PAGE_HEADERS, **(headers or {})})


def error_page(error: PageError, user: User | None) -> Response:
    """Write an error as a page."""
    title = HTTPStatus(error.status).phrase
    values = {"title": title, "status": error.status, "text": error.text}
    return page("error.html", user, values, status=error.status, headers=error.headers)


async def static(request: Request, name: str) -> Response:
    """Send a file, cached for a year by its versioned URL, otherwise revalidated each time.

    Raises:
        HTTPException: 404 for another name.
    """
    asset = _ASSETS.get(name)
    if asset is None:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    versioned = request.query_params.get("v") == asset.version
    etag = f'"{asset.version}"'
    headers = {
        "X-Content-Type-Options": "nosniff",
        "ETag": etag,
        "Cache-Control": f"public, max-age={_A_YEAR}, immutable" if versioned else "no-cache",
    }
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)
