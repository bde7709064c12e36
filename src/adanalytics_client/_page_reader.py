"""One page of events, from request to records."""

from dataclasses import dataclass, replace

from adanalytics_client._call import NO_CONTENT, Answer, Ask, call
from adanalytics_client._effects import Operation, Reply
from adanalytics_client._following import moved_on
from adanalytics_client._hooks import PageReceived, tell
from adanalytics_client._json import Json
from adanalytics_client._operations import get_json
from adanalytics_client._outline import LEVELS, outline
from adanalytics_client._pages import Cursor, Fetched, Origin, fetched
from adanalytics_client._partial import exchange_of, tell_partial
from adanalytics_client._rows import Found, find_rows
from adanalytics_client._session import Session
from adanalytics_client._url import with_query


@dataclass(frozen=True, slots=True)
class PageReader:
    """How the pages of one pull are asked for and read.

    Attributes:
        per_page: events asked for.
        rows_key: the name or path of the list, where the caller knows it.
    """

    per_page: int
    rows_key: str | None = None

    def fetch(self, session: Session, cursor: Cursor) -> Operation[Fetched]:
        """One page of events, of which the observer is told.

        Raises:
            ProtocolError: for an answer without a list of records, and for the page before again.
        """
        page = yield from self.read(session, cursor)
        self.announce(session, cursor, page)
        return page

    def read(self, session: Session, cursor: Cursor) -> Operation[Fetched]:
        """One page of events that may turn out not to be used.

        Raises:
            ProtocolError: for an answer without a list of records, and for the page before again.
        """
        url = with_query(session.address("events"), cursor.parameters(self.per_page))
        answer = yield from call(session, Ask(get_json(url)), self._outline)
        page = answer.checked(session.credentials, lambda: moved_on(cursor, self._page(answer)))
        partial = tell_partial(session, answer, page.found.error)
        origin = Origin(f"page {cursor.number} of {cursor.slice}", *exchange_of(session, answer))
        return replace(page, origin=origin, partial=partial)

    def announce(self, session: Session, cursor: Cursor, page: Fetched) -> None:
        """Tell the observer of a page that will be used."""
        tell(session.observer.page, PageReceived(str(cursor.slice), cursor.number, len(page)))

    def _outline(self, reply: Reply) -> Json:
        levels = max(LEVELS, 1 + (self.rows_key or "").count("."))
        return None if reply.status == NO_CONTENT else outline(reply.body, levels)

    def _page(self, answer: Answer[Json]) -> Fetched:
        empty = answer.reply.status == NO_CONTENT
        found = Found([], ()) if empty else find_rows(answer.value, rows_key=self.rows_key)
        return fetched(found, answer.reply.head.headers)
