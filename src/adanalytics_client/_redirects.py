"""Where a redirect leads, and that the credential does not go along to another origin."""

from dataclasses import replace
from urllib.parse import urldefrag

from adanalytics_client._effects import Head, Request
from adanalytics_client._url import (
    Address,
    BaseUrl,
    absolute_url,
    origin_of,
    redact_url,
    without_user,
)
from adanalytics_client.errors import ProtocolError

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


def is_redirect(head: Head) -> bool:
    """Whether the answer sends the client elsewhere."""
    return head.status in _REDIRECTS and head.get("location") is not None


def redirected(base: BaseUrl, request: Request, head: Head, *, carry: bool) -> Request:
    """The request for the next hop (RFC 9110, section 15.4).

    The credential stays only while every hop is on the base origin, and only if `carry`; once
    dropped it stays dropped. A user that the target names is not used.
    A POST goes on as a POST (307, 308) on the base origin, or as a GET (303); any other would carry
    a body to a place that the user did not name.

    Raises:
        ProtocolError: for a target that is not http(s), or a POST that may not follow.
    """
    location = without_user(head.get("location") or "")
    target = Address(urldefrag(absolute_url(request.url, location)).url)
    if origin_of(target) is None:
        raise ProtocolError("The service redirected to something that is not an http address.")
    home = base.owns(target) and base.owns(request.url)
    if request.method != "GET":
        if head.status == 303:
            request = replace(request, method="GET", body=None)
        elif not (home and head.status in {307, 308}):
            raise ProtocolError(
                f"The service redirected a {request.method} to {redact_url(target)}; "
                "if it has moved there, set base_url to it."
            )
    return replace(request, url=target, credential=request.credential if home and carry else None)
