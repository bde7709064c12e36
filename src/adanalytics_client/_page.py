"""What users get of a page: its events as dicts or as text, and what is known about it."""

from dataclasses import dataclass, field

from adanalytics_client._hooks import PageDrift, PartialAnswer
from adanalytics_client._json import Json
from adanalytics_client._slices import Slice


@dataclass(frozen=True, slots=True)
class Page:
    """One page of events as it came.

    Attributes:
        slice: the query it belongs to.
        number: its number there, from 1.
        rows: the events as dicts; numbers with a fraction are Decimal.
        last: whether it is the last of its slice.
        token: one word of ASCII; `Client.events(..., resume=token)` of the same query goes on
            after these rows, also in another process and also where `max_events` cut them.
        total: events on all pages of the slice, where the service says so.
        drift: what shows that pages moved while they were read; None when nothing does.
        partial: what the service says of an error beside the events; None when it says nothing.

    Example:
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

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class TextPage:
    """One page of events as the text they came as; the rest as for `Page`.

    Attributes:
        slice, number, last, token, total, drift, partial: as for `Page`.
        jsonl: each event on a line of its own, with the service's own digits.
        events: how many they are.

    Example:
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

    def __len__(self) -> int:
        return self.events
