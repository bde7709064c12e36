"""The headers that keep a page to itself: nothing from elsewhere, in no frame, in no cache."""

from collections.abc import Mapping
from types import MappingProxyType

_POLICY = (
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
)

ASSET_HEADERS: Mapping[str, str] = MappingProxyType({"X-Content-Type-Options": "nosniff"})

PAGE_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        **ASSET_HEADERS,
        "Content-Security-Policy": "; ".join(_POLICY),
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
)
