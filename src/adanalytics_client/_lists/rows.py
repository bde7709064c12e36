"""What the rows of a summary are about: their groups, days and totals."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from itertools import chain

from adanalytics_client._base.dates import moment_of
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.spelling import fold
from adanalytics_client._json.columns import METRIC_COLUMNS, SUMMARY_COLUMNS
from adanalytics_client._json.exact import Json, json_text
from adanalytics_client._json.fields import COLUMN_OF_TYPE, ID_OF, FieldNames

DAY_NAMES = ("date", "day", "event_date")
"""Names that a service may give the day of a row; the first is published by the server here."""

_DAY = re.compile(
    r"(\d{4})([-/.]?)(\d\d)\2(\d\d)(?:[T ].*)?|(\d\d?)[-/.](\d\d?)[-/.](\d{4})", re.ASCII
)
_AMOUNT = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?%?", re.ASCII)
_TOTAL_NAMES = frozenset({"total", "totals", "grandtotal", "subtotal", "sum", "overall"})
Row = dict[str, Json]


def find_totals(rows: list[Row], grouping: str, names: FieldNames) -> list[Row]:
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
            and _is_sum(*(as_documented(part, names) for part in (row, *parts)))
        ):
            text = "A row of the summary by %s has the sums of all others, so it is no group."
            LOG.warning(text, grouping)
            return [row]
    return []


def _labels_of(row: Row, grouping: str) -> set[tuple[str, str]]:
    """Return the cells of a row that may name its group."""
    return {
        (name, json_text(cell))
        for name, cell in row.items()
        if cell not in (None, "")
        and not _is_total(cell)
        and (
            _is_label(name, cell)
            or grouping_of(name) == grouping
            or (grouping == "day" and any(days_in({name: cell}, grouping)))
        )
    }


def _is_total(cell: Json) -> bool:
    return isinstance(cell, str) and fold(cell) in _TOTAL_NAMES


def _is_sum(row: Row, *parts: Row) -> bool:
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


def as_documented(row: dict[str, Json], names: FieldNames) -> dict[str, Json]:
    """Give the columns of a row their documented names; of two spellings, the first one has it.

    Examples:
        >>> as_documented({"day": "2026-01-15", "eCPM": 1}, DOCUMENTED)
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


def with_day(row: Row, first: date, last: date, zone: tzinfo) -> Row | None:
    """Return a row with its day written as documented; None if it may be several days, or none.

    It may be a time at midnight, as JavaScript writes a date, or in another order or notation that
    fits one day of the range.

    Examples:
        >>> with_day({"date": "1.3.2026"}, date(2026, 2, 27), date(2026, 3, 2), UTC)
        {'date': '2026-03-01'}
    """
    if (cell := row.get("date")) is None:
        return row
    if moment := moment_of(cell):
        times = _local(moment, zone, UTC)
        days = {time.date() for time in times if time.time() == datetime.min.time()}
    else:
        days = {day for day in days_in({"date": cell}, "day", zone) if first <= day <= last}
    return {**row, "date": str(min(days))} if len(days) == 1 else None


def _local(moment: datetime, *zones: tzinfo) -> Iterator[datetime]:
    """Yield a moment in other zones, as far as the calendar reaches."""
    for zone in zones:
        with suppress(OverflowError):
            yield moment.astimezone(zone)


def group_twice(rows: Iterable[Mapping[str, Json]], grouping: str) -> str:
    """Name a group with two rows that no other text or id tells apart; empty for none."""
    keys = set()
    for row in rows:
        days = {*days_in(row, grouping)} if grouping == "day" else set()
        labels = [
            (name, json_text(cell))
            for name, cell in row.items()
            if _is_label(name, cell) and not any(days_in({name: cell}, grouping))
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
    return name not in METRICS and (is_text or name.endswith("id"))


def days_in(row: Mapping[str, Json], grouping: str | None, zone: tzinfo = UTC) -> Iterator[date]:
    """Yield the days that a row of a summary may be of; 12/01/2026 may be two.

    A moment may be of the day of its text, or of the one in the zone of the service.

    Examples:
        >>> [str(day) for day in days_in({"dt": "20260115", "n": 5}, "day")]
        ['2026-01-15']
    """
    for name, cell in row.items():
        # A figure such as 20260115 is no day, unless the rows are days.
        if name not in DAY_NAMES and (grouping != "day" or fold(name) in METRICS):
            continue
        text = str(cell)
        if moment := moment_of(cell):
            yield from {moment.date(), *(time.date() for time in _local(moment, zone))}
        elif parts := _DAY.fullmatch(text):
            year, _, month, day, first, second, last = parts.groups()
            for numbers in (
                [(year, month, day)] if year else [(last, first, second), (last, second, first)]
            ):
                with suppress(ValueError):
                    yield date(*map(int, numbers))


def grouping_of(column: str) -> str | None:
    """Return the grouping that a column of a row belongs to, by the names of the reference server.

    Examples:
        >>> grouping_of("campaignId"), grouping_of("clicks")
        ('campaign', None)
    """
    return _GROUPINGS.get(fold(column))


_GROUPINGS = {
    **{fold(name): "day" for name in DAY_NAMES},
    **{fold(f"{group}{suffix}"): group for group in ID_OF for suffix in ("", "_id", "_name")},
}
METRICS = {*map(fold, METRIC_COLUMNS)}
_PARTS = {
    **{fold(name): "date" for name in DAY_NAMES},
    # As the other columns are named, after what they count.
    "adrequests": "requests",
    **{fold(name): name for name in (*SUMMARY_COLUMNS, *ID_OF)},
}
