"""Between this client's requests and replies and those of httpx."""

import os
import re
import ssl
from collections.abc import Iterator, Mapping
from errno import errorcode
from typing import TYPE_CHECKING

import httpx

from adanalytics_client._effects import Failure, Head, Request, Trouble
from adanalytics_client._malformed import malformed
from adanalytics_client._url import redact_url

if TYPE_CHECKING:
    import h11

_LEGAL_TARGET = re.compile(rb"[\x21-\x7e]+")

HEAD_WAIT = "adanalytics.head"
"""The extension with the seconds for all steps up to the head of the answer together.

A head that comes byte by byte keeps every single step in time.
"""

WHOLE_WAIT = "adanalytics.whole"
"""The extension with the seconds for the whole exchange; what frames a body may drip, too."""

RECEIVE_INTO = "adanalytics.receive_into"
"""The extension of a response that receives into memory; see `_receiving`."""

SLOW_BODY = "the body came too slowly"
"""What is told of a body that missed the deadline."""


class _Asked(httpx.Request):
    """A request whose repr is safe to show, as error reports do with all local variables."""

    def __repr__(self) -> str:
        return f"<Request({self.method!r}, {redact_url(str(self.url))!r})>"


def to_httpx(
    request: Request,
    headers: dict[str, str],
    waits: Mapping[str, float | None],
    *,
    head_wait: float | None,
    whole_wait: float | None,
) -> httpx.Request:
    """The request as httpx sends it.

    Args:
        request: what to send.
        headers: all of them.
        waits: seconds for each step, by httpx's names.
        head_wait: seconds for all of them up to the head of the answer; None is without end.
        whole_wait: the same up to the end of its body.

    Raises:
        httpx.InvalidURL: for an address that httpx cannot read.
    """
    made = _Asked(
        request.method,
        request.url,
        headers=headers,
        content=request.body,
        extensions={"timeout": dict(waits), HEAD_WAIT: head_wait, WHOLE_WAIT: whole_wait},
    )
    target = _target(request.url)
    if target != made.url.raw_path and _LEGAL_TARGET.fullmatch(target):
        # httpx folds dot segments and quotes some characters, which would break a signature.
        made.extensions["target"] = target
    return made


def answer_of(
    head: "h11.Response",
    stream: httpx.SyncByteStream | httpx.AsyncByteStream,
    more: Mapping[str, object],
) -> httpx.Response:
    """An answer as a transport of httpx gives it.

    Args:
        head: its head.
        stream: its body as it arrives.
        more: its extensions beside those of httpx.
    """
    known = {"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason}
    return httpx.Response(
        head.status_code,
        headers=head.headers.raw_items(),
        stream=stream,
        extensions={**known, **more},
    )


def to_head(response: httpx.Response) -> Head:
    """Status and headers; a header that came twice is joined with a comma."""
    # To httpx's own `items` each header decodes all of them anew.
    encoding = response.headers.encoding
    headers: dict[str, str] = {}
    for raw_name, raw_text in response.headers.raw:
        name, text = raw_name.decode(encoding).lower(), raw_text.decode(encoding)
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return Head(response.status_code, headers)


def to_failure(error: Exception, *, answered: bool) -> Failure:
    """What a transport error means; `answered` tells that the head of an answer had arrived."""
    if isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        return Failure(Trouble.TIMEOUT, arrived=False)
    if isinstance(error, httpx.ProxyError) and str(error).startswith("407"):
        return Failure(Trouble.PROXY_LOGIN, arrived=False)
    if isinstance(error, httpx.ConnectError) and (refused := _refused_certificate(error)):
        return Failure(Trouble.UNTRUSTED, arrived=False, detail=refused)
    if isinstance(error, (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol)):
        return Failure(Trouble.UNREACHABLE, arrived=False, detail=_cause(error))
    if isinstance(error, (httpx.InvalidURL, httpx.LocalProtocolError)):
        # The text of these may repeat what was sent, with its credential.
        return Failure(Trouble.UNREACHABLE, arrived=False, detail="the request cannot be sent")
    if isinstance(error, httpx.TimeoutException):
        return Failure(Trouble.TIMEOUT, arrived=True, detail=SLOW_BODY if answered else "")
    if isinstance(error, httpx.RemoteProtocolError) and (damage := malformed(str(error))):
        trouble = Trouble.TRUNCATED if answered else Trouble.MALFORMED
        return Failure(trouble, arrived=True, detail=damage)
    trouble = Trouble.TRUNCATED if answered else Trouble.BROKEN
    return Failure(trouble, arrived=True, detail=_cause(error))


def _below(error: BaseException) -> Iterator[BaseException]:
    """An error and what it came of."""
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__


def _refused_certificate(error: BaseException) -> str:
    """What TLS has against a certificate; empty for any other trouble."""
    told = (each for each in _below(error) if isinstance(each, ssl.SSLCertVerificationError))
    return next((each.verify_message for each in told), "")


def _cause(error: BaseException) -> str:
    """What the operating system said at the bottom of it, else the error's own words."""
    told = str(error)
    for below in _below(error):
        if isinstance(below, OSError) and below.strerror:
            told = below.strerror
            # asyncio puts words of its own in strerror; TLS has other numbers of its own.
            number = below.errno or 0
            if number in errorcode and not isinstance(below, ssl.SSLError):
                told = os.strerror(number)
    return told


def _target(url: str) -> bytes:
    after_host = url.partition("://")[2]
    slash, query = after_host.find("/"), after_host.find("?")
    if slash < 0 or 0 <= query < slash:
        return b"/" + (after_host[query:].encode("utf-8") if query >= 0 else b"")
    return after_host[slash:].encode("utf-8")
