"""A list beside the events, page by page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from adanalytics_client._base.effects import Operation
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.urls import Resource, with_query
from adanalytics_client._call.attempts import NO_CONTENT, Answer, Rules, call, read_json
from adanalytics_client._call.requests import check_whole, get_json, report_warning
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json
from adanalytics_client._json.rows import Found
from adanalytics_client._shapes.page import signals, stated_shortfall, stated_warnings
from adanalytics_client.errors import ProtocolError, StatusError

MOST_PAGES = 1_000
"""The most pages of a list, if the client has no limit of requests per hour."""

_BEHIND_THE_END = frozenset({404, 416})
_REFUSED = frozenset({400, 422})

ROUND = 5
"""A list of a multiple of so many records may be the first of several pages."""


def read_pages(
    session: Session,
    resource: Resource,
    parameters: Mapping[str, str],
    find: Callable[[Answer[Json]], Found],
    *,
    params: Iterable[tuple[str, str]] = (),
    may_be_cut: Callable[[Found], bool] = lambda _: False,
    beside: Sequence[object] = (),
) -> Operation[list[tuple[Answer[Json], Found]]]:
    """Return the responses and records of a list, which ends by the rules of a slice of events.

    Args:
        find: finds the records of a response.
        params: query parameters of the caller.
        may_be_cut: whether a first page that states no other may not be the only one, as its number
            of records shows; a page as long as its stated size may not be, either. If it states a
            total that it reaches, it must be full, which it may be without a stated size. The
            service documents no pages of these lists, so the same page again is then the end.
        beside: records that the total may leave out.

    Raises:
        ProtocolError: when pages repeat or contradict each other, or records are missing.
    """
    pages: list[tuple[Answer[Json], Found]] = []
    total, records, is_probed, fills_page = None, 0, False, False
    for number in range(1, (session.config.quota.limit or MOST_PAGES) + 1):
        query = parameters if number == 1 else {**parameters, "page": str(number)}
        url = with_query(session.address(resource), query, params)
        try:
            answer = yield from call(session, get_json(url), read_json, Rules(is_whole=True))
        except StatusError as error:
            is_end = error.status in _BEHIND_THE_END or (is_probed and error.status in _REFUSED)
            if number == 1 or not is_end:
                raise
            break
        finding = answer.checked(session.credentials, partial(find, answer))
        headers = answer.reply.head.headers
        for text in stated_warnings(finding.containers, headers, has_rows=len(finding) > 0):
            report_warning(session, text, set())
        check_whole(
            session,
            answer,
            finding.error or stated_shortfall(finding.containers, headers, answer.url),
        )
        page_signals = signals(finding, headers)
        sign = page_signals.sign_after(number)
        if pages and len(finding) and finding.rows == pages[-1][1].rows:
            if is_probed:
                if fills_page and total is None:
                    text = "%s has %s records, as many as its page holds: others may be missing."
                    LOG.warning(text, resource, f"{len(finding):,}")
                break
            raise _unreadable(session, answer, f"pages {number - 1} and {number} are the same")
        if problem := page_signals.contradiction_on(number):
            raise _unreadable(session, answer, f"page {number} states {problem}")
        records += len(finding)
        total = total if page_signals.total is None else max(total or 0, page_signals.total)
        if number == 1 or len(finding):
            pages.append((answer, finding))
        elif sign and total is None:
            raise _unreadable(session, answer, f"page {number} states no records and {sign}")
        if total is not None and (
            records > total + len(beside) or (records < total and not len(finding))
        ):
            raise _unreadable(
                session, answer, f"the service counts {total:,} records, but {records:,} arrived"
            )
        if number == 1:
            # The published form states `per_page`; a total without it may be that of the page.
            size = page_signals.per_page or len(finding)
            is_full = len(finding) >= size or len(finding) % ROUND == 0
            is_end = total is None or (total == len(finding) and is_full)
            fills_page = 1 < len(finding) == page_signals.per_page
            is_probed = not sign and is_end and (fills_page or may_be_cut(finding))
        is_long = is_probed and len(finding) >= len(pages[0][1])
        if not len(finding) or not (sign or is_long or (total is not None and records < total)):
            break
    else:
        raise _unreadable(session, pages[-1][0], f"it has more than {number:,} pages")
    return pages


def _unreadable(session: Session, answer: Answer[Json], problem: str) -> ProtocolError:
    error = ProtocolError(
        f"The list cannot be read as a whole: {problem}.",
        remedy="Try again, or report it to the service.",
    )
    return session.credentials.complete(error, answer.url, answer.reply)


def body_of(answer: Answer[Json]) -> Json:
    """Return the JSON of a response that must have a body."""
    if answer.reply.status == NO_CONTENT:
        raise ProtocolError(
            "The answer has no body (204) instead of an object.", remedy="Try later."
        )
    return answer.value
