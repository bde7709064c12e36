"""Whether a request wants the file that there is: ``If-Match`` and ``If-None-Match``.

Both are lists of entity tags, or ``*`` for any file (RFC 9110, sections 13.1.1 and 13.1.2). They
are looked at before ``Range``, so that who goes on with a download by ``If-Match`` gets no part of
another file.
"""

import re
from collections.abc import Sequence

from adanalytics_server.errors import ApiError

_TAG = re.compile(r'(W/)?("[^"]*")')


def check_match(if_match: Sequence[str], *, etag: str) -> None:
    """Refuse a request for another version of the file.

    Args:
        if_match: the values of the header ``If-Match``; none, if it was not sent.
        etag: the file's entity tag, strong and quoted.

    Raises:
        ApiError: 412, the file is none of those that were named.
    """
    if if_match and not _names(if_match, etag, weak=False):
        raise ApiError(412, "Precondition Failed", headers={"ETag": etag})


def is_known(if_none_match: Sequence[str], *, etag: str) -> bool:
    """Tell whether the client has the file already: the answer is then a 304 without a body.

    >>> is_known(['W/"b", "a"'], etag='"a"')
    True
    """
    return _names(if_none_match, etag, weak=True)


def _names(values: Sequence[str], etag: str, *, weak: bool) -> bool:
    listed = ",".join(values)
    if listed.strip() == "*":
        return True
    return any(tag == etag and (weak or not mark) for mark, tag in _TAG.findall(listed))
