"""Tell of an error that an answer of status 200 states beside its data."""

import logging

from adanalytics_client._call import Answer
from adanalytics_client._hooks import PartialAnswer, tell
from adanalytics_client._json import Json
from adanalytics_client._problems import request_id_of
from adanalytics_client._session import Session

_LOG = logging.getLogger("adanalytics_client")
_LONGEST_REASON = 500


def tell_partial(session: Session, answer: Answer[Json], error: str) -> PartialAnswer | None:
    """Tell the observer and the log of an error that stands beside data, if there is one."""
    if not error:
        return None
    url, request_id = exchange_of(session, answer)
    partial = PartialAnswer(url, session.credentials.shown(error)[:_LONGEST_REASON], request_id)
    _LOG.warning("%s", partial)
    tell(session.observer.partial, partial)
    return partial


def exchange_of(session: Session, answer: Answer[Json]) -> tuple[str, str | None]:
    """The address asked and the service's name for the exchange, without secrets."""
    request_id = request_id_of(answer.reply.head)
    named = session.credentials.shown(request_id) if request_id else None
    return session.shown(answer.url), named
