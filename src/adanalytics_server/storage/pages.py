"""Pages of events, at a cost that does not depend on their depth.

The ledger has the number of rows of each hour. Walking those counts finds the first row of a page,
which is then read as ranges of keys, without OFFSET. The sum of the counts is the total.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from .chunks import BEGIN, END, count_rows, some_rows
from .damage import DamagedFile
from .days import DayRange
from .store import PartnerStore, first_key, month_of_hour

_ATTEMPTS = 5


class HourReplaced(RuntimeError):
    """Rows disappeared during a read because their hour was replaced; read again."""


class Span(NamedTuple):
    """``n`` visible rows of an hour (since 1970), starting at sequence number ``first``."""

    hour: int
    first: int
    n: int

    @property
    def end(self) -> int:
        """The sequence number after the last row."""
        return self.first + self.n


class Page(NamedTuple):
    """The rows of one page, in order, and the number of rows in the whole range.

    Each item of ``pieces`` is the JSON text of rows, separated by commas; no item begins or ends
    with a comma. The pieces are not joined here, because allocating megabytes of new memory would
    cost more than the rest of reading a page.
    """

    pieces: list[bytes]
    total: int


def read_spans(store: PartnerStore, days: DayRange) -> list[Span]:
    """List the hours of a range that have rows, in order, as the ledger sees them now."""
    query = "SELECT hour, first, n FROM hours WHERE hour >= ? AND hour < ? AND n > 0"
    bounds = [days.first_day * 24, (days.last_day + 1) * 24]
    if days.hour is not None:
        # Two remainders, because SQLite's remainder of a negative number is negative.
        query += " AND ((hour % 24) + 24) % 24 = ?"
        bounds.append(days.hour)
    with store.reading("ledger") as ledger:
        return list(map(Span._make, ledger.execute(query + " ORDER BY hour", bounds)))


def cut(spans: Iterable[Span], skip: int, take: int) -> list[Span]:
    """Return the parts of the spans that hold rows ``skip`` to ``skip + take``."""
    parts = []
    for hour, first, rows in spans:
        # The counts of the hours lead to the page without a look at the rows before it.
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
    """Read page ``page`` (from 1) of ``per_page`` rows; pages after the last are empty.

    With a ``shift``, the page is as if this many rows had been inserted before the range.
    """
    skip = max(0, (page - 1) * per_page - shift)
    for _ in range(_ATTEMPTS - 1):
        with suppress(HourReplaced):
            return _read_page_once(store, days, skip, per_page)
    return _read_page_once(store, days, skip, per_page)


def _read_page_once(store: PartnerStore, days: DayRange, skip: int, take: int) -> Page:
    spans = read_spans(store, days)
    return Page(read_pieces(store, cut(spans, skip, take)), sum(span.n for span in spans))


def read_pieces(store: PartnerStore, spans: list[Span]) -> list[bytes]:
    """Read the rows of spans, in order, as a few pieces of rows separated by commas.

    Raises:
        HourReplaced: a row that the ledger counted when the spans were read is gone.
    """
    pieces: list[bytes] = []
    for month, of_month in groupby(spans, key=lambda span: month_of_hour(span.hour)):
        with store.reading(month) as connection:
            for span in of_month:
                pieces += _read_span(connection, store.folder / f"{month}.db", span)
    return pieces


def _read_span(connection: sqlite3.Connection, path: Path, span: Span) -> Iterator[bytes]:
    position, high = first_key(span.hour, span.first), first_key(span.hour, span.end)
    # Plain tuples: a page has a hundred of them, and named ones would double the cost.
    chunks: Iterator[tuple[int, int, bytes]] = connection.execute(
        "SELECT key, n, texts FROM chunks"
        " WHERE key >= (SELECT MAX(key) FROM chunks WHERE key <= ?) AND key < ? ORDER BY key",
        (position, high),
    )
    for key, rows, texts in chunks:
        if not key <= position < key + rows:
            break
        if not texts.startswith(BEGIN) or not texts.endswith(END):
            raise DamagedFile(path, "it contains no events")
        take = min(key + rows, high) - position
        if take == rows:
            yield texts
        elif count_rows(texts) == rows:
            yield some_rows(texts, position - key, take)
        else:
            raise DamagedFile(path, "a chunk has the wrong number of rows")
        position += take
    if position < high:
        raise HourReplaced(
            f"rows of hour {span.hour % 24} are missing from {path.name}: they were replaced"
            " during the read, or the file is damaged"
        )


def read_in_parts(store: PartnerStore, spans: list[Span], *, rows: int) -> Iterator[list[bytes]]:
    """Read many spans in non-empty parts of at most ``rows`` rows, each as pieces.

    An hour that fits in a part is not cut. Other hours are cut from their beginning, so that the
    cuts are between their chunks.
    """
    part: list[Span] = []
    size = 0
    for span in spans:
        if part and size + span.n > rows:
            yield read_pieces(store, part)
            part, size = [], 0
        hour, first, count = span
        # One hour may have more rows than a part.
        while count > rows:
            yield read_pieces(store, [Span(hour, first, rows)])
            first, count = first + rows, count - rows
        if count:
            part.append(Span(hour, first, count))
            size += count
    if part:
        yield read_pieces(store, part)
