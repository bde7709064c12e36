"""Compare the rows of an export with the numbers that the service states."""

from collections.abc import Collection, Sequence

from adanalytics_client._base.choices import Check
from adanalytics_client._base.effects import Operation
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.spelling import fold
from adanalytics_client._call.session import Session
from adanalytics_client._events.check import Comparison
from adanalytics_client._events.counts import (
    NotCounted,
    first_open_day,
    request_first,
    request_places,
    total_of,
)
from adanalytics_client._events.omissions import find_omission
from adanalytics_client._events.page import FetchedPage
from adanalytics_client._events.plan import Slice
from adanalytics_client.errors import DownloadError, Remedy

from .content import AGAIN, Content
from .status import ExportOrder, ExportStatus


def compare(
    session: Session,
    order: ExportOrder,
    status: ExportStatus,
    contents: Sequence[Content],
    check: Check,
    *,
    needs_end: bool = False,
) -> Operation[ExportStatus]:
    """Return the status with the rows of its files in place of those that were announced.

    Args:
        needs_end: whether to refuse a last record that may be cut in spite of `check="none"`.

    Raises:
        DownloadError: when the rows differ from the number that was announced, or from the
            service's count of days that are over, or when no number confirms a doubtful file, or
            when days of the service are missing.
    """
    rows = [content.rows for content in contents if content.rows is not None]
    # Without pyarrow, the rows of a parquet file are not known, and a sum of the others means
    # nothing.
    if len(rows) < len(contents):
        return status.with_rows(None, None)
    total, row_count = sum(rows), status.row_count
    if row_count is not None and row_count != total:
        raise _differing(total, f"{row_count:,} were announced")
    columns = {name for content in contents for name in content.columns}
    # An announced number may be that of the file as it was cut, so it does not replace the count.
    count = None if check == "none" else (yield from _count(session, order, total, columns))
    doubt = next((content.doubt for content in contents if content.doubt), "")
    # On a day that is not over, the count may already be above the rows, which confirms nothing.
    is_confirmed = row_count is not None or (count is not None and count <= total)
    # Without a check, there is nothing left to leave out.
    advice = AGAIN if check == "none" else remedy("unchecked_file")
    if doubt and not is_confirmed and (check != "none" or not total):
        raise DownloadError(
            f"The file may be incomplete: {doubt}, and the service states no number of events.",
            remedy=advice,
        )
    if check != "none" or needs_end:
        _check_end(contents, advice)
    if check != "none":
        yield from _check_days(session, order, contents, total)
    return status.with_rows(total, total if count == total else None)


def _check_days(
    session: Session, order: ExportOrder, contents: Sequence[Content], events: int
) -> Operation[None]:
    """Refuse a file without days that the service has: it may shorten a range, and count so, too.

    A file with events of the first and the last day costs no request.
    """
    if order.start == order.end and events:
        return
    days = sorted(frozenset().union(*(content.days for content in contents)))
    pull = Comparison(order.start, order.end, events, (), is_counted=True, days=tuple(days))
    if omission := (yield from find_omission(session, pull)):
        raise DownloadError(
            f"The file has no events of {omission}.",
            remedy="Order fewer days at a time; if it stays so, report it to the service.",
        )


def _check_end(contents: Sequence[Content], advice: Remedy) -> None:
    """Refuse a file whose last record may be cut, as its missing line end allows.

    No number of events tells. If the service sent the file with its length, the record is likely to
    be whole, and that it is not known is logged.
    """
    for content in contents:
        if content.is_closed:
            continue
        problem = "its last record has no line end, so a cut in its last field would look the same"
        if not content.is_framed:
            raise DownloadError(f"The file may be incomplete: {problem}.", remedy=advice)
        LOG.warning("Whether the file is complete is not known: %s.", problem)


def _compare_columns(columns: Collection[str], page: FetchedPage) -> None:
    """Log the fields of an event on a page that no column of the file has."""
    names = {*map(fold, columns)}
    # The columns of an object are named after it, such as geo.country.
    missing = [
        name
        for name in page.rows.sample()
        if fold(name) not in names and not any(part.startswith(f"{name}.") for part in columns)
    ]
    if columns and missing:
        LOG.warning("The export has no %s, as events on pages have.", ", ".join(missing))


def _count(
    session: Session, order: ExportOrder, total: int, columns: Collection[str]
) -> Operation[int | None]:
    """Return the service's count, checked against the rows; None if it has none to compare."""
    days, count = Slice(order.start, order.end), 0
    try:
        # The service may load events between the export and the first count.
        for _ in range(2):
            page = yield from request_first(session, days)
            _compare_columns(columns, page)
            service_count = total_of(page)
            if service_count == total:
                return service_count
            if service_count is None:
                return (yield from _place(session, order, total))
            count = service_count
            if order.end >= first_open_day(session):
                text = "The export has %s, and the service counts %s by now."
                LOG.info(text, counted(total, "event"), f"{count:,}")
                return count
        has_last, has_more = (yield from request_places(session, days, total)) or (False, False)
        if count < total and has_last and not has_more:
            text = "The service counts %s in %s, but lists the %s of the export."
            LOG.warning(text, counted(count, "event"), days, f"{total:,}")
            return total
    except NotCounted as error:
        LOG.warning("%s was not compared with the service's count: %s", days, error)
        return None
    raise _differing(total, f"the service counts {count:,} from {order.start} to {order.end}")


def _place(session: Session, order: ExportOrder, total: int) -> Operation[int | None]:
    """Return the number of rows if the service lists as many events; None if days are open.

    Raises:
        NotCounted: when the service does not tell.
    """
    places = yield from request_places(session, Slice(order.start, order.end), total)
    if places is None or places == (True, None):
        raise NotCounted("the service states no count.")
    has_last, has_more = places
    # Events behind the last record may have arrived since the export was made.
    if has_last and has_more and order.end >= first_open_day(session):
        return None
    if has_last and not has_more:
        return total
    raise _differing(total, f"the service lists {'more' if has_last else 'fewer'}")


def _differing(total: int, count: str) -> DownloadError:
    return DownloadError(
        f"The file has {counted(total, 'event')}, but {count}.",
        remedy="Start the export again; if it stays so, report it to the service.",
    )
