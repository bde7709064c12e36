"""One page of events, from request to validated rows."""

from dataclasses import dataclass, field
from functools import partial
from typing import Never

from msgspec import Struct
from msgspec.structs import replace

from adanalytics_client._base.effects import Offload, Operation, Pairs, Reply
from adanalytics_client._base.observer import PageReceived, notify
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.urls import Resource, with_query
from adanalytics_client._call.attempts import Answer, Rules, call
from adanalytics_client._call.requests import (
    check_whole,
    exchange_of,
    get_json,
    is_empty,
    report_warning,
)
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json
from adanalytics_client._json.fields import FieldNames
from adanalytics_client._json.raw import LEVELS, PageSource, RawRows, read_page
from adanalytics_client._json.rows import Found, find_rows
from adanalytics_client._lists.dates import dates
from adanalytics_client._shapes.changes import check_page, find_at
from adanalytics_client._shapes.page import Signals, signals, stated_shortfall, stated_warnings
from adanalytics_client._shapes.service import PageProfile, ServiceProfile
from adanalytics_client.errors import ProtocolError, StatusError

from .page import FetchedPage
from .paging import Cursor, following, page_count
from .plan import Slice
from .slice import ROUND
from .times import days_of, places_of

# A proxy that sent the response to an earlier request would do so again on this connection. The
# first repeat closes the connection and the second opens a new one (RFC 9112, section 9.6).
_CLOSE = ("connection", "close")
_REPEATS = 2


# A page behind the last one is no page (404), or no satisfiable range (416). A service that refuses
# its number (400, 422) may do the same where it limits the depth of pages.
_NOT_FOUND = 404
_NO_PAGE = frozenset({_NOT_FOUND, 416})
_REFUSED_PAGE = frozenset({400, 422})


class _Read(Struct, frozen=True):
    """The content of a response.

    Attributes:
        containers: the objects around the events.
        error: what the service states to be wrong.
        doubt: why the page may hide events although it has none.
        problem: describes a page that belongs to another request; empty for the requested page.
    """

    rows: RawRows
    signals: Signals
    containers: tuple[dict[str, Json], ...] = ()
    error: str = ""
    doubt: str = ""
    problem: str = ""


@dataclass(slots=True)
class PageReader:
    """Fetches and reads the pages of one pull.

    Attributes:
        range_slice: all days of the pull.
        accept_partial: whether to take the events of a response that states that it is not whole.
        has_page: whether a page has arrived.
        warnings: the warnings of the service that were logged.
        failures: what the service could not tell of the range, and is not requested again.
    """

    per_page: int
    params: Pairs = ()
    range_slice: Slice | None = None
    accept_partial: bool = False
    has_page: bool = False
    warnings: set[str] = field(default_factory=set)
    failures: set[Resource] = field(default_factory=set)

    def fetch(self, session: Session, cursor: Cursor) -> Operation[FetchedPage]:
        """Fetch a page and report it to the observer; see `read`."""
        page = yield from self.read(session, cursor)
        self.report(session, page)
        return page

    def read(self, session: Session, cursor: Cursor) -> Operation[FetchedPage]:
        """Fetch a page that may turn out not to be used.

        Raises:
            ProtocolError: also for a page behind the first, if the service ignores the number.
        """
        if not (cursor.is_first_page or _page_profile(session).heeds.get("page", True)):
            raise ProtocolError(
                f"{cursor.slice} has a further page, but the service ignores the number of a page.",
                remedy=remedy("smaller_queries"),
            )
        try:
            answer, reading = yield from self._try(session, cursor)
            # A proxy that mixes up responses does so on one connection; the repeat closes it.
            for _ in range(_REPEATS):
                if reading.problem:
                    answer, reading = yield from self._try(session, cursor, _CLOSE)
        # Services mean an empty page by some error statuses, which are no failure of the pull.
        except StatusError as error:
            return (yield from self._absent(session, cursor, error))
        if reading.problem:
            answer.checked(session.credentials, partial(_refuse, session, cursor, reading.problem))
        headers, has_rows = answer.reply.head.headers, len(reading.rows) > 0
        for text in stated_warnings(reading.containers, headers, has_rows=has_rows):
            report_warning(session, text, self.warnings)
        partial_answer = check_whole(session, answer, reading.error, accept=self.accept_partial)
        source = PageSource(str(cursor), *exchange_of(session, answer))
        page = FetchedPage(
            cursor,
            replace(reading.rows, source=source),
            reading.signals,
            following(cursor, len(reading.rows), reading.signals, self.per_page),
            doubt=reading.doubt,
            partial=partial_answer,
        )
        if len(page) and cursor.slice.start == cursor.slice.end:
            session.days_with_events.add(cursor.slice.start)
        # For the check at the end: which days of a query of several days have events.
        elif len(page):
            zone = session.config.service.tzinfo()
            days = yield Offload(partial(days_of, page.rows, zone))
            page = replace(page, days=days)
        is_one_of_several = cursor.number > 1 or cursor.attempt or page.next_cursor is not None
        if is_one_of_several or (page.signals.total or 0) > len(page):
            # Hashing a page takes milliseconds, in which an event loop would stand still.
            page = yield Offload(page.with_keys)
        return page

    def report(self, session: Session, page: FetchedPage) -> None:
        cursor, pages = page.cursor, page_count(page.cursor, page.next_cursor, page.signals)
        event = PageReceived(str(cursor.slice), cursor.number, len(page), pages)
        notify(session.observer.page, event)

    def _absent(
        self, session: Session, cursor: Cursor, error: StatusError
    ) -> Operation[FetchedPage]:
        """Return an empty page if the status means that there is none; else raise the error."""
        is_usual = _usual_without_events(session, cursor) == str(error.status)
        doubt = "" if is_usual else f"the answer was {error.status}"
        # Behind the last page. Before the first, the same status may be a wrong address.
        if not cursor.is_first_page and error.status in _NO_PAGE:
            return FetchedPage(cursor, doubt=doubt)
        if not cursor.is_first_page and error.status in _REFUSED_PAGE:
            # The same status may limit the depth of pages, and such limits are round numbers.
            if is_usual and cursor.seen % ROUND:
                return FetchedPage(cursor)
            return FetchedPage(cursor, refusal=error)
        if error.status != _NOT_FOUND:
            raise error
        if not self.has_page:
            # Either these days have no events, or the partner or the address is wrong.
            if is_usual:
                # Only a partner that exists has dates.
                yield from dates(session)
            # A larger range than this one would tell an empty hour from a wrong address, and there
            # is none.
            elif self.range_slice is None or self.range_slice == cursor.slice:
                raise error
            else:
                yield from PageReader(1, self.params).read(session, Cursor(self.range_slice))
            self.has_page = True
        return FetchedPage(cursor, doubt=doubt)

    def _try(
        self, session: Session, cursor: Cursor, *headers: tuple[str, str]
    ) -> Operation[tuple[Answer[Json], _Read]]:
        """Fetch and read a page; fetch it once more if the response unexpectedly has no body."""
        parameters = cursor.parameters(self.per_page, _page_profile(session).first)
        url = with_query(session.address("events"), parameters, self.params)
        request = get_json(url, *headers)
        rules, parse = Rules(patient=self.has_page, is_whole=True), partial(_parse, session)
        answer = yield from call(session, request, parse, rules)
        usual = _usual_without_events(session, cursor)
        # An empty body is most often an accident of a proxy, which does not happen twice.
        if is_empty(answer.reply) and usual != str(answer.reply.status):
            answer = yield from call(session, request, parse, rules)
        self.has_page = True
        return answer, answer.checked(session.credentials, partial(_read, session, answer, cursor))


_USUAL_PAGES = PageProfile()


def _page_profile(session: Session) -> PageProfile:
    return session.config.service.pages or _USUAL_PAGES


def _usual_without_events(session: Session, cursor: Cursor) -> str | None:
    """Return the service's response in place of a page without events, if it is known."""
    return _page_profile(session).empty if cursor.is_first_page else _page_profile(session).past_end


def _parse(session: Session, reply: Reply) -> Json:
    if is_empty(reply):
        return None
    rows_key = session.config.service.rows_key or ""
    return read_page(reply.body, max(LEVELS, 1 + rows_key.count(".")))


def _read(session: Session, answer: Answer[Json], cursor: Cursor) -> _Read:
    headers, status = answer.reply.head.headers, answer.reply.status
    service = session.config.service
    pages = service.pages
    usual = _usual_without_events(session, cursor)
    if is_empty(answer.reply):
        page_signals = signals(Found([], ()), headers, pages)
        if usual == str(status):
            return _Read(RawRows(), page_signals)
        # There must be events, by a total or an earlier page, so nothing is not an answer.
        if page_signals.total or cursor.total or not cursor.is_first_page:
            raise ProtocolError(
                f"The response to {cursor} was empty twice.",
                remedy="Pull it again, and report it to the service.",
            )
        return _Read(RawRows(), Signals(), doubt="the answer had no body")
    key = service.rows_key
    finding = find_at(service, key, answer.value, partial(find_rows, answer.value, rows_key=key))
    page_signals = signals(finding, headers, pages)
    error = finding.error or stated_shortfall(finding.containers, headers, answer.url)
    shape = f"{status} {finding.placeholder}" if finding.placeholder else ""
    # A response that states an error has an unusual shape, and the error says more.
    if not error:
        check_page(service, finding, headers, shape=shape, usual=usual)
    rows = finding.rows if isinstance(finding.rows, RawRows) else RawRows()
    rows = replace(rows, names=FieldNames(service.fields, service.time_field))
    return _Read(
        rows,
        page_signals,
        finding.containers,
        error,
        doubt="the answer had no list" if shape and shape != usual else "",
        problem=_other_content(cursor, rows, page_signals, service),
    )


def _other_content(
    cursor: Cursor, rows: RawRows, page_signals: Signals, service: ServiceProfile
) -> str:
    """Describe a page that responds to another request; empty for the requested page."""
    first = service.pages.first if service.pages else 1
    if page_signals.page not in {None, cursor.number - 1 + first}:
        return f"page {page_signals.page}"
    slice_, zone = cursor.slice, service.tzinfo()
    # The first and the last event tell: a page is in order, or from another request.
    for event in (rows, replace(rows, texts=rows.texts[-1:]))[: len(rows)]:
        places = [*places_of(event.sample(), rows.names, zone)]
        if places and not any(_is_of(slice_, day, hour) for day, hour in places):
            day, hour = places[0]
            is_of_day = _is_of(slice_, day, None)
            return f"events of hour {hour}" if is_of_day else f"events of {day}"
    return ""


def _is_of(slice_: Slice, day: str | None, hour: int | None) -> bool:
    if day is not None and not f"{slice_.start}" <= day <= f"{slice_.end}":
        return False
    return slice_.hour in {None, hour} or hour is None


def _refuse(session: Session, cursor: Cursor, problem: str) -> Never:
    raise ProtocolError(
        f"The responses to {cursor} hold {problem}: they belong to another request.",
        remedy=remedy("zone", session.config.service.zone),
    )
