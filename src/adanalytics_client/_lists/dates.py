"""The dates with data."""

from datetime import date

from adanalytics_client._base.dates import to_day
from adanalytics_client._base.effects import Operation
from adanalytics_client._base.remedies import remedy
from adanalytics_client._call.attempts import Answer
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json
from adanalytics_client._json.rows import Found, describe, kind_of, stated_error
from adanalytics_client.errors import ConfigurationError, ProtocolError

from .pages import ROUND, body_of, read_pages


def dates(session: Session) -> Operation[list[date]]:
    """Return the days that have data."""
    pages = yield from read_pages(
        session,
        "dates",
        {},
        _find_dates,
        may_be_cut=lambda finding: len(finding) > 0 and len(finding) % ROUND == 0,
    )
    # Pages that overlap repeat days.
    return [*dict.fromkeys(day for _, finding in pages for day in finding.records)]


def _find_dates(answer: Answer[Json]) -> Found:
    """Return the days, and an error that the response states beside them."""
    content = body_of(answer)
    texts = content.get("dates") if isinstance(content, dict) else None
    error = stated_error([content]) if isinstance(content, dict) else ""
    # With days beside it, an error is a remark, about which the caller decides.
    if error and not texts:
        raise ProtocolError(
            f"The answer contains an error instead of dates: {error.rstrip('.')}.",
            remedy="Try later.",
        )
    if not isinstance(texts, list):
        has_dates = isinstance(content, dict) and "dates" in content
        description = (
            f"dates is {kind_of(texts)}" if has_dates else f"The answer is {describe(content)}"
        )
        raise ProtocolError(
            f'{description}, not {{"dates": ["YYYY-MM-DD", ...]}}.', remedy=remedy("days")
        )
    try:
        return Found([to_day(day, "dates") for day in texts], (content,), error)
    except ConfigurationError as problem:
        raise ProtocolError(
            f"The list of dates has an invalid entry: {problem.message}", remedy=remedy("days")
        ) from None
