"""The ids of events, and short marks by which a token knows events again; no I/O."""

import hashlib
from typing import TypeGuard

from adanalytics_client._pages import Cursor, Fetched

EventId = str | int
"""What can be an id: text or a whole number. The number 1 and the text "1" are two ids."""

TAIL = 32
"""The events of a page that a resume token remembers, to know them when they come again."""

DIGEST = 12
"""Characters of a mark; by chance one agrees with another on a page once in 10^9 pages."""


def is_id(value: object) -> TypeGuard[EventId]:
    """Whether a value can be the id of an event."""
    return isinstance(value, EventId) and not isinstance(value, bool)


def ids_of(page: Fetched | None, last: int = 0) -> list[EventId | None]:
    """The ids of a page's events, or of its last ones; None for an event without.

    Raises:
        ProtocolError: when an event is not JSON.
    """
    if page is None or page.lines is None:
        return []
    rows = page.last_rows(last) if last else page.rows()
    found = (row.get("event_id") for row in rows)
    return [each if is_id(each) else None for each in found]


def id_bytes(event_id: EventId) -> bytes:
    """Bytes that no other id has: no text begins with the byte of a number."""
    if isinstance(event_id, int):
        return b"\xff%d" % event_id
    return event_id.encode("utf-8", "surrogatepass")


def marks_of(page: Fetched | None, last: int = 0) -> list[str]:
    """Marks of a page's events, or of its last ones; of its text for an event without an id.

    Raises:
        ProtocolError: when an event is not JSON.
    """
    if page is None or page.lines is None:
        return []
    texts = page.lines.last(last) if last else page.lines
    return [
        _mark(b"\xfe" + text.encode() if event_id is None else id_bytes(event_id))
        for event_id, text in zip(ids_of(page, last), texts, strict=True)
    ]


def tail_of(cursor: Cursor) -> tuple[str, ...]:
    """Marks of the last events before a cursor, and of the last ones of its page, for its token."""
    before = tuple(marks_of(cursor.before, TAIL)) or cursor.tail
    return (*before, *marks_of(cursor.front, TAIL))


def _mark(told: bytes) -> str:
    return hashlib.blake2b(told, digest_size=DIGEST // 2).hexdigest()
