"""What `Content-Range` says about the bytes of an answer (RFC 9110, section 14.4)."""

import re
from dataclasses import dataclass

from adanalytics_client._effects import Head

_SENT = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.ASCII)
_REFUSED = re.compile(r"bytes \*/(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ContentRange:
    """Which bytes a 206 brings.

    Attributes:
        first: the place of the first byte.
        end: the place behind the last byte.
        total: bytes of the whole file, or None where the service does not tell.
    """

    first: int
    end: int
    total: int | None


def range_sent(head: Head) -> ContentRange | None:
    """The range of a 206; None when it has none, or an impossible one."""
    found = _SENT.fullmatch((head.get("content-range") or "").strip())
    if found is None:
        return None
    first, end = int(found[1]), int(found[2]) + 1
    total = None if found[3] == "*" else int(found[3])
    return ContentRange(first, end, total) if first < end else None


def total_of_refused(head: Head) -> int | None:
    """Bytes of the whole file according to a 416, where it tells."""
    found = _REFUSED.fullmatch((head.get("content-range") or "").strip())
    return int(found[1]) if found else None
