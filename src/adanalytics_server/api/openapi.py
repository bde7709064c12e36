"""The OpenAPI document of the Partner API: the application that writes it, and its responses.

It lists every status of every operation, with its body and its headers. Headers that depend on a
setting, or that only some responses of a status carry, are not required.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi.applications import FastAPI  # a tracer may have replaced fastapi.FastAPI
from pydantic import BaseModel
from starlette.types import ExceptionHandler, Lifespan

from adanalytics_server.exports.files import FORMATS, GZIP_TYPE

from .responses import BulkExportAnswer, ErrorAnswer, LoginAnswer

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
                    for response in operation["responses"].values():
                        if "$ref" in response:
                            # FastAPI adds the name of the status, which the component describes.
                            del response["description"]
                    is_open = not path.startswith(_PARTNER_PATHS)
                    operation["security"] = [] if is_open else [{"bearer": []}]
            for name in _FRAMEWORK_SCHEMAS:
                document["components"]["schemas"].pop(name, None)
            document["components"] |= {
                "securitySchemes": {"bearer": _BEARER},
                "headers": HEADERS,
                "responses": ERRORS,
            }
        return super().openapi()


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a body that the operation reads itself."""
    content = {"application/json": {"schema": model.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}


def parameters(model: type[BaseModel]) -> dict[str, Any]:
    """Describe the query parameters that the operation reads itself."""
    schema = model.model_json_schema()
    required = schema.get("required", ())
    return {
        "parameters": [
            {
                "name": name,
                "in": "query",
                "required": name in required,
                "description": field["description"],
                "schema": field,
            }
            for name, field in schema["properties"].items()
        ]
    }


def document_text(app: FastAPI) -> str:
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"


Responses = dict[int | str, dict[str, Any]]


def _header(text: str, *, required: bool = True, **schema: object) -> dict[str, Any]:
    return {"description": text, "required": required, "schema": {"type": "string", **schema}}


def _reference(kind: str, name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/{kind}/{name}"}


HEADERS = {
    "X-Request-Id": _header("Identifies the request in the log.", pattern="^[0-9a-f]{32}$"),
    "Retry-After": _header("Seconds to wait.", pattern="^[0-9]+$"),
    "WWW-Authenticate": _header("The authentication scheme.", const="Bearer"),
    "Accept-Encoding": _header(
        "Sent if the body was compressed.", required=False, const="identity"
    ),
    "Location": _header("URL of the export's state.", format="uri"),
    "ETag": _header("SHA-256 of the file, in hex and quotes.", pattern='^"[0-9a-f]{64}"$'),
    "Cache-Control": _header("Who may cache the file."),
    "Content-Length": _header("Length of this body in bytes.", pattern="^[0-9]+$"),
    "Accept-Ranges": _header("Range requests work.", const="bytes"),
    "Content-Disposition": _header("The name to save the file under."),
}
"""The headers that responses of several operations share."""


def _response(
    text: str,
    model: type[BaseModel] | None = ErrorAnswer,
    headers: Iterable[str] = (),
    others: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Describe a response with shared `headers`, and with `others` that it alone has."""
    names = ("X-Request-Id", *headers)
    header_fields = {name: _reference("headers", name) for name in names} | dict(others or {})
    response: dict[str, Any] = {"description": text, "headers": header_fields}
    return response if model is None else {**response, "model": model}


def _error(text: str, headers: Iterable[str] = ()) -> dict[str, Any]:
    schema = _reference("schemas", ErrorAnswer.__name__)
    return {**_response(text, None, headers), "content": {"application/json": {"schema": schema}}}


ERRORS = {
    "BadRequest": _error("Bad parameter or body, named in `error`, or an unknown `Host`."),
    "Unauthorized": _error(
        "The token or key is missing, invalid or expired.", ["WWW-Authenticate"]
    ),
    "Forbidden": _error("This credential may not read the partner."),
    "NotFound": _error("The partner or the export does not exist."),
    "ContentTooLarge": _error("The body is longer than 1 MiB."),
    "UnsupportedMediaType": _error(
        "The content type is not `application/json`, or the body is compressed.",
        ["Accept-Encoding"],
    ),
    "TooManyRequests": _error(
        "The request limit of this hour is used up; it begins anew at the full hour."
    ),
    "ServerError": _error("The server failed. Look for the request id in its log."),
}
"""The errors that several operations share."""

_BODY: Responses = {
    413: _reference("responses", "ContentTooLarge"),
    415: _reference("responses", "UnsupportedMediaType"),
}
_ANY: Responses = {
    400: _reference("responses", "BadRequest"),
    500: _reference("responses", "ServerError"),
}
_PARTNER: Responses = {
    **_ANY,
    401: _reference("responses", "Unauthorized"),
    403: _reference("responses", "Forbidden"),
    404: _reference("responses", "NotFound"),
    429: _reference("responses", "TooManyRequests"),
}

LOGIN: Responses = {
    200: _response("A token that is valid for seven days.", LoginAnswer),
    401: _response("Wrong e-mail address or password.", headers=["WWW-Authenticate"]),
    429: _response("Too many wrong passwords.", headers=["Retry-After"]),
    **_ANY,
    **_BODY,
}


def partner_responses(text: str, model: type[BaseModel]) -> Responses:
    """Describe the responses of an operation of a partner: its 200, and the shared errors."""
    return {200: _response(text, model), **_PARTNER}


_WAIT = ("Location", "Retry-After")
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
    **_BODY,
}
EXPORT_STATUS: Responses = {
    200: _response(
        "The state of the export, with `Location` and `Retry-After` while it is in progress.",
        BulkExportAnswer,
        others={name: {**HEADERS[name], "required": False} for name in _WAIT},
    ),
    **_PARTNER,
}

_FILE = ("ETag", "Cache-Control", "Content-Length", "Accept-Ranges", "Content-Disposition")
_PART = _header(
    "First and last byte of the range, and the size of the file.",
    pattern="^bytes [0-9]+-[0-9]+/[0-9]+$",
)
_NO_PART = _header("Size of the file.", pattern=r"^bytes \*/[0-9]+$")
_FORMATS = (
    # Never sent, but first: openapi-python-client returns bytes for this type only.
    "application/octet-stream",
    *(form.media_type.partition(";")[0] for form in FORMATS.values()),
    GZIP_TYPE,
)
_FILES = {"content": {key: {"schema": {"type": "string", "format": "binary"}} for key in _FORMATS}}

DOWNLOAD: Responses = {
    200: {**_response("The file.", None, _FILE), **_FILES},
    202: _response("The file is not ready yet.", None, ["Retry-After"]),
    206: {**_response("The requested range.", None, _FILE, {"Content-Range": _PART}), **_FILES},
    400: _response(
        "An `Authorization` header, which a signed URL does not take, a bad parameter or an unknown"
        " `Host`."
    ),
    403: _response("The signature is wrong or has expired."),
    404: _response("The export does not exist."),
    410: _response("The export failed, or its file was deleted."),
    416: _response("The range is outside the file.", others={"Content-Range": _NO_PART}),
    500: _ANY[500],
}
