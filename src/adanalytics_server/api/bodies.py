"""Read a JSON body: the right type, not too long, well-formed, and of the right shape."""

import json
from collections import Counter
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from adanalytics_server.errors import ApiError, Detail, bad_parameter

MOST_BYTES = 1 << 20
MOST_DISCARDED_BYTES = 64 << 20
Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, model: type[Model]) -> Model:
    """Read and validate a request's body.

    Raises:
        ApiError: 415 for another content type or a packed body, 413 above 1 MiB, 400 for
            malformed JSON, or fields that do not fit or are there twice.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise ApiError(415, "Unsupported Media Type")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ApiError(415, "Unsupported Media Type", headers={"Accept-Encoding": "identity"})
    body = await read_bytes(request)
    try:
        found = model.model_validate_json(body)
    except ValidationError as error:
        raise ApiError(400, "Bad Request", details=details_of(error)) from error
    _refuse_repeated(body)
    return found


def _refuse_repeated(body: bytes) -> None:
    """Refuse a name that is there twice: RFC 8259 leaves open which of the two counts."""

    def check(pairs: list[tuple[str, object]]) -> None:
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                raise bad_parameter(name, "must not be repeated")

    json.loads(body, object_pairs_hook=check)


def details_of(error: ValidationError) -> list[Detail]:
    """Turn pydantic's list of errors into the API's; input values stay out of it."""
    found = []
    for problem in error.errors(include_url=False, include_input=False):
        field = ".".join(str(part) for part in problem["loc"]) or "body"
        found.append(Detail(field, message_of(problem["type"], problem["msg"])))
    return found


def message_of(kind: str, text: str) -> str:
    """Say what is wrong as a phrase that follows the field's name."""
    if kind == "missing":
        return "is required"
    if kind == "extra_forbidden":
        return "is not a field of this request"
    text = text.removeprefix("Value error, ").removeprefix("Input ")
    return text[:1].lower() + text[1:]


async def read_bytes(request: Request) -> bytes:
    """Read a body of at most :data:`MOST_BYTES`, or raise :class:`ApiError` 413.

    A longer one is read on and discarded, up to :data:`MOST_DISCARDED_BYTES`: to close a
    connection that has unread bytes resets it, and the sender would not see the answer.
    """
    too_long = ApiError(413, "Content Too Large", headers={"Connection": "close"})
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > MOST_BYTES and "expect" in request.headers:
        # RFC 9110, section 10.1.1: the sender waits to be asked for the body.
        raise too_long
    body, size = bytearray(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MOST_DISCARDED_BYTES:
                raise too_long
            if size <= MOST_BYTES:
                body += chunk
    except ClientDisconnect as error:
        raise ApiError(400, "Bad Request") from error
    if size > MOST_BYTES:
        raise too_long
    return bytes(body)
