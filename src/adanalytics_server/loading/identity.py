"""Ids of events that came without one: the same file gives the same ids, whatever its order.

An id is the UUIDv5 of the whole event and of how many equal events the file had before it, so
that two impressions that look alike stay two, and a file that is loaded twice adds nothing.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID, uuid5

from adanalytics_server.storage.events import Record

# uuid5(NAMESPACE_URL, ...) of "urn:adanalytics:event" and "urn:adanalytics:auction".
EVENT_NAMESPACE = UUID("1a2909e7-d44a-5a90-9977-026baab27fba")
AUCTION_NAMESPACE = UUID("7da683c0-072d-5f74-95d3-f3b009c60d71")

_EMPTY_EVENT_ID = b'{"event_id":""'
_AUCTION_ID = b'"auction_id":"'


def auction_of(event_id: str) -> str:
    """Derive the auction of an event that names none: UUIDv5 of its id's canonical text."""
    return str(uuid5(AUCTION_NAMESPACE, event_id))


def named(records: Iterable[Record]) -> Iterator[Record]:
    """Give each record without an id its own.

    The name that is hashed is the occurrence, from 0, in decimal, a line feed, and the body,
    in which the ids that are still to be derived are empty strings.

    Args:
        records: sorted, so that equal bodies without an id stand together.

    Yields:
        The records in the same order, all with ids.
    """
    before = b""
    occurrence = 0
    for record in records:
        if record.event_id:
            yield record
            continue
        occurrence = occurrence + 1 if record.body == before else 0
        before = record.body
        yield _with_id(record, occurrence)


def _with_id(record: Record, occurrence: int) -> Record:
    event_id = uuid5(EVENT_NAMESPACE, f"{occurrence}\n{record.body.decode()}")
    text = str(event_id)
    # The first match is the field: no text of the file stands before it. Whether it is empty is
    # asked right there, because key_values may hold the same key.
    before, name, after = record.body.partition(_AUCTION_ID)
    auction = auction_of(text).encode() if after.startswith(b'"') else b""
    head = before.replace(_EMPTY_EVENT_ID, f'{{"event_id":"{text}"'.encode(), 1)
    return record._replace(event_id=event_id.bytes, body=head + name + auction + after)
