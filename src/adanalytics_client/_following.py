"""Where the pages of one slice end, judged from whatever the service says about it."""

from dataclasses import replace

from adanalytics_client._pages import Cursor, Fetched
from adanalytics_client.errors import ProtocolError


def following(cursor: Cursor, page: Fetched) -> Cursor | None:
    """The cursor after `page`, or None when it was the last.

    A flag beats a number of pages, that beats a total, that beats what is said to be left, and that
    an empty link (a service paged by number may never fill its cursor). Only without any of them
    the length decides: a page shorter than the first one of its slice is the last, unless pages had
    other lengths than that before, so that they have no fixed size, or something is named as if it
    told of a next page. The page size that was asked for does not count there, since a service may
    quietly cap it, nor do pages of other slices, which it may have cut at another length.
    """
    count = len(page)
    if count == 0:
        return None
    says, seen = page.signals, cursor.seen + count
    if says.more is not None:
        more = says.more
    elif says.pages is not None:
        more = cursor.number < says.pages
    elif says.total is not None:
        more = seen < says.total
    elif says.left is not None:
        more = says.left > 0
    else:
        more = not says.ends and (says.unread or count >= cursor.least)
    if not more:
        return None
    return replace(
        cursor,
        number=cursor.number + 1,
        seen=seen,
        least=_least(cursor, count),
        mark=page.mark,
        total=says.total or cursor.total,
        before=page,
        tail=(),
        handed=0,
    )


def _least(cursor: Cursor, count: int) -> int:
    """What the pages so far, the last one of `count` events, need of the next one to go on."""
    if cursor.number == 1:
        return count
    return cursor.least if count == cursor.least else 1


def moved_on(cursor: Cursor, page: Fetched) -> Fetched:
    """The page, which is another one than that before it.

    Where a token is all that is left of the page before, fingerprints decide.

    Raises:
        ProtocolError: when both are the same.
    """
    if len(page) and page.mark == cursor.mark and _alike(cursor.before, page):
        raise ProtocolError(
            f"Pages {cursor.number - 1} and {cursor.number} of {cursor.slice} are the same: the "
            "service ignores the page number, or as many events as a page has arrived meanwhile. "
            "Pull it once more."
        )
    return page


def _alike(before: Fetched | None, page: Fetched) -> bool:
    if before is None or before.lines is None or page.lines is None:
        return True
    return before.lines.view == page.lines.view
