"""Pages of events at a price that does not depend on their depth.

The ledger says how many rows each hour has. A page is found by walking those counts to its
first row, then read as ranges of keys: no OFFSET. Adding the counts up gives the total.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

from adanalytics_server.ranges import DayRange
from adanalytics_server.store import PartnerStore, first_key, month_of_hour

_ATTEMPTS = 5


class HourReplaced(RuntimeError):
    """Rows vanished while they were read, because their hour was replaced; read again."""


@dataclass(frozen=True, slots=True)
class Span:
    """``count`` visible rows of an hour (since 1970), from sequence number ``first`` on."""

    hour: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Page:
    """The bodies of one page, in order, and the number of rows in the whole range."""

    bodies: list[bytes]
    total: int


def read_spans(store: PartnerStore, days: DayRange) -> list[Span]:
    """List the hours of a range that have rows, in order, as the ledger sees them now."""
    query = "SELECT hour, first, n FROM hours WHERE hour >= ? AND hour < ? AND n > 0"
    bounds = [days.first_day * 24, (days.last_day + 1) * 24]
    if days.hour is not None:
        # Taken twice, because the remainder of a negative number is negative in SQLite.
        query += " AND ((hour % 24) + 24) % 24 = ?"
        bounds.append(days.hour)
    with store.reading_ledger() as ledger:
        return [Span(*row) for row in ledger.execute(query + " ORDER BY hour", bounds)]


def cut(spans: list[Span], skip: int, take: int) -> list[Span]:
    """Return the parts of the spans that hold rows ``skip`` to ``skip + take`` of them all."""
    parts = []
    for span in spans:
        if skip >= span.count:
            skip -= span.count
            continue
        if take <= 0:
            break
        count = min(span.count - skip, take)
        parts.append(replace(span, first=span.first + skip, count=count))
        take -= count
        skip = 0
    return parts


def read_page(
    store: PartnerStore, days: DayRange, *, page: int, per_page: int, shift: int = 0
) -> Page:
    """Read page ``page`` (from 1) of ``per_page`` rows; empty after the last one.

    With a ``shift`` the page is as if so many rows had come in front of the range meanwhile.
    """
    skip = max(0, (page - 1) * per_page - shift)
    for _ in range(_ATTEMPTS - 1):
        with suppress(HourReplaced):
            return _read_page_once(store, days, skip, per_page)
    return _read_page_once(store, days, skip, per_page)


def _read_page_once(store: PartnerStore, days: DayRange, skip: int, take: int) -> Page:
    spans = read_spans(store, days)
    return Page(read_bodies(store, cut(spans, skip, take)), sum(span.count for span in spans))


def read_bodies(store: PartnerStore, spans: list[Span]) -> list[bytes]:
    """Read the bodies of spans, in order.

    Raises:
        HourReplaced: a row that the ledger counted when the spans were read is gone.
    """
    bodies: list[bytes] = []
    for month, of_month in groupby(spans, key=lambda span: month_of_hour(span.hour)):
        with store.reading_month(month) as connection:
            for span in of_month:
                found = _bodies_of(connection, span)
                if len(found) != span.count:
                    raise HourReplaced(
                        f"{month}.db has not all rows of hour {span.hour % 24}: they were replaced"
                        " while they were read, or the file is damaged"
                    )
                bodies += found
    return bodies


def read_in_chunks(store: PartnerStore, spans: list[Span], *, rows: int) -> Iterator[list[bytes]]:
    """Read the bodies of many spans in lists of at most ``rows``, none of them empty."""
    part: list[Span] = []
    held = 0
    for span in spans:
        left = span
        while left.count:
            count = min(left.count, rows - held)
            part.append(replace(left, count=count))
            held += count
            left = replace(left, first=left.first + count, count=left.count - count)
            if held == rows:
                yield read_bodies(store, part)
                part, held = [], 0
    if part:
        yield read_bodies(store, part)


def _bodies_of(connection: sqlite3.Connection, span: Span) -> list[bytes]:
    low = first_key(span.hour, span.first)
    rows = connection.execute(
        "SELECT body FROM events WHERE key >= ? AND key < ? ORDER BY key",
        (low, low + span.count),
    )
    return [body for (body,) in rows]
