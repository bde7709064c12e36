"""Which bytes of a file a request asks for: ``Range`` and ``If-Range`` as in RFC 9110.

One range is answered as asked. Several ranges, other units and what cannot be read are answered
with the whole file, which section 14.2 allows; object stores do the same.
"""

import re

from adanalytics_server.errors import ApiError

# Eighteen digits, because no file is longer and Python refuses to read very long numbers.
_ONE_RANGE = re.compile(
    r"bytes=\s*(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))\s*", re.IGNORECASE
)


def asked_range(wanted: str | None, *, if_range: str | None, etag: str, size: int) -> range | None:
    """Return the bytes to send with status 206, or ``None`` for the whole file.

    Args:
        wanted: the header ``Range``.
        if_range: the header ``If-Range``; a range of another version of the file is not sent. A
            date never fits, because no date is sent with the file.
        etag: the file's entity tag, quoted.
        size: the file's bytes.

    Raises:
        ApiError: 416, the range begins behind the end or has no byte.

    >>> asked_range("bytes=-2", if_range=None, etag='"a"', size=10)
    range(8, 10)
    """
    found = _ONE_RANGE.fullmatch(wanted or "")
    if found is None or (if_range is not None and if_range.strip() != etag):
        return None
    first, last, suffix = found.groups()
    if suffix is not None:
        part = range(max(size - int(suffix), 0), size)
    elif last and int(last) < int(first):
        # Not a range at all, says section 14.1.1.
        return None
    else:
        part = range(int(first), min(int(last) + 1, size) if last else size)
    if not part:
        raise ApiError(416, "Range Not Satisfiable", headers={"Content-Range": f"bytes */{size}"})
    return part
