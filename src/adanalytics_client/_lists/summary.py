"""The summary of some days, in all rows of the service's pages."""

from collections.abc import Sequence
from datetime import date, timedelta, tzinfo
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from adanalytics_client._base.dates import ISO_DAY, Day, to_range
from adanalytics_client._base.effects import Operation
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.spelling import fold
from adanalytics_client._base.urls import Params, further_params
from adanalytics_client._base.validation import invalid
from adanalytics_client._call.attempts import Answer
from adanalytics_client._call.session import Session
from adanalytics_client._json.columns import GROUP_COLUMNS, METRIC_COLUMNS
from adanalytics_client._json.exact import Json
from adanalytics_client._json.fields import COLUMN_OF_TYPE, GROUPS, FieldNames
from adanalytics_client._json.rates import RATES
from adanalytics_client._json.rows import Found, find_rows
from adanalytics_client._shapes.changes import find_at
from adanalytics_client.errors import ProtocolError, Remedy

from .pages import body_of, read_pages
from .rows import (
    METRICS,
    Row,
    as_documented,
    days_in,
    find_totals,
    group_twice,
    grouping_of,
    with_day,
)

if TYPE_CHECKING:
    from adanalytics_client.models import Summary


OTHER_GROUPS = "other_groups"
"""The code of the remedy, if the rows of a summary do not name the groups of the request."""

_PAGE_NUMBERS = frozenset({"total", "page", "perpage", "totalpages", "hasmore"})
# Beside the published names, those of Facebook's insights (since, until), Prometheus (start, end)
# and Mixpanel (from_date, to_date).
_START_NAMES = frozenset({"startdate", "start", "since", "from", "fromdate"})
_RANGE_NAMES = frozenset({"range", "daterange", "timerange", "period", "interval"})
_END_NAMES = frozenset({"enddate", "end", "until", "to", "todate"})


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
    records: list[Row] = []
    totals: list[Row] = []

    def find(answer: Answer[Json]) -> Found:
        service, content = session.config.service, body_of(answer)
        rows_key = service.summary.rows_key if service.summary else None
        key = rows_key or service.rows_key
        find = partial(find_rows, content, rows_key=key, extra_name="summary", single=True)
        finding = find_at(service, rows_key, content, find)
        records.extend(finding.records)
        if "group_by" in parameters and not totals:
            totals.extend(find_totals(records, parameters["group_by"], names))
        _refuse_other((first, last, zone), parameters.get("group_by"), finding, totals)
        return finding

    def may_be_cut(finding: Found) -> bool:
        return group_by is not None and len(finding) > 1 and len(finding) - len(totals) != limit

    pages = yield from read_pages(
        session, "summary", parameters, find, params=pairs, may_be_cut=may_be_cut, beside=totals
    )
    answer, first_page = pages[0]
    rows = [row for _, page in pages for row in page.records if row not in totals]
    is_doubtful = bool(rows) and (len(rows) == 1 or group_by == "day")
    if (
        group_by is not None
        and is_doubtful
        and not any((*map(grouping_of, rows[0]), *days_in(rows[0], group_by)))
    ):
        del parameters["group_by"]
        single_page = yield from read_pages(session, "summary", parameters, find, params=pairs)
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
        LOG.warning(
            "The summary has texts that are no plain numbers, so nothing adds them up: %s.",
            ", ".join(f"{name} {cell!r}" for name, cell in texts.items()),
        )
    if group_by is not None:
        if group := group_twice(rows, group_by):
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
            LOG.warning(
                "The rows of the summary have %s %s, but its totals have %s: rows may be missing.",
                f"{sum(numbers):,}",
                column,
                f"{total:,}",
            )
            return


def _make_summary(
    names: FieldNames,
    finding: Found,
    rows: list[Row],
    totals_rows: Sequence[Row],
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
        cells = as_documented(row, names)
        totals = {name: cell for name, cell in cells.items() if name not in GROUP_COLUMNS}
    documented = [as_documented(row, names) for row in rows]
    dated = [with_day(row, *span, zone) for row in documented]
    main_fields = {
        # A row whose day is not clear would seem to be of no day beside the others.
        "rows": documented if None in dated else dated,
        "totals": as_documented(totals, names) if isinstance(totals, dict) else totals,
    }
    return Summary.model_validate({**extras, **main_fields})


def _taken_totals(extras: dict[str, Json]) -> Json:
    """Remove the totals from the fields beside the rows; a number may be the count in `total`."""
    for name in ("totals", "total"):
        for key, value in extras.items():
            if fold(key) == name and (isinstance(value, dict) or (value and name == "totals")):
                return extras.pop(key)
    return None


def _refuse_other(
    span: tuple[date, date, tzinfo], grouping: str | None, finding: Found, totals: Sequence[Row]
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
            name, is_day = fold(key), isinstance(value, str) and ISO_DAY.match(value)
            range_days = {*days_in({"date": value}, None, zone)} if is_day else ends
            if is_day and (
                (name in _START_NAMES and first not in range_days)
                or (name in _END_NAMES and ends.isdisjoint(range_days))
            ):
                raise _other_summary(f"{key}: {value[:100]}", f"{first} to {last}")
            if name == "groupby" and isinstance(value, str) and fold(value) != fold(grouping or ""):
                raise _other_summary(f"{key}: {value[:100]}", f"group_by={grouping}")
    for row in (row for row in finding.records if row not in totals):
        days = sorted(days_in(row, grouping, zone))
        if days and not any(first <= day <= last for day in days):
            raise _other_summary(f"a row of {days[0]}", "its days")
        if grouping is not None and {*map(fold, row)} <= METRICS:
            raise _other_groups("rows without a group", grouping)
        groups = {*filter(None, map(grouping_of, row))}
        # How the service groups without the parameter is not documented.
        if groups and grouping is not None and grouping not in groups:
            raise _other_groups(f"rows by {min(groups)}", grouping)


_SUMS = METRIC_COLUMNS - RATES.keys()


def _other_summary(statement: str, query: str, *, code: str = "") -> ProtocolError:
    text = "Try again; if it happens again, look for a caching proxy, or report it to the service."
    return ProtocolError(
        f"The summary has {statement}, but the request was for {query}.",
        remedy=Remedy(text, code=code),
    )


def _other_groups(statement: str, grouping: str) -> ProtocolError:
    return _other_summary(statement, f"group_by={grouping}", code=OTHER_GROUPS)
