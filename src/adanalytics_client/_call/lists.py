"""The lists beside events, page by page: the dates, and the summary."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from adanalytics_client._base.dates import Day, from_epoch, to_day, to_range
from adanalytics_client._base.effects import Operation
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.spelling import fold
from adanalytics_client._base.urls import Params, Resource, further_params, with_query
from adanalytics_client._base.validation import invalid
from adanalytics_client._json.columns import GROUP_COLUMNS, METRIC_COLUMNS, SUMMARY_COLUMNS
from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.exact import Json
from adanalytics_client._json.fields import COLUMN_OF_TYPE, GROUPS, ID_OF, FieldNames
from adanalytics_client._json.rates import RATES
from adanalytics_client._json.rows import Found, describe, find_rows, kind_of, stated_error
from adanalytics_client._shapes.changes import find_at
from adanalytics_client._shapes.page import signals, stated_shortfall, stated_warnings
from adanalytics_client.errors import ConfigurationError, ProtocolError, Remedy, StatusError

from .attempts import NO_CONTENT, Answer, Rules, call, read_json
from .requests import check_whole, get_json, report_warning
from .session import Session

if TYPE_CHECKING:
    from adanalytics_client.models import Summary

DAY_NAMES = ("date", "day", "event_date")
"""Names that a service may give the day of a row; the first is published by the server here."""

OTHER_GROUPS = "other_groups"
"""The code of the remedy, if the rows of a summary do not name the groups of the request."""

MOST_PAGES = 1_000
"""The most pages of a list, if the client has no limit of requests per hour."""

_LOG = logging.getLogger("adanalytics_client")

_PAGE_NUMBERS = frozenset({"total", "page", "perpage", "totalpages", "hasmore"})
_BEHIND_THE_END = frozenset({404, 416})
_REFUSED = frozenset({400, 422})
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=[T ]|$)", re.ASCII)
_DAY = re.compile(
    r"(\d{4})([-/.]?)(\d\d)\2(\d\d)(?:[T ].*)?|(\d\d?)[-/.](\d\d?)[-/.](\d{4})", re.ASCII
)
_AMOUNT = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?%?", re.ASCII)
ROUND = 5
"""A list of a multiple of so many records may be the first of several pages."""
# Beside the published names, those of Facebook's insights (since, until), Prometheus (start, end)
# and Mixpanel (from_date, to_date).
_START_NAMES = frozenset({"startdate", "start", "since", "from", "fromdate"})
_RANGE_NAMES = frozenset({"range", "daterange", "timerange", "period", "interval"})
_END_NAMES = frozenset({"enddate", "end", "until", "to", "todate"})


_TOTAL_NAMES = frozenset({"total", "totals", "grandtotal", "subtotal", "sum", "overall"})

_Row = dict[str, Json]


def _read_pages(
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
                    _LOG.warning(text, resource, f"{len(finding):,}")
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


def dates(session: Session) -> Operation[list[date]]:
    """Return the days that have data."""
    pages = yield from _read_pages(
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
    content = _content(answer)
    texts = content.get("dates") if isinstance(content, dict) else None
    error = stated_error([content]) if isinstance(content, dict) else ""
    # With days beside it, an error is a remark, about which the caller decides.
    if error and not texts:
        raise ProtocolError(
            f"The answer contains an error instead of dates: {error}", remedy="Try later."
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


def summary(
    session: Session,
    start: Day,
    end: Day | None,
    *,
    group_by: str | None,
    params: Params | None = None,
) -> "Operation[Summary]":
    """Return the metrics of some days, in all rows of the service's pages."""
    first, last = to_range(start, end, today=session.today())
    parameters = {"start_date": str(first), "end_date": str(last)}
    if group_by is not None:
        if group_by not in GROUPS:
            raise invalid("group_by", group_by, f"Choose {', '.join(GROUPS)}, or leave it out.")
        parameters["group_by"] = group_by
    pairs = further_params(params, ("start_date", "end_date", "group_by", "page"))
    limit = (last - first).days + 1 if group_by == "day" else None
    names, zone = FieldNames(session.config.service.fields), session.config.service.tzinfo()
    records: list[_Row] = []
    totals: list[_Row] = []

    def find(answer: Answer[Json]) -> Found:
        service, content = session.config.service, _content(answer)
        rows_key = service.summary.rows_key if service.summary else None
        key = rows_key or service.rows_key
        find = partial(find_rows, content, rows_key=key, extra_name="summary", single=True)
        finding = find_at(service, rows_key, content, find)
        records.extend(finding.records)
        if "group_by" in parameters and not totals:
            totals.extend(_find_totals(records, parameters["group_by"], names))
        _refuse_other((first, last, zone), parameters.get("group_by"), finding, totals)
        return finding

    def may_be_cut(finding: Found) -> bool:
        return group_by is not None and len(finding) > 1 and len(finding) - len(totals) != limit

    pages = yield from _read_pages(
        session, "summary", parameters, find, params=pairs, may_be_cut=may_be_cut, beside=totals
    )
    answer, first_page = pages[0]
    rows = [row for _, page in pages for row in page.records if row not in totals]
    is_doubtful = bool(rows) and (len(rows) == 1 or group_by == "day")
    if (
        group_by is not None
        and is_doubtful
        and not any((*map(_grouping_of, rows[0]), *_days_in(rows[0], group_by)))
    ):
        del parameters["group_by"]
        single_page = yield from _read_pages(session, "summary", parameters, find, params=pairs)
        if single_page[0][1].records == rows:
            error = _other_groups("the rows without groups", group_by)
            raise session.credentials.complete(error, answer.url, answer.reply)
    result = answer.checked(
        session.credentials,
        partial(_make_summary, names, first_page, rows, totals, (first, last), zone),
    )
    texts = {
        name: cell
        for row in result.rows
        for name, cell in dict(row).items()
        if name in _SUMS and isinstance(cell, str) and any(map(str.isdigit, cell))
    }
    if texts:
        _LOG.warning(
            "The summary has texts that are no plain numbers, so nothing adds them up: %s.",
            ", ".join(f"{name} {cell!r}" for name, cell in texts.items()),
        )
    if group_by is not None:
        if group := _group_twice(rows, group_by):
            error = _other_summary(f"two rows of {group}", f"group_by={group_by}")
            raise session.credentials.complete(error, answer.url, answer.reply)
        _compare_with_totals(result)
    # No field, so it is neither data nor compared.
    vars(result)["_request_id"] = session.credentials.request_id(answer.reply.head)
    return result


def _compare_with_totals(result: "Summary") -> None:
    """Log whether rows are missing by the totals that the service sends beside them.

    That is no error: the service may leave what has no group out of the rows.
    """
    from adanalytics_client.models import SummaryRow

    # Totals of another shape are kept as they were sent.
    totals = dict(result.totals) if isinstance(result.totals, SummaryRow) else {}
    rows = [*map(dict, result.rows)]
    for column in COLUMN_OF_TYPE.values():
        counts = [row.get(column) for row in rows]
        total, numbers = totals.get(column), [count for count in counts if isinstance(count, int)]
        # Fewer is a loss; more may be another definition of the total.
        if isinstance(total, int) and len(numbers) == len(counts) and sum(numbers) < total:
            _LOG.warning(
                "The rows of the summary have %s %s, but its totals have %s: rows may be missing.",
                f"{sum(numbers):,}",
                column,
                f"{total:,}",
            )
            return


def _find_totals(rows: list[_Row], grouping: str, names: FieldNames) -> list[_Row]:
    """Return the row that is no group, but has the counts of all others together, as a list.

    Without the word for it, it may be the row of the events without a group, unless the groups are
    days, which all events have.
    """
    labels = [_labels_of(row, grouping) for row in rows]
    common = {label for label, number in Counter(chain(*labels)).items() if number > 1}
    candidates = [row for row, words in zip(rows, labels, strict=True) if not words - common]
    # One may be of the events without a group.
    if len(candidates) > 2:
        return []
    for row in candidates:
        parts = [part for part in rows if part is not row]
        is_alone = grouping == "day" and len(candidates) == 1
        is_certain = is_alone or any(map(_is_total, row.values()))
        if (
            parts
            and is_certain
            and _is_sum(*(_as_documented(part, names) for part in (row, *parts)))
        ):
            text = "A row of the summary by %s has the sums of all others, so it is no group."
            _LOG.warning(text, grouping)
            return [row]
    return []


def _labels_of(row: _Row, grouping: str) -> set[tuple[str, str]]:
    """Return the cells of a row that may name its group."""
    return {
        (name, json_text(cell))
        for name, cell in row.items()
        if cell not in (None, "")
        and not _is_total(cell)
        and (
            _is_label(name, cell)
            or _grouping_of(name) == grouping
            or (grouping == "day" and any(_days_in({name: cell}, grouping)))
        )
    }


def _is_total(cell: Json) -> bool:
    return isinstance(cell, str) and fold(cell) in _TOTAL_NAMES


def _is_sum(row: _Row, *parts: _Row) -> bool:
    """Return whether a row has the counts of the parts together, and about their revenue."""
    from adanalytics_client.models import SummaryRow

    total, *members = (dict(SummaryRow.model_validate(part)) for part in (row, *parts))
    counts = [name for name in COLUMN_OF_TYPE.values() if isinstance(total[name], int)]
    # Without a count of a known name, all whole numbers must agree.
    counts = counts or [name for name, cell in total.items() if type(cell) is int]
    sums = {
        name: sum(cell for part in members if isinstance(cell := part.get(name), int | Decimal))
        for name in (*counts, "revenue")
    }
    # The money of each row may be rounded.
    revenue, amount = sums.pop("revenue"), total["revenue"]
    is_near = not isinstance(amount, Decimal) or abs(revenue - amount) * 100 <= abs(amount)
    return is_near and any(sums.values()) and all(sums[name] == total[name] for name in sums)


def _make_summary(
    names: FieldNames,
    finding: Found,
    rows: list[_Row],
    totals_rows: Sequence[_Row],
    span: tuple[date, date],
    zone: tzinfo,
) -> "Summary":
    """Make the model of all rows, and of the fields beside those of the first page.

    A row of totals counts unless there are totals beside the rows.
    """
    # Late, because the models take a tenth of a second to import.
    from adanalytics_client.models import Summary

    fields = {key: value for content in finding.containers for key, value in content.items()}
    if isinstance(meta := fields.get("meta"), dict):
        # Its page numbers say nothing about the summary.
        del fields["meta"]
        facts = {key: value for key, value in meta.items() if fold(key) not in _PAGE_NUMBERS}
        fields = facts | fields
    containers = (finding.rows, *finding.records, *finding.containers)
    extras = {
        f"{key}_" if key == "rows" else key: value
        for key, value in fields.items()
        if not any(value is container for container in containers)
    }
    totals = _taken_totals(extras)
    for row in totals_rows if totals is None else ():
        cells = _as_documented(row, names)
        totals = {name: cell for name, cell in cells.items() if name not in GROUP_COLUMNS}
    documented = [_as_documented(row, names) for row in rows]
    dated = [_with_day(row, *span, zone) for row in documented]
    main_fields = {
        # A row whose day is not clear would seem to be of no day beside the others.
        "rows": documented if None in dated else dated,
        "totals": _as_documented(totals, names) if isinstance(totals, dict) else totals,
    }
    return Summary.model_validate({**extras, **main_fields})


def _as_documented(row: dict[str, Json], names: FieldNames) -> dict[str, Json]:
    """Give the columns of a row their documented names; of two spellings, the first one has it.

    Examples:
        >>> _as_documented({"day": "2026-01-15", "eCPM": 1}, DOCUMENTED)
        {'date': '2026-01-15', 'ecpm': 1}
    """
    parts: dict[str, str] = {}
    for name, cell in row.items():
        part = names.documented(name)
        if part not in SUMMARY_COLUMNS:
            part = _PARTS.get(fold(name))
        if part in ID_OF and isinstance(cell, str | int):
            part = f"{part}_name" if isinstance(cell, str) else f"{part}_id"
        if part in SUMMARY_COLUMNS and part not in row:
            parts.setdefault(part, name)
    sent = {name: part for part, name in parts.items()}
    return {sent.get(name, name): cell for name, cell in row.items()}


def _with_day(row: _Row, first: date, last: date, zone: tzinfo) -> _Row | None:
    """Return a row with its day written as documented; None if it may be several days, or none.

    It may be a time at midnight, as JavaScript writes a date, or in another order or notation that
    fits one day of the range.

    Examples:
        >>> _with_day({"date": "1.3.2026"}, date(2026, 2, 27), date(2026, 3, 2), UTC)
        {'date': '2026-03-01'}
    """
    if (cell := row.get("date")) is None:
        return row
    if moment := _moment(cell):
        times = _local(moment, zone, UTC)
        days = {time.date() for time in times if time.time() == datetime.min.time()}
    else:
        days = {day for day in _days_in({"date": cell}, "day", zone) if first <= day <= last}
    return {**row, "date": str(min(days))} if len(days) == 1 else None


def _moment(cell: Json) -> datetime | None:
    """Return the time that a cell is; one without a zone counts as UTC."""
    text = str(cell)
    with suppress(ValueError):
        moment = from_epoch(text)
        if moment is None and _ISO_DAY.match(text):
            moment = datetime.fromisoformat(text)
        return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _local(moment: datetime, *zones: tzinfo) -> Iterator[datetime]:
    """Yield a moment in other zones, as far as the calendar reaches."""
    for zone in zones:
        with suppress(OverflowError):
            yield moment.astimezone(zone)


def _taken_totals(extras: dict[str, Json]) -> Json:
    """Remove the totals from the fields beside the rows; a number may be the count in `total`."""
    for name in ("totals", "total"):
        for key, value in extras.items():
            if fold(key) == name and (isinstance(value, dict) or (value and name == "totals")):
                return extras.pop(key)
    return None


def _refuse_other(
    span: tuple[date, date, tzinfo], grouping: str | None, finding: Found, totals: Sequence[_Row]
) -> None:
    """Refuse a summary of other days, or with another grouping; `totals` are of no group.

    Raises:
        ProtocolError: naming what the response states.
    """
    first, last, zone = span
    # A range may be stated without its end.
    ends = {last, last + timedelta(1)}
    single_row = finding.records if grouping is None and len(finding) == 1 else ()
    for content in (*finding.containers, *single_row):
        metas = [member for member in content.values() if isinstance(member, dict)]
        # Such as meta.range.start; elsewhere may be an earlier period.
        metas += [
            part
            for meta in metas
            for name, part in meta.items()
            if isinstance(part, dict) and fold(name) in _RANGE_NAMES
        ]
        for key, value in chain(content.items(), *(meta.items() for meta in metas)):
            name, is_day = fold(key), isinstance(value, str) and _ISO_DAY.match(value)
            range_days = {*_days_in({"date": value}, None, zone)} if is_day else ends
            if is_day and (
                (name in _START_NAMES and first not in range_days)
                or (name in _END_NAMES and ends.isdisjoint(range_days))
            ):
                raise _other_summary(f"{key}: {value[:100]}", f"{first} to {last}")
            if name == "groupby" and isinstance(value, str) and fold(value) != fold(grouping or ""):
                raise _other_summary(f"{key}: {value[:100]}", f"group_by={grouping}")
    for row in (row for row in finding.records if row not in totals):
        days = sorted(_days_in(row, grouping, zone))
        if days and not any(first <= day <= last for day in days):
            raise _other_summary(f"a row of {days[0]}", "its days")
        if grouping is not None and {*map(fold, row)} <= _METRICS:
            raise _other_groups("rows without a group", grouping)
        groups = {*filter(None, map(_grouping_of, row))}
        # How the service groups without the parameter is not documented.
        if groups and grouping is not None and grouping not in groups:
            raise _other_groups(f"rows by {min(groups)}", grouping)


def _group_twice(rows: Iterable[Mapping[str, Json]], grouping: str) -> str:
    """Name a group with two rows that no other text or id tells apart; empty for none."""
    keys = set()
    for row in rows:
        days = {*_days_in(row, grouping)} if grouping == "day" else set()
        labels = [
            (name, json_text(cell))
            for name, cell in row.items()
            if _is_label(name, cell) and not any(_days_in({name: cell}, grouping))
        ]
        ids = [
            f"{name} {text}"
            for name, text in labels
            if text not in {"null", '""'} and fold(name) == fold(f"{grouping}_id")
        ]
        group = next(iter([*map(str, sorted(days)), *ids]), "")
        # A service may have rows by day and campaign: rows repeat only if nothing tells them apart.
        key = frozenset(days), frozenset(labels)
        if group and key in keys:
            return group
        keys.add(key)
    return ""


def _is_label(name: str, cell: Json) -> bool:
    """Return whether a cell names what its row is about, as an amount does not."""
    name = fold(name)
    is_text = isinstance(cell, str) and not _AMOUNT.fullmatch(cell)
    return name not in _METRICS and (is_text or name.endswith("id"))


def _days_in(row: Mapping[str, Json], grouping: str | None, zone: tzinfo = UTC) -> Iterator[date]:
    """Yield the days that a row of a summary may be of; 12/01/2026 may be two.

    A moment may be of the day of its text, or of the one in the zone of the service.

    Examples:
        >>> [str(day) for day in _days_in({"dt": "20260115", "n": 5}, "day")]
        ['2026-01-15']
    """
    for name, cell in row.items():
        # A figure such as 20260115 is no day, unless the rows are days.
        if name not in DAY_NAMES and (grouping != "day" or fold(name) in _METRICS):
            continue
        text = str(cell)
        if moment := _moment(cell):
            yield from {moment.date(), *(time.date() for time in _local(moment, zone))}
        elif parts := _DAY.fullmatch(text):
            year, _, month, day, first, second, last = parts.groups()
            for numbers in (
                [(year, month, day)] if year else [(last, first, second), (last, second, first)]
            ):
                with suppress(ValueError):
                    yield date(*map(int, numbers))


def _grouping_of(column: str) -> str | None:
    """Return the grouping that a column of a row belongs to, by the names of the reference server.

    Examples:
        >>> _grouping_of("campaignId"), _grouping_of("clicks")
        ('campaign', None)
    """
    return _GROUPINGS.get(fold(column))


_GROUPINGS = {
    **{fold(name): "day" for name in DAY_NAMES},
    **{fold(f"{group}{suffix}"): group for group in ID_OF for suffix in ("", "_id", "_name")},
}
_METRICS = {*map(fold, METRIC_COLUMNS)}
_SUMS = METRIC_COLUMNS - RATES.keys()
_PARTS = {
    **{fold(name): "date" for name in DAY_NAMES},
    # As the other columns are named, after what they count.
    "adrequests": "requests",
    **{fold(name): name for name in (*SUMMARY_COLUMNS, *ID_OF)},
}


def _other_summary(statement: str, query: str, *, code: str = "") -> ProtocolError:
    text = "Try again; if it happens again, look for a caching proxy, or report it to the service."
    return ProtocolError(
        f"The summary has {statement}, but the request was for {query}.",
        remedy=Remedy(text, code=code),
    )


def _other_groups(statement: str, grouping: str) -> ProtocolError:
    return _other_summary(statement, f"group_by={grouping}", code=OTHER_GROUPS)


def _content(answer: Answer[Json]) -> Json:
    """Return the JSON of a response that must have a body."""
    if answer.reply.status == NO_CONTENT:
        raise ProtocolError(
            "The answer has no body (204) instead of an object.", remedy="Try later."
        )
    return answer.value
