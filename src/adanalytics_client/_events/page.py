"""Pages of events: as they arrive, and as users receive them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any, TypeGuard, cast

import msgspec

from adanalytics_client._base.observer import PageDrift, PartialAnswer, PullPlanned
from adanalytics_client._events.paging import Signals
from adanalytics_client._events.plan import Slice
from adanalytics_client._json.exact import Json
from adanalytics_client._json.raw import RawRows

EventId = str | int
"""An id is text or a whole number; the number 1 and the text "1" are different ids."""

_DIGEST = 8


class _Identified(msgspec.Struct, gc=False):
    event_id: Any = None


_IDENTIFIED = msgspec.json.Decoder(_Identified)


def is_id(value: object) -> TypeGuard[EventId]:
    return isinstance(value, EventId) and not isinstance(value, bool)


def ids_of(rows: RawRows) -> list[EventId | None]:
    """Read the ids of events; None for an event without one."""
    found = [each.event_id for each in map(_IDENTIFIED.decode, rows.texts)]
    # If all events have ids, none is checked singly: that would cost as much as reading them.
    if {*map(type, found)} <= {str, int}:
        return found
    return [each if is_id(each) else None for each in found]


def keys_of(rows: RawRows, ids: Sequence[EventId | None]) -> Sequence[EventId | bytes]:
    """Return the ids of events, and the text of each event without one."""
    if None not in ids:
        return cast("Sequence[EventId]", ids)
    pairs = zip(rows.texts, ids, strict=True)
    return [bytes(text) if each is None else each for text, each in pairs]


def mark_of(keys: Sequence[EventId | bytes]) -> str:
    return hashlib.blake2b(msgspec.json.encode(keys), digest_size=_DIGEST).hexdigest()


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A received page.

    Attributes:
        rows: its events.
        signals: the page metadata of the response.
        ids: the ids of the events, if the page must be compared with others of its slice.
        partial: an error that the response states beside the events.
        has_body: whether the response had a body.
        planned: what the first page of an auto pull shows of the others.
    """

    rows: RawRows
    signals: Signals
    ids: Sequence[EventId | None] | None = field(default=None, repr=False)
    partial: PartialAnswer | None = None
    has_body: bool = True
    planned: PullPlanned | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def identified(self) -> "FetchedPage":
        return self if self.ids is not None else replace(self, ids=ids_of(self.rows))

    def without(self, gone: Sequence[bool]) -> "FetchedPage":
        if not any(gone):
            return self
        kept = [not each for each in gone]
        return replace(
            self,
            rows=self.rows.without(gone),
            ids=None if self.ids is None else [*compress(self.ids, kept)],
        )


@dataclass(frozen=True, slots=True)
class Page:
    """One page of events.

    Attributes:
        slice: the query that the page belongs to.
        number: the number of the page in its slice, from 1.
        rows: the events as dicts; numbers with a fraction are Decimal.
        last: whether this is the last page of its slice.
        token: an opaque ASCII string. Repeat the query with `Client.events(..., resume=token)` to
            continue after this page, even in another process. If `max_events` cut the page short,
            the repeated query yields the whole page again.
        total: the number of events on all pages of the slice, if the service states it.
        drift: the drift on this page (repeated events or a contradiction), or None.
        partial: an error that the service sent along with the events, or None.
        request_id: the `X-Request-Id` of the response, to quote when you contact support.

    Examples:
        >>> query = client.events("2026-01-15", split="daily", per_page=200)
        >>> [(page.number, len(page), page.last) for page in query.pages()]
        [(1, 200, False), (2, 100, True)]
    """

    slice: Slice
    number: int
    rows: list[dict[str, Json]] = field(repr=False)
    last: bool
    token: str = field(default="", repr=False)
    total: int | None = None
    drift: PageDrift | None = None
    partial: PartialAnswer | None = None
    request_id: str | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class TextPage:
    """One page of events, as the text that was received.

    The attributes `slice`, `number`, `last`, `token`, `total`, `drift`, `partial` and `request_id`
    are those of `Page`.

    Attributes:
        jsonl: one event per line, with numbers exactly as the service sent them.
        events: the number of events.

    Examples:
        >>> page = next(client.events("2026-01-15", hour=13).text_pages())
        >>> page.events, page.jsonl.count(b"\\n"), page.jsonl[:20]
        (15, 15, b'{"event_id":"f35a7c2')
    """

    slice: Slice
    number: int
    jsonl: bytes = field(repr=False)
    events: int
    last: bool
    token: str = field(default="", repr=False)
    total: int | None = None
    drift: PageDrift | None = None
    partial: PartialAnswer | None = None
    request_id: str | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return self.events


for _each in (Page, TextPage):
    _each.__module__ = "adanalytics_client"
