"""Read what a form sends: few fields, short, each once."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from adanalytics_server.api.requests import read_bytes
from adanalytics_server.web.errors import PageError

FORM_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20


async def read_form(request: Request, *fields: str) -> Mapping[str, str]:
    """Return the named fields of a form; one that was not sent is empty, others are left out.

    Raises:
        PageError: 415 when it is no form, 400 when it cannot be read.
        ApiError: 413 above 1 MiB.
    """
    sent_as = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent_as != FORM_TYPE:
        raise PageError(415, "This address takes the form of its page and nothing else.")
    body = await read_bytes(request)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise PageError(400, "The form could not be read; go back and send it again.") from error
    sent = dict(pairs)
    return {field: sent.get(field, "") for field in fields}
