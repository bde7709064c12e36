"""A page of events: stored texts between commas, or the decoded rows of a dialect."""

import msgspec
from starlette.datastructures import URL
from starlette.responses import Response

from adanalytics_server.dialect import Dialect, Plain, Row
from adanalytics_server.storage.chunks import decode_rows
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.pages import Page, read_in_parts, read_page, read_spans
from adanalytics_server.storage.store import PartnerStore

from .requests import EventsQuery

_PART_ROWS = 10_000


def events_response(
    store: PartnerStore, query: EventsQuery, dialect: Dialect, url: URL
) -> Response:
    """Return one page of the events of a range; ``url`` is that of the request."""
    if dialect.every is not None:
        return _plain(dialect.every)
    is_named = "page" in query.model_fields_set
    number, per_page = dialect.page_of(query.page if is_named else None, query.per_page)
    query = query.model_copy(update={"page": number, "per_page": per_page})
    events = _read(store, dialect.changed(query), dialect)
    total = events.total + dialect.moved_rows
    if dialect.empty is not None and not events.total:
        return _plain(dialect.empty)
    if dialect.past_end is not None and number > dialect.first_page and not events.pieces:
        return _plain(dialect.past_end)
    if dialect.total is not None:
        total = dialect.total(total)
    numbers = dialect.page_numbers(number, per_page, total, url)
    body, headers = dialect.list_body(dialect.envelope, [], numbers)
    # The events are JSON already: put them between the brackets of the empty list.
    head, tail = msgspec.json.encode(body).split(b"[]", 1)
    content = b"".join([head, b"[", b",".join(events.pieces), b"]", tail])
    return Response(content, headers=headers, media_type="application/json")


def _plain(plain: Plain) -> Response:
    headers = dict(plain.headers)
    return Response(plain.content, plain.status, headers=headers, media_type="application/json")


def _read(store: PartnerStore, query: EventsQuery, dialect: Dialect) -> Page:
    """Read the rows of a query, whose page is by the dialect's numbers."""
    page, days = query.page - dialect.first_page + 1, query.days(query.hour)
    per_page, shift = query.per_page, dialect.moved_rows
    if not dialect.changes_rows:
        return read_page(store, days, page=page, per_page=per_page, shift=shift)
    # A dialect may merge events into one row, so a page cannot be cut before.
    rows = dialect.rows(read_events(store, days, dialect))
    skip = max(0, (page - 1) * per_page - shift)
    return Page([msgspec.json.encode(row) for row in rows[skip : skip + per_page]], len(rows))


def read_events(store: PartnerStore, days: DayRange, dialect: Dialect) -> list[Row]:
    """Read and decode the events that belong to a range, in order."""
    events: list[Row] = []
    for pieces in read_in_parts(store, read_spans(store, dialect.stored(days)), rows=_PART_ROWS):
        events += decode_rows(pieces)
    return dialect.in_range(days, events)
