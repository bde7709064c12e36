"""Turn templates into responses: pages, errors, and their stylesheet and icon."""

import os
import shlex
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import PathLike, StaticFiles
from starlette.types import Scope

from adanalytics_server.accounts.people import User
from adanalytics_server.clock import rfc3339
from adanalytics_server.errors import ApiError

from . import format as web_format

# Nothing from other sites, no frames, no caching.
PAGE_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
)
_TEMPLATES = Environment(
    loader=PackageLoader("adanalytics_server.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(
    amount=web_format.amount,
    count="{:,}".format,
    duration=web_format.duration,
    exact_amount=web_format.exact_amount,
    hour_list=web_format.hour_list,
    instant=web_format.instant,
    rfc3339=rfc3339,
    shell=shlex.quote,
)


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


def error_page(error: ApiError, user: User | None) -> Response:
    title = HTTPStatus(error.status).phrase
    values = {"title": title, "status": error.status, "text": error.message}
    return page("error.html", user, values, status=error.status, headers=error.headers)


class Static(StaticFiles):
    """The stylesheet and the icon; a browser asks each time whether they have changed."""

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        answer = super().file_response(full_path, stat_result, scope, status_code)
        answer.headers.update({"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"})
        return answer
