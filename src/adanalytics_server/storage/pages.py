"""Pages of events at a price that does not depend on their depth.

The ledger says how many rows each hour has. A page is found by walking those counts to its
first row, then read as ranges of keys: no OFFSET. Adding the counts up gives the total.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.store import PartnerStore, month_of_hour
from adanalytics_server.storage.text_reading import HourReplaced, Span, read_month

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of one page, in order, and the number of rows in the whole range.

    ``pieces`` are JSON texts with commas between them, and a comma is missing between pieces:
    they are not joined, because fresh memory for megabytes costs more than all the rest.
    """

    pieces: list[bytes]
    total: int


def read_spans(store: PartnerStore, days: DayRange) -> list[Span]:
    """List the hours of a range that have rows, in order, as the ledger sees them now."""
    return list(map(Span._make, _read_hours(store, days)))


def _read_hours(store: PartnerStore, days: DayRange) -> list[tuple[int, int, int]]:
    """The same as plain tuples: of a year's hours a page needs a few, and names take time."""
    query = "SELECT hour, first, n FROM hours WHERE hour >= ? AND hour < ? AND n > 0"
    bounds = [days.first_day * 24, (days.last_day + 1) * 24]
    if days.hour is not None:
        # Taken twice, because the remainder of a negative number is negative in SQLite.
        query += " AND ((hour % 24) + 24) % 24 = ?"
        bounds.append(days.hour)
    with store.reading_ledger() as ledger:
        return ledger.execute(query + " ORDER BY hour", bounds).fetchall()


def cut(spans: Iterable[tuple[int, int, int]], skip: int, take: int) -> list[Span]:
    """Return the parts of the spans that hold rows ``skip`` to ``skip + take`` of them all."""
    parts = []
    for hour, first, rows in spans:
        if skip >= rows:
            skip -= rows
            continue
        if take <= 0:
            break
        count = min(rows - skip, take)
        parts.append(Span(hour, first + skip, count))
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
    hours = _read_hours(store, days)
    return Page(read_pieces(store, cut(hours, skip, take)), sum([rows for _, _, rows in hours]))


def read_pieces(store: PartnerStore, spans: list[Span]) -> list[bytes]:
    """Read the rows of spans, in order, as few pieces of rows with commas between them.

    Raises:
        HourReplaced: a row that the ledger counted when the spans were read is gone.
    """
    pieces: list[bytes] = []
    for month, of_month in groupby(spans, key=lambda span: month_of_hour(span.hour)):
        with store.reading_month(month) as connection:
            pieces += read_month(connection, store.folder, month, of_month)
    return pieces


def read_in_parts(store: PartnerStore, spans: list[Span], *, rows: int) -> Iterator[list[bytes]]:
    """Read many spans in parts of at most ``rows`` rows, none of them empty, as pieces.

    An hour that fits into a part is not cut, and others are cut from their beginning on: the
    cuts are then between the chunks they are stored in.
    """
    part: list[Span] = []
    held = 0
    for span in spans:
        if part and held + span.n > rows:
            yield read_pieces(store, part)
            part, held = [], 0
        hour, first, count = span
        while count > rows:
            yield read_pieces(store, [Span(hour, first, rows)])
            first, count = first + rows, count - rows
        if count:
            part.append(Span(hour, first, count))
            held += count
    if part:
        yield read_pieces(store, part)
