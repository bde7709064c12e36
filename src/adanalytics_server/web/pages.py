"""Turn a template and its values into an answer."""

import shlex
from collections.abc import Mapping
from types import MappingProxyType

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from adanalytics_server.clock import rfc3339
from adanalytics_server.web import format as web_format
from adanalytics_server.web.static_files import ICON, STYLESHEET

# Nothing from elsewhere, in no frame, in no cache.
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


def page(
    template: str,
    values: Mapping[str, object],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Render a page.

    Args:
        template: name of a file in ``templates/``.
        values: what the template names; one that is missing is an error, not a gap. ``user``
            is whoever is signed in, or ``None``.
        status: HTTP status of the answer.
        headers: more headers, beside those that every page has.
    """
    text = _TEMPLATES.get_template(template).render(values)
    return HTMLResponse(text, status, headers={**PAGE_HEADERS, **(headers or {})})
