"""Refuse requests that another site makes a visitor's browser send.

The rule is the one of Go's ``http.CrossOriginProtection`` (https://words.filippo.io/csrf/):
browsers say in ``Sec-Fetch-Site`` where a request comes from, older ones at least in
``Origin``; what sends neither is no browser, and has no visitor's cookie to misuse.
"""

from urllib.parse import urlsplit

from starlette.requests import Request

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# "none" is the visitor's own doing: an address typed, a page loaded again.
_OWN_SITES = frozenset({"same-origin", "none"})


def is_cross_origin(request: Request) -> bool:
    """Tell whether a request that changes something was made by a page of another origin."""
    return request.method not in _SAFE_METHODS and comes_from_elsewhere(request)


def comes_from_elsewhere(request: Request) -> bool:
    """Tell whether a page of another origin made a request, whatever its method."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in _OWN_SITES
    origin = request.headers.get("origin")
    if origin is None:
        return False
    # The host alone, because behind a proxy that ends TLS the scheme is not known for sure.
    return urlsplit(origin).netloc.lower() != request.headers.get("host", "").lower()
