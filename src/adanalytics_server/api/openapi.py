"""The OpenAPI document of the Partner API: the application that writes it, and its responses.

It lists every status of every operation, with its body and its headers. Headers that depend on a
setting, or that only some responses of a status carry, are not required.
"""

import json
from collections.abc import Mapping
from typing import Any

from fastapi.applications import FastAPI  # a tracer may have replaced fastapi.FastAPI
from pydantic import BaseModel
from starlette.types import ExceptionHandler, Lifespan

from adanalytics_server.api.responses import (
    BulkExportAnswer,
    DatesAnswer,
    ErrorAnswer,
    EventsAnswer,
    LoginAnswer,
    SummaryAnswer,
)

DESCRIPTION = """\
Send a login token or an API key as `Authorization: Bearer`. Both work the same way.

All days and hours are UTC, and a range includes both of its ends. Money is an exact decimal in a
string, never a float. Every error has the body `{"error": "..."}`, whose text names the parameters
that are wrong."""
SERVERS = [{"url": "/", "description": "The server that serves this document."}]
TAGS = [
    {"name": "login", "description": "Exchange an e-mail address and a password for a token."},
    {"name": "data", "description": "Events, summaries and the days that have data."},
    {"name": "export", "description": "Files with all events of a range."},
]
_FRAMEWORK_SCHEMAS = ("HTTPValidationError", "ValidationError")
_PARTNER_PATHS = "/api/partners/"
_BEARER = {"type": "http", "scheme": "bearer", "description": "A login token or an API key."}


class DocumentedApp(FastAPI):
    """The application with its own document and without FastAPI's documentation pages.

    FastAPI documents a 422 everywhere; here a bad parameter is a 400.
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
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
            servers=SERVERS,
            openapi_tags=TAGS,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
            # In a test, the spans would mix with those of the program.
            telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
            lifespan=lifespan,
            exception_handlers=dict(exception_handlers),
        )

    def openapi(self) -> dict[str, Any]:
        """Return the document, which is built once."""
        if self.openapi_schema is None:
            document = super().openapi()
            for path, operations in document["paths"].items():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
                    is_open = not path.startswith(_PARTNER_PATHS)
                    operation["security"] = [] if is_open else [{"bearer": []}]
            for name in _FRAMEWORK_SCHEMAS:
                document["components"]["schemas"].pop(name, None)
            document["components"]["securitySchemes"] = {"bearer": _BEARER}
        return super().openapi()


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a body that the operation reads itself."""
    content = {"application/json": {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}


def document_text(app: FastAPI) -> str:
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"


Responses = dict[int | str, dict[str, Any]]


def _header(text: str, *, required: bool = False, **schema: object) -> dict[str, Any]:
    return {"description": text, "required": required, "schema": {"type": "string", **schema}}


_REQUEST_ID = {
    "X-Request-Id": _header(
        "Identifies the request in the log.", required=True, pattern="^[0-9a-f]{32}$"
    )
}
_RETRY_AFTER = _header("Seconds to wait.", required=True, pattern="^[0-9]+$")
_CHALLENGE = {
    "WWW-Authenticate": _header("The authentication scheme.", required=True, const="Bearer")
}
_WAIT = {
    "Location": _header("URL of the export's state.", required=True, format="uri"),
    "Retry-After": _RETRY_AFTER,
}


def _response(
    text: str, model: type[BaseModel] | None = ErrorAnswer, headers: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    response: dict[str, Any] = {"description": text, "headers": {**_REQUEST_ID, **(headers or {})}}
    return response if model is None else {**response, "model": model}


_BAD_REQUEST = "Bad parameter or body, named in `error`, or an unknown `Host`."
_FAILED = _response("The server failed. Look for the request id in its log.")
_BODY_TOO_LONG = "The body is longer than 1 MiB."
_NO_JSON = "The content type is not `application/json`, or the body is compressed."
_ENCODINGS = {"Accept-Encoding": _header("Sent if the body was compressed.", const="identity")}

LOGIN: Responses = {
    200: _response("A token that is valid for seven days.", LoginAnswer),
    400: _response(_BAD_REQUEST),
    401: _response("Wrong e-mail address or password.", headers=_CHALLENGE),
    413: _response(_BODY_TOO_LONG),
    415: _response(_NO_JSON, headers=_ENCODINGS),
    429: _response("Too many wrong passwords.", headers={"Retry-After": _RETRY_AFTER}),
    500: _FAILED,
}

_PARTNER: Responses = {
    400: _response(_BAD_REQUEST),
    401: _response("The token or key is missing, invalid or expired.", headers=_CHALLENGE),
    403: _response("This credential may not read the partner."),
    404: _response("The partner or the export does not exist."),
    429: _response("The request limit of this hour is used up; it begins anew at the full hour."),
    500: _FAILED,
}

EVENTS: Responses = {200: _response("One page of events.", EventsAnswer), **_PARTNER}
SUMMARY: Responses = {200: _response("The rows and their total.", SummaryAnswer), **_PARTNER}
DATES: Responses = {200: _response("The days that have data.", DatesAnswer), **_PARTNER}
_STATUS_LINK = {
    "status": {
        "operationId": "export_status",
        "description": "Ask for the state of the export.",
        "parameters": {
            "partner_id": "$request.path.partner_id",
            "export_id": "$response.body#/export_id",
        },
    }
}
START_EXPORT: Responses = {
    200: {
        **_response("The export is completed or failed.", BulkExportAnswer),
        "links": _STATUS_LINK,
    },
    202: {
        **_response("The export is in progress.", BulkExportAnswer, _WAIT),
        "links": _STATUS_LINK,
    },
    **_PARTNER,
    413: _response(_BODY_TOO_LONG),
    415: _response(_NO_JSON, headers=_ENCODINGS),
}
EXPORT_STATUS: Responses = {
    200: _response(
        "The state of the export, with `Location` and `Retry-After` while it is in progress.",
        BulkExportAnswer,
        {name: {**header, "required": False} for name, header in _WAIT.items()},
    ),
    **_PARTNER,
}

_VERSION = {
    "ETag": _header(
        "SHA-256 of the file, in hex and quotes.", required=True, pattern='^"[0-9a-f]{64}"$'
    )
}
_CACHING = {"Cache-Control": _header("Who may cache the file.", required=True)}
_FILE = {
    **_VERSION,
    **_CACHING,
    "Content-Length": _header("Length of this body in bytes.", required=True, pattern="^[0-9]+$"),
    "Accept-Ranges": _header("Range requests work.", required=True, const="bytes"),
    "Content-Disposition": _header("The name to save the file under.", required=True),
}
_FORMATS = (
    # Never sent, but first: openapi-python-client returns bytes for this type only.
    "application/octet-stream",
    "text/csv",
    "application/x-ndjson",
    "application/vnd.apache.parquet",
    "application/gzip",
)
_FILES = {"content": {key: {"schema": {"type": "string", "format": "binary"}} for key in _FORMATS}}

_PART = {
    "Content-Range": _header(
        "First and last byte of the range, and the size of the file.",
        required=True,
        pattern="^bytes [0-9]+-[0-9]+/[0-9]+$",
    )
}
_NO_PART = {
    "Content-Range": _header("Size of the file.", required=True, pattern=r"^bytes \*/[0-9]+$")
}

DOWNLOAD: Responses = {
    200: {**_response("The file.", None, _FILE), **_FILES},
    202: _response("The file is not ready yet.", None, {"Retry-After": _RETRY_AFTER}),
    206: {**_response("The requested range.", None, {**_FILE, **_PART}), **_FILES},
    304: _response("`If-None-Match` names this file.", None, {**_VERSION, **_CACHING}),
    400: _response(
        "An `Authorization` header, which a signed URL does not take, a bad parameter or an unknown"
        " `Host`."
    ),
    403: _response("The signature is wrong or has expired."),
    404: _response("The export does not exist."),
    410: _response("The export failed, or its file was deleted."),
    412: _response("`If-Match` names another file.", headers=_VERSION),
    416: _response("The range is outside the file.", headers=_NO_PART),
    500: _FAILED,
}
