"""Pages of events: as they arrive, and as users receive them."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any, TypeGuard
from uuid import UUID

import msgspec
from msgspec.structs import replace

from adanalytics_client._base.hidden import Hidden
from adanalytics_client._base.observer import PageDrift, PartialAnswer, PullPlanned
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.exact import Json
from adanalytics_client._json.raw import RawRows
from adanalytics_client._shapes.page import Signals
from adanalytics_client.errors import ProtocolError, StatusError

from .paging import Cursor
from .plan import Slice
from .resume import Position
from .times import time_of

EventId = str | int
"""An id is text or a whole number; the number 1 and the text "1" are different ids."""

NO_IDS = frozenset({"", str(UUID(int=0))})
"""Texts that identify nothing."""

_DIGEST = 8


def is_id(value: object) -> TypeGuard[EventId]:
    """Return whether a value identifies an event; an empty text or the nil UUID names none."""
    is_text_or_number = isinstance(value, EventId) and not isinstance(value, bool)
    return is_text_or_number and value not in NO_IDS


def ids_of(rows: RawRows) -> list[EventId | None]:
    """Read the ids of events; None for an event without one."""
    sample = rows.sample()
    name = rows.names.sent("event_id", sample) or rows.names.fields.get("event_id", "event_id")
    decoder, one_decoder = _id_decoders(name)
    ids = []
    if next(iter(sample), None) == name:
        # Most services send the id first: to read no more takes half the time. An id with a comma
        # is cut, and then the list is not JSON.
        fronts = [text.partition(b",")[0] for text in rows.texts]
        with suppress(msgspec.DecodeError):
            ids = [event.id for event in decoder.decode(b"[%b}]" % b"},".join(fronts))]
    if len(ids) < len(rows) or None in ids:
        ids = [event.id for event in map(one_decoder.decode, rows.texts)]
    return only_ids(ids)


def only_ids(values: list[Any]) -> list[EventId | None]:
    """Return None in place of the values that identify no event."""
    # If all are ids, none is checked singly: that would cost as much as reading them.
    if {*map(type, values)} <= {str, int} and NO_IDS.isdisjoint(values):
        return values
    return [value if is_id(value) else None for value in values]


def digest_of(event: bytes) -> str:
    """Return a digest of an event's text that is the same in every process."""
    return hashlib.blake2b(event, digest_size=_DIGEST).hexdigest()


@lru_cache(maxsize=8)
def _id_decoders(name: str) -> tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]]:
    """Return decoders of the ids of a list of events, and of one event."""
    kind: Any = msgspec.defstruct("Identified", [("id", Any, None)], rename={"id": name}, gc=False)
    return msgspec.json.Decoder(list[kind]), msgspec.json.Decoder(kind)


class PageKeys(Hidden, frozen=True):
    """What tells the events of a page from those of other pages.

    Attributes:
        ids: the id of each event; None for an event without one.
        texts: the hash of each event's text, in this process; empty if no event has an id.
        mark: a digest of the ids, and of the texts of events without one.
        has_distinct_ids: whether two pages of such events can be told to be the same, because each
            event has an id or a time.
    """

    ids: Sequence[EventId | None]
    texts: Sequence[int]
    mark: str
    has_distinct_ids: bool

    @classmethod
    def of(cls, rows: RawRows) -> "PageKeys":
        ids = ids_of(rows)
        missing = ids.count(None)
        marks: Sequence[EventId | bytes | None] = ids
        if missing or len({*ids}) < len(ids):
            # An id that several events of the page share identifies none of them.
            numbers = map(Counter(ids).__getitem__, ids)
            marks = [
                text if value is None or number > 1 else value
                for text, value, number in zip(rows.texts, ids, numbers, strict=True)
            ]
        digest = digest_of(msgspec.json.encode(marks))
        texts = [] if missing == len(ids) else [*map(hash, rows.texts)]
        return cls(ids, texts, digest, not missing or time_of(rows) is not None)


class FetchedPage(Hidden, frozen=True):
    """A page as it arrived, then with what there is to yield of it.

    Attributes:
        cursor: the requested page.
        rows: its events; once its slice has compared it, without those that arrived before.
        signals: the page metadata of the response.
        next_cursor: the next page of its slice to request; None after the last.
        keys: the keys of its events, if the page must be compared with others of its slice.
        days: the days of its events, in a slice of several days; None if they are not known.
        doubt: why it may hide events although it has none, in words; empty for no doubt.
        partial: the statement of the response that it is not whole, if that was accepted.
        refusal: the error that the service sent instead of a page behind the last good one.
        plan: what the first page of an auto pull shows of the others.
        drift: repeats, or a difference from the stated number.
        resume: the cursor of a later run of the slice; None when nothing of the slice is left.
        position: where the pull continues after it, once it was yielded.
    """

    cursor: Cursor
    rows: RawRows = RawRows()
    signals: Signals = Signals()
    next_cursor: Cursor | None = None
    keys: PageKeys | None = None
    days: frozenset[date] | None = None
    doubt: str = ""
    partial: PartialAnswer | None = None
    refusal: StatusError | None = None
    plan: PullPlanned | None = None
    drift: PageDrift | None = None
    resume: Cursor | None = None
    position: Position = Position()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def last(self) -> bool:
        """Whether its slice ends with this page."""
        return self.next_cursor is None

    def with_keys(self) -> "FetchedPage":
        return replace(self, keys=PageKeys.of(self.rows))

    def error(self, message: str, remedy: str) -> ProtocolError:
        """Return an error with the address and the request id of the response."""
        return self.rows.source.sign(ProtocolError(message, remedy=remedy))

    def without(self, mask: Sequence[bool]) -> "FetchedPage":
        """Return the page without the marked events; it has no keys."""
        return replace(self, rows=self.rows.without(mask), keys=None) if any(mask) else self


def _repr_of(page: "Page | TextPage") -> str:
    """Return what a page is of and how much it has, then its drift and what is partial, if any."""
    facts = [str(page.slice), f"page {page.number}", counted(len(page), "event")]
    facts += ["last"] if page.last else []
    facts += [str(fact) for fact in (page.drift, page.partial) if fact]
    return f"{type(page).__name__}({', '.join(facts)})"


@dataclass(frozen=True, slots=True, repr=False)
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
        drift: the drift on this page (repeated events, or another number than stated), or None.
        partial: the service's statement that the page is not whole, or None.
        request_id: the `X-Request-Id` of the response, to quote when you contact support.

    Examples:
        >>> query = client.events("2026-01-15", split="daily", per_page=200)
        >>> [(page.number, len(page), page.last) for page in query.pages()]
        [(1, 200, False), (2, 100, True)]
    """

    slice: Slice
    number: int
    rows: list[dict[str, Json]]
    last: bool
    token: str = ""
    total: int | None = None
    drift: PageDrift | None = None
    partial: PartialAnswer | None = None
    request_id: str | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.rows)

    __repr__ = _repr_of


@dataclass(frozen=True, slots=True, repr=False)
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
    jsonl: bytes
    events: int
    last: bool
    token: str = ""
    total: int | None = None
    drift: PageDrift | None = None
    partial: PartialAnswer | None = None
    request_id: str | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return self.events

    __repr__ = _repr_of


for _class in (Page, TextPage):
    _class.__module__ = "adanalytics_client"
