"""The OpenAPI document of the Partner API: the application that writes it, and its responses.

Every status of every operation is here, with its body and its headers. Headers that depend on a
setting, or that only some answers of a status have, are not required.
"""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.types import ExceptionHandler, Lifespan

from adanalytics_server.api.models import (
    BulkExportAnswer,
    DatesAnswer,
    ErrorAnswer,
    EventsAnswer,
    LoginAnswer,
    SummaryAnswer,
)

DESCRIPTION = """\
Send a token of the login, or an API key, as `Authorization: Bearer`; both open the same partners.

All days and hours are UTC, and both ends of a range are included. Money is an exact decimal in a
string, never a float. An answer that is not a success is `{"error": "..."}`, and names the wrong
parameters in `details`."""
SERVERS = [{"url": "/", "description": "The server that this document comes from."}]
TAGS = [
    {"name": "login", "description": "From e-mail and password to a token."},
    {"name": "data", "description": "Events, summaries and the days that have data."},
    {"name": "export", "description": "Files with all events of a range."},
]
_FRAMEWORK_SCHEMAS = ("HTTPValidationError", "ValidationError")
_PARTNER_PATHS = "/api/partners/"
_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "a token of the login, or an API key; both in the same way",
}


class DocumentedApp(FastAPI):
    """The application with its own document, and without pages around it.

    FastAPI announces a 422 everywhere; here a bad parameter is a 400.
    """

    def __init__(
        self, *, lifespan: Lifespan[FastAPI], exception_handlers: Mapping[Any, ExceptionHandler]
    ) -> None:
        super().__init__(
            title="Partner ad analytics",
            summary="Event-level log data, summaries and bulk exports for partners of an ad"
            " platform.",
            description=DESCRIPTION,
            version="1",
            servers=SERVERS,
            openapi_tags=TAGS,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            generate_unique_id_function=lambda route: route.name,
            lifespan=lifespan,
            exception_handlers=dict(exception_handlers),
        )

    def openapi(self) -> dict[str, Any]:
        """Return the document; it is made once."""
        if self.openapi_schema is None:
            document = super().openapi()
            for path, operations in document["paths"].items():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
                    if path.startswith(_PARTNER_PATHS):
                        operation["security"] = [{"bearer": []}]
            for name in _FRAMEWORK_SCHEMAS:
                document["components"]["schemas"].pop(name, None)
            document["components"]["securitySchemes"] = {"bearer": _BEARER}
        return super().openapi()


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a body that the operation reads itself."""
    content = {"application/json": {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}


def document_text(app: FastAPI) -> str:
    """Write the document of an application as JSON to be read and compared."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"


Responses = dict[int | str, dict[str, Any]]


def _header(text: str, *, required: bool = False, **schema: object) -> dict[str, Any]:
    return {"description": text, "required": required, "schema": {"type": "string", **schema}}


_REQUEST_ID = {
    "X-Request-Id": _header("names the request in the log", required=True, pattern="^[0-9a-f]{32}$")
}
_RATE = {
    "RateLimit-Policy": _header(
        "requests in a window of seconds", pattern=r'^"hour";q=\d+;w=3600$'
    ),
    "RateLimit": _header(
        "what is left, and the seconds until there is more", pattern=r'^"hour";r=\d+;t=\d+$'
    ),
}
_RETRY_AFTER = _header("seconds to wait", required=True, pattern="^[0-9]+$")
_CHALLENGE = {"WWW-Authenticate": _header("the scheme to use", required=True, const="Bearer")}
_WAIT = {
    "Location": _header("where the state of the export is", required=True, format="uri"),
    "Retry-After": _RETRY_AFTER,
}


def _response(
    text: str, model: type[BaseModel] | None = ErrorAnswer, headers: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = {"description": text, "headers": {**_REQUEST_ID, **(headers or {})}}
    return found if model is None else {**found, "model": model}


_BAD_REQUEST = "bad parameter or body, named in `details`; or a foreign `Host`"
_FAILURE = "the server failed; its log has the request id"
_FAILED = _response(_FAILURE)
_BODY_TOO_LONG = "the body is longer than 1 MiB"
_NO_JSON = "the content type is not application/json, or the body is packed"
_ENCODINGS = {"Accept-Encoding": _header("sent when the body was packed", const="identity")}

LOGIN: Responses = {
    200: _response("a token for seven days", LoginAnswer),
    400: _response(_BAD_REQUEST),
    401: _response("no such e-mail, or another password", headers=_CHALLENGE),
    413: _response(_BODY_TOO_LONG),
    415: _response(_NO_JSON, headers=_ENCODINGS),
    429: _response("too many wrong passwords", headers={"Retry-After": _RETRY_AFTER}),
    500: _FAILED,
}

_PARTNER: Responses = {
    400: _response(_BAD_REQUEST, headers=_RATE),
    401: _response("token or key is missing, invalid or expired", headers=_CHALLENGE),
    403: _response("a partner that this credential may not read", headers=_RATE),
    404: _response("no such partner, or no such export of it", headers=_RATE),
    429: _response(
        "more requests than an hour allows", headers={**_RATE, "Retry-After": _RETRY_AFTER}
    ),
    500: _response(_FAILURE, headers=_RATE),
}

EVENTS: Responses = {200: _response("one page of events", EventsAnswer, _RATE), **_PARTNER}
SUMMARY: Responses = {200: _response("rows and their total", SummaryAnswer, _RATE), **_PARTNER}
DATES: Responses = {200: _response("the days that have data", DatesAnswer, _RATE), **_PARTNER}
_STATUS_LINK = {
    "status": {
        "operationId": "export_status",
        "description": "ask how far the export is",
        "parameters": {
            "partner_id": "$request.path.partner_id",
            "export_id": "$response.body#/export_id",
        },
    }
}
START_EXPORT: Responses = {
    200: {
        **_response("the file is ready, or could not be made", BulkExportAnswer, _RATE),
        "links": _STATUS_LINK,
    },
    202: {**_response("in work", BulkExportAnswer, {**_RATE, **_WAIT}), "links": _STATUS_LINK},
    **_PARTNER,
    413: _response(_BODY_TOO_LONG, headers=_RATE),
    415: _response(_NO_JSON, headers={**_RATE, **_ENCODINGS}),
}
EXPORT_STATUS: Responses = {
    200: _response(
        "the state of the export, with Location and Retry-After while it is in work",
        BulkExportAnswer,
        {**_RATE, **{name: {**header, "required": False} for name, header in _WAIT.items()}},
    ),
    **_PARTNER,
}

_VERSION = {
    "ETag": _header(
        "SHA-256 of the file in hex, quoted", required=True, pattern='^"[0-9a-f]{64}"$'
    ),
}
_CACHING = {"Cache-Control": _header("who may keep it", required=True)}
_FILE = {
    **_VERSION,
    **_CACHING,
    "Content-Length": _header("bytes of this answer", required=True, pattern="^[0-9]+$"),
    "Accept-Ranges": _header("ranges can be asked for", required=True, const="bytes"),
    "Content-Disposition": _header("the name to save the file under", required=True),
}
_FORMATS = (
    # Never sent, but first: openapi-python-client takes the bytes of a body for this type alone.
    "application/octet-stream",
    "text/csv",
    "application/x-ndjson",
    "application/vnd.apache.parquet",
    "application/gzip",
)
_FILES = {"content": {key: {"schema": {"type": "string", "format": "binary"}} for key in _FORMATS}}

_PART = {
    "Content-Range": _header(
        "which bytes these are, and how many there are",
        required=True,
        pattern="^bytes [0-9]+-[0-9]+/[0-9]+$",
    )
}
_NO_PART = {
    "Content-Range": _header(
        "how many bytes there are", required=True, pattern=r"^bytes \*/[0-9]+$"
    )
}

DOWNLOAD: Responses = {
    200: {**_response("the file", None, _FILE), **_FILES},
    202: _response("not ready yet", None, {"Retry-After": _RETRY_AFTER}),
    206: {**_response("the range that was asked for", None, {**_FILE, **_PART}), **_FILES},
    304: _response("If-None-Match names this file", None, {**_VERSION, **_CACHING}),
    400: _response(
        "an Authorization header, which a signed address refuses; or a bad parameter or a foreign"
        " `Host`"
    ),
    403: _response("the signature is wrong or has expired"),
    404: _response("no such export"),
    410: _response("the export failed, or its file was deleted"),
    412: _response("If-Match names another file", headers=_VERSION),
    416: _response("no such range", headers=_NO_PART),
    500: _FAILED,
}
