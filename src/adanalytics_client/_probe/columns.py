"""The fields of events: types, roles and forms, and which of them add up to a summary."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from adanalytics_client._base.dates import EPOCH, ISO_DAY, moment_of
from adanalytics_client._base.spelling import fold
from adanalytics_client._json.exact import Json, json_text
from adanalytics_client._json.fields import DOCUMENTED, Kind, column_of_type
from adanalytics_client._shapes.service import ColumnProfile, JsonType, Nulls, Role

Rows = Sequence[Mapping[str, Json]]

_TYPES: Mapping[type, JsonType] = {
    bool: "flag",
    int: "integer",
    Decimal: "number",
    str: "text",
    dict: "object",
    list: "list",
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d(:\d\d)?(?:\.(\d{1,9}))?(Z|[+-]\d\d(:?\d\d)?)?", re.ASCII
)
_AMOUNT = re.compile(r"-?\d+(?:\.(\d+))?", re.ASCII)
_UNITS = {0: "seconds", 3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}
MINUTE = timedelta(minutes=1)
_MOST_OF = 0.95
# The offsets in the database of time zones, also in summer.
_OFFSETS = [
    *(60 * MINUTE * hours for hours in range(-12, 15)),
    *(30 * MINUTE * halves for halves in (-19, -7, -5, 7, 9, 11, 13, 19, 21)),
    *(15 * MINUTE * quarters for quarters in (23, 35, 51, 55)),
]


def column_profiles(rows: Rows) -> dict[str, ColumnProfile]:
    """Describe each field of some rows, in the order of first appearance."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column_profile(name, [row.get(name) for row in rows]) for name in names}


def _column_profile(name: str, values: Sequence[Json]) -> ColumnProfile:
    present = [value for value in values if value is not None]
    if not present:
        return ColumnProfile("null", nulls="always")
    types = {_TYPES[type(value)] for value in present}
    # An encoder of floats may write 1 among 0.5.
    types -= {"integer"} if "number" in types else set()
    texts = [value if isinstance(value, str) else json_text(value) for value in present]
    json_type: JsonType = next(iter(types)) if len(types) == 1 else "mixed"
    role, form = _role(name, json_type, texts)
    nulls: Nulls = "never" if len(present) == len(values) else "some"
    longest, power = max(map(len, texts)), 1
    while power < longest:
        power *= 10
    return ColumnProfile(json_type, role, nulls, power, form)


def _role(name: str, json_type: JsonType, texts: Sequence[str]) -> tuple[Role | None, str]:
    # From the surest sign to the weakest: most values would fit several roles.
    if json_type == "flag" or (json_type == "integer" and {*texts} <= {"0", "1"}):
        return "flag", ""
    if json_type in {"object", "list", "mixed"}:
        return None, ""
    if json_type == "text" and all(map(ISO_DAY.fullmatch, texts)):
        return "date", ""
    if (form := _form(texts, _time_form)) is not None:
        return "time", form
    if all(map(_UUID.fullmatch, texts)):
        return "id", "uuid"
    if fold(name).endswith("id") or DOCUMENTED.kind(name) is Kind.ID:
        return "id", ""
    is_fraction = json_type == "number" or any("." in text for text in texts)
    if is_fraction and (form := _form(texts, _amount_form)) is not None:
        return "money", form
    return None, ""


def _form(texts: Sequence[str], form_of: Callable[[str], str | None]) -> str | None:
    """Return the form that texts share; empty for several forms, None if a text has none."""
    forms = {form_of(text) for text in texts}
    if None in forms:
        return None
    return next(iter(forms)) if len(forms) == 1 else ""


def _time_form(text: str) -> str | None:
    if epoch := EPOCH.fullmatch(text):
        fraction = f".{'f' * len(epoch[3])}" if epoch[3] else ""
        return f"epoch {_UNITS[len(epoch[2])]}{fraction}"
    if not (time := _TIME.fullmatch(text)):
        return None
    separator, seconds, fraction, zone, minutes = time.groups()
    shape = f"YYYY-MM-DD{separator}hh:mm{':ss' if seconds else ''}"
    shape += f".{'f' * len(fraction)}" if fraction else ""
    offset = "+hh" + re.sub(r"\d\d", "mm", minutes or "")
    return shape + ("" if zone is None else "Z" if zone == "Z" else offset)


def _amount_form(text: str) -> str | None:
    amount = _AMOUNT.fullmatch(text)
    return f"{len(amount[1] or '')} digits" if amount else None


def time_column(columns: Mapping[str, ColumnProfile]) -> str | None:
    """Return the field with the time of an event: under a documented name, else the only time."""
    column = DOCUMENTED.sent("event_time", columns)
    if column:
        return column
    times = [name for name, column in columns.items() if column.role == "time"]
    return times[0] if len(times) == 1 else None


def offsets_of(moments: Sequence[datetime], day: date, hour: int | None = None) -> set[timedelta]:
    """Return the offsets from UTC by which all moments are in a day, or in one hour of it.

    Examples:
        >>> moment = datetime(2026, 1, 15, 7, 30, tzinfo=UTC)
        >>> fitting = offsets_of([moment, moment + 59 * MINUTE], date(2026, 1, 15), 13)
        >>> [str(offset) for offset in fitting]
        ['5:30:00']
    """
    begin = datetime(day.year, day.month, day.day, hour or 0, tzinfo=UTC)
    end = begin + (timedelta(days=1) if hour is None else 60 * MINUTE)
    ordered, size = sorted(moments), len(moments)
    counts = {
        offset: bisect_left(ordered, end - offset) - bisect_left(ordered, begin - offset)
        for offset in _OFFSETS
    }
    # Without any that fits all, a few events may be late.
    smallest = size if size in counts.values() else _MOST_OF * size
    return {offset for offset, count in counts.items() if count >= max(1, smallest)}


def likely_offset(offsets: set[timedelta]) -> timedelta | None:
    """Return UTC if it is among fitting offsets, else the only one."""
    if timedelta(0) in offsets:
        return timedelta(0)
    return next(iter(offsets)) if len(offsets) == 1 else None


def zone_text(offset: timedelta) -> str:
    """Return an offset as the zone of a `ServiceProfile`.

    Examples:
        >>> zone_text(timedelta(hours=-5)), zone_text(timedelta(0))
        ('-05:00', 'UTC')
    """
    if not offset:
        return "UTC"
    minutes = abs(offset) // MINUTE
    return f"{'-' if offset < timedelta(0) else '+'}{minutes // 60:02}:{minutes % 60:02}"


def sums(
    rows: Rows, columns: Mapping[str, ColumnProfile], summary: Mapping[str, Json]
) -> dict[str, str]:
    """Return the field of events that adds up to each column of a summary, by the column.

    `event_type` stands for the number of events of the column's type. Rows that are filtered count
    if the sums agree only with them. A sum of zero shows nothing.
    """
    filtered = DOCUMENTED.sent("is_filtered", columns)
    groups = [rows]
    if filtered:
        groups.insert(0, [row for row in rows if row.get(filtered) not in (True, 1)])
    ties = {}
    for group in groups:
        totals = {name: total for name in columns if (total := _sum(group, name)) is not None}
        added_types = _types(group, columns)
        for column, cell in summary.items():
            amount = _number(cell)
            if not amount or column in ties:
                continue
            if added_types.get(fold(column)) == amount:
                ties[column] = "event_type"
                continue
            # A constant adds up to a number of events, whatever it is.
            names = [
                name
                for name, total in totals.items()
                if total == amount and len({str(row.get(name)) for row in group}) > 1
            ]
            same = [name for name in names if fold(name) == fold(column)]
            if len(names) == 1 or same:
                ties[column] = (same or names)[0]
    return ties


def _types(rows: Rows, columns: Mapping[str, ColumnProfile]) -> dict[str, int]:
    """Count the events of each type under the folded name of the summary's column."""
    name = DOCUMENTED.sent("event_type", columns) or ""
    types = (column_of_type(row.get(name)) for row in rows)
    return Counter(fold(column) for column in types if column)


def _sum(rows: Rows, name: str) -> Decimal | None:
    numbers = [_number(row.get(name)) for row in rows if row.get(name) is not None]
    return None if None in numbers else sum(filter(None, numbers), Decimal(0))


def _number(value: Json) -> Decimal | None:
    if isinstance(value, str):
        return Decimal(value) if _AMOUNT.fullmatch(value) else None
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return Decimal(value) if is_number else None


def order_of(rows: Rows, columns: Mapping[str, ColumnProfile]) -> str | None:
    """Return the first time whose values never descend; empty for none, None without times."""
    order = None
    for name in [name for name, column in columns.items() if column.role == "time"]:
        moments = [moment for row in rows if (moment := moment_of(row.get(name)))]
        # Equal times show no order.
        if len(moments) < len(rows) or len({*moments}) < 2:
            continue
        if moments == sorted(moments):
            return name
        order = ""
    return order
