"""The rows of a service file: its columns, with values of the events or made from their ids.

A column that has the part of a documented field has the event's value, in the type and form of the
file. Any other column has a value of its type, role and length, the same for the same event.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from hashlib import blake2b
from operator import itemgetter
from typing import Any
from uuid import UUID

import msgspec

from adanalytics_server.api.summaries import measures_of
from adanalytics_server.clock import EPOCH
from adanalytics_server.dialect import Row, RowChange, SummaryChange
from adanalytics_server.storage.dimensions import GROUP_COLUMNS
from adanalytics_server.storage.events import COUNTER_OF, EVENT_FIELDS
from adanalytics_server.storage.money import NANOS, divided, nanos_from_canonical, text_from_nanos

from .service_file import Column, ServiceFile, Summary, zone_of

Value = Callable[[Row], object]


def fold(name: str) -> str:
    """Return letters and digits in lower case: services write one name in several ways."""
    return "".join(filter(str.isalnum, name.lower()))


_TIMES = ("event_time", "received_at")
_AMOUNTS = ("revenue", "cost")
_UUIDS = ("event_id", "auction_id")
# The time of an event in the log files of ad servers, and in Elasticsearch.
_EVENT_PARTS = {"ymdh": "event_time", "timestamp": "event_time"} | {
    fold(name): name for name in EVENT_FIELDS
}
_SUMMARY_PARTS = {fold(name): name for name in (*GROUP_COLUMNS, *measures_of([0] * 14))}
# The event type that a column counts, by the names of both and by those of log files.
_TYPES = {"usablerequests": "ad_request"} | {
    fold(name): event_type
    for event_type, counter in COUNTER_OF.items()
    for name in (event_type, f"{event_type}s", counter)
}
# Fields that many events lack already.
_OFTEN_NULL = frozenset(
    ("demand_tag_id", "campaign_id", "creative_id", "deal_id", "domain", "app_bundle", "error_code")
)
# The fields whose longest values have more than ten characters.
_LONG = frozenset((*_UUIDS, "event_type", "device_type", "domain", "app_bundle"))
_UNKNOWN = Column(type="text", longest=10)
_PER_SECOND = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_MICROSECOND = timedelta(microseconds=1)
_TIME_TOKEN = re.compile(r"YYYY|MM|DD|[+-][0-9]{2}:?[0-9]{2}$|[+±-]hh:?mm$|[+±]hh$|hh|mm|ss|Z$")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DIGITS = re.compile(r"([0-9]+) digits?")


class Parts:
    """Which documented field a field of the service stands for; see ``ServiceProfile.fields``."""

    def __init__(self, file: ServiceFile) -> None:
        self._part_names = {name: part for part, name in file.fields.items()}
        if file.time_field:
            self._part_names[file.time_field] = "event_time"

    def of_event(self, name: str) -> str | None:
        """Return the field of an event, or ``None``."""
        return self._of(name, _EVENT_PARTS)

    def of_summary(self, name: str) -> str | None:
        """Return the column of a summary, or ``None``."""
        return self._of(name, _SUMMARY_PARTS)

    def counted_type(self, name: str) -> str | None:
        """Return the event type that a column counts, or ``None``."""
        return _TYPES.get(fold(self._part_names.get(name, name)))

    def _of(self, name: str, documented: Mapping[str, str]) -> str | None:
        if name in self._part_names:
            part = self._part_names[name]
            return part if part in documented.values() else None
        part = documented.get(fold(name), "")
        return part if part and part not in self._part_names.values() else None


def row_change(file: ServiceFile, names: tuple[str, ...] = ()) -> RowChange:
    """Return the change of events to the columns of a file, or to those of ``names``."""
    parts, zone = Parts(file), zone_of(file.zone)
    # With a field of types, a column such as `impressions` is a figure and no counter.
    has_types = any(parts.of_event(name) == "event_type" for name in file.columns)
    columns = file.columns if not names else {name: _column(file, name) for name in names}

    def value_of(name: str, column: Column) -> Value:
        part = parts.of_event(name)
        event_type = None if part or has_types else parts.counted_type(name)
        if column.type == "null" or column.nulls == "always":
            return lambda _event: None
        value = _value(name, column, part, event_type, zone)
        if column.nulls == "never":
            return value
        # Null where the event itself is, so that sums and groups stay those of the events.
        if part in _OFTEN_NULL:
            return lambda event: None if event[part] is None else value(event)
        return lambda event: None if _number(event, f"{name}?") % 4 == 0 else value(event)

    values = {name: value_of(name, column) for name, column in columns.items()}
    return lambda events: [
        {name: value(event) for name, value in values.items()} for event in events
    ]


def _column(file: ServiceFile, name: str) -> Column:
    """Return what is known of a column of an exported file: that of the field on the pages."""
    parts = Parts(file)
    for field, column in file.columns.items():
        if name == field or fold(name) == fold(field):
            return column
    part = parts.of_event(name)
    same = (column for field, column in file.columns.items() if parts.of_event(field) == part)
    return next(same, _UNKNOWN) if part else _UNKNOWN


def _number(event: Row, name: str) -> int:
    """Return a number of 63 bits that depends on the id of an event and a name only."""
    digest = blake2b(f"{event['event_id']}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def _value(
    name: str, column: Column, part: str | None, event_type: str | None, zone: tzinfo
) -> Value:
    """Return the function from an event to the value of a column, other than null."""
    if event_type is not None:
        # A counter that was seen above 1 counts more than one event in a row.
        limit = 2 if column.longest == 1 else 10 ** (column.longest // 10)
        count = limit if column.role != "flag" and column.type == "integer" else 1
        return lambda event: _typed(count * (event["event_type"] == event_type), column)
    if part in _TIMES or part == "event_date" or column.role in ("time", "date"):
        # A date is that of the event in the zone, not the stored one in UTC.
        is_date = part == "event_date" or column.role == "date"
        write = _time(column, zone, is_date=is_date)
        source = "received_at" if part == "received_at" else "event_time"
        return lambda event: write(datetime.fromisoformat(event[source]))
    if part == "event_hour":
        return lambda event: _typed(
            datetime.fromisoformat(event["event_time"]).astimezone(zone).hour, column
        )
    if part in _AMOUNTS:
        # An amount that an event lacks is none.
        return lambda event: _amount(nanos_from_canonical(event[part] or "0"), column)
    if part is None or column.type == "mixed":
        return _synthetic(name, column)
    if part == "is_filtered":
        return lambda event: _flag(event[part], column)
    if part in _UUIDS:
        # The same id again where another event has it.
        if column.type == "text" and column.form == "uuid":
            return itemgetter(part)
        return lambda event: _made(UUID(event[part]).int >> 65, name, column)
    synthetic, is_long = _synthetic(name, column), part in _LONG
    return lambda event: (
        synthetic(event) if event[part] is None else _fitted(event[part], column, is_long=is_long)
    )


def _synthetic(name: str, column: Column) -> Value:
    """Return the function from an event to a value that depends on its id only."""
    if column.role == "money":
        return lambda event: _amount(_number(event, name) % 10**7, column)
    if column.type == "flag" or column.role == "flag":
        return lambda event: _flag(_number(event, name) % 2 == 1, column)
    if column.role == "id":
        return lambda event: _made(_number(event, name), name, column)
    # Values of an id differ, those of any other field come again.
    return lambda event: _made(_number(event, name) % 7, name, column)


def _typed(number: int, column: Column) -> object:
    match column.type:
        case "text":
            return str(number)
        case "number":
            return msgspec.Raw(f"{number}.0".encode())
        case "flag":
            return bool(number)
        case _:
            return number


def _flag(is_set: bool, column: Column) -> object:
    if column.type == "text" and column.longest > 1:
        return str(is_set).lower()
    return is_set if column.type == "flag" else _typed(int(is_set), column)


def _least(column: Column) -> int:
    """Return the fewest characters of a longest value of a column."""
    return column.longest // 10 + 1


def _made(number: int, name: str, column: Column) -> object:
    """Return a value of the type and length of a column, the same for the same number."""
    match column.type:
        case "integer":
            return _integer(number, column)
        case "number":
            digits = int(match[1]) if (match := _DIGITS.match(column.form)) else _least(column) + 2
            # A last digit of 0 would be dropped by others.
            text = f"{number * 10 + 1 + number % 9:0{digits}}"[-digits:]
            return msgspec.Raw(f"0.{text}".encode())
        case "object":
            return {"key": _word(number, name, max(1, _least(column) - 10))}
        case "list":
            return [_word(number, name, max(1, _least(column) - 4))]
        case "mixed" if number % 2:
            return _integer(number, column)
        case _ if column.form == "uuid":
            return str(UUID(bytes=blake2b(f"{number}/{name}".encode(), digest_size=16).digest()))
        case _:
            return _word(number, name, min(_least(column) + 8, column.longest))


def _integer(number: int, column: Column) -> int:
    """Return a number with as many digits as fit a column, the same for the same number."""
    if column.longest == 1:
        return number % 10
    if column.longest == 10:
        return 10 + number % (10**9)
    if column.longest == 100:
        # Of 18 digits, which 63 bits hold.
        return 10**17 + number % (9 * 10**17)
    return int(10 ** (column.longest // 10)) + number


def _word(number: int, name: str, length: int) -> str:
    digest = blake2b(f"{number}/{name}".encode(), digest_size=32).hexdigest()
    # A letter first: digits alone would look like a number.
    return f"v{digest * (length // len(digest) + 1)}"[:length]


def _fitted(content: Any, column: Column, *, is_long: bool) -> object:  # noqa: ANN401  # any JSON value
    """Return the event's own value in the type of a column, with a length that fits it."""
    if column.type == "object" and isinstance(content, dict):
        return content
    text = content if isinstance(content, str) else json.dumps(content)
    if column.type == "text" and column.form != "uuid":
        if column.longest > (100 if is_long else 10):
            text = f"{text}-{_word(0, text, _least(column))}"
        return text[: column.longest]
    if column.type == "number" and isinstance(content, int):
        return _typed(content, column)
    is_fit = _least(column) <= len(text) <= column.longest
    if column.type == "integer" and isinstance(content, int) and is_fit:
        return content
    return _made(int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 1, "", column)


def _amount(nanos: int, column: Column) -> object:
    if column.type == "integer":
        # Micros, the usual unit of whole numbers.
        return nanos // 1000
    if match := _DIGITS.match(column.form):
        text = divided(nanos, NANOS, digits=int(match[1])) or ""
    else:
        # Without a number of digits of its own, as few as the amount needs.
        text = text_from_nanos(nanos).rstrip("0")
        text += "0" if text.endswith(".") else ""
    text = text.rstrip(".")
    return text if column.type != "number" else msgspec.Raw(text.encode())


def _time(column: Column, zone: tzinfo, *, is_date: bool) -> Callable[[datetime], object]:
    """Return the function from a moment to its value in a column."""
    if column.form.startswith("epoch") or (column.type in ("integer", "number") and not is_date):
        unit, _, fraction = column.form.removeprefix("epoch ").partition(".")
        per_second = _PER_SECOND.get(unit, 1 if column.longest <= 10 else 1000)
        digits = len(fraction) or (3 if column.type == "number" else 0)
        return lambda moment: _since_epoch(
            (moment - EPOCH) // _MICROSECOND, per_second, digits, column
        )
    write = _writer(column.form or ("YYYY-MM-DD" if is_date else "YYYY-MM-DDThh:mm:ss.fffZ"), zone)
    if column.type == "integer":
        return lambda moment: int(write(moment).replace("-", ""))
    return write


def _since_epoch(microseconds: int, per_second: int, digits: int, column: Column) -> object:
    number = microseconds * per_second * 10**digits // 10**6
    if not digits:
        return _typed(number, column)
    # Written out, with all its digits: a float might have others.
    units, rest = divmod(abs(number), 10**digits)
    text = f"{'-' if number < 0 else ''}{units}.{rest:0{digits}}"
    return msgspec.Raw(text.encode()) if column.type == "number" else text


def _writer(form: str, zone: tzinfo) -> Callable[[datetime], str]:
    """Return the function that writes moments in a form such as ``YYYY-MM-DD hh:mm:ss.fff+hh:mm``.

    A form that ends in ``Z`` or in an offset is written there, any other in the zone.
    """
    last = (_TIME_TOKEN.findall(form) or [""])[-1]
    if last == "Z":
        zone = UTC
    elif re.fullmatch(r"[+-][0-9:]+", last):
        zone = zone_of(f"{last[:3]}:{last[-2:]}")
    codes = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "hh": "%H", "mm": "%M", "ss": "%S"}

    def token(match: re.Match[str]) -> str:
        text = match[0]
        if text[0] in "+±-":
            # Its colon is put in later: %:z is not on every machine.
            return "%z"
        return codes.get(text, text)

    digits = len(max(re.findall("f+", form), default="", key=len))
    has_colon = ":" in last
    code = re.sub("f+", "{}", _TIME_TOKEN.sub(token, form))

    def write(moment: datetime) -> str:
        local = moment.astimezone(zone)
        text = local.strftime(code).replace("{}", f"{local.microsecond:06}000"[:digits])
        if last.endswith("hh"):
            return text[:-2]
        return f"{text[:-2]}:{text[-2:]}" if has_colon else text

    return write


def summary_change(file: ServiceFile) -> SummaryChange | None:
    """Return the change of the rows of a summary, or ``None`` if the file names no columns."""
    if file.summary is None or not file.summary.columns:
        return None
    return _Summary(file, file.summary).rows


class _Summary:
    def __init__(self, file: ServiceFile, summary: Summary) -> None:
        self._columns, self._sums = summary.columns, summary.sums
        self._fields = file.columns
        self._parts, self._zone = Parts(file), zone_of(file.zone)
        self._served: RowChange = row_change(file) if file.columns else list
        shows_filtered = any(self._parts.of_event(name) == "is_filtered" for name in file.columns)
        # Columns that add up the pages' rows add up all of them, unless the rows say which not.
        self._counts_all = bool(self._sums) and bool(file.columns) and not shows_filtered

    def rows(
        self, rows: list[Row], group_by: str | None, events: Callable[[], list[Row]]
    ) -> list[Row]:
        """Return the rows of a summary by the events that are served for its days."""
        # The query has checked the word, whose type is a str here.
        columns = self._columns.get(group_by or "none")  # type: ignore[call-overload]
        if not columns:
            return rows
        counted_events = [
            event for event in events() if self._counts_all or not event["is_filtered"]
        ]
        names = {row.get(f"{group_by}_id"): row.get(f"{group_by}_name") for row in rows}
        groups: dict[Any, list[tuple[Row, Row]]] = {} if group_by else {None: []}
        for event, row in zip(counted_events, self._served(counted_events), strict=True):
            groups.setdefault(self._key(event, group_by), []).append((event, row))
        return [
            self._row(columns, _group(group_by, key, names), groups[key])
            for key in sorted(groups, key=lambda key: (key is None, key))
        ]

    def _key(self, event: Row, group_by: str | None) -> object:
        if group_by == "day":
            moment = datetime.fromisoformat(event["event_time"])
            return moment.astimezone(self._zone).date().isoformat()
        return event[f"{group_by}_id"] if group_by else None

    def _row(self, columns: tuple[str, ...], group: Row, pairs: Sequence[tuple[Row, Row]]) -> Row:
        """Return a row of the events of a group, each with its served row."""
        facts = group | measures_of(_sums([event for event, _ in pairs]))
        parts = {column: self._parts.of_summary(column) for column in columns}
        group_facts = [fact for name, fact in group.items() if name not in parts.values()]
        totals = self._columns.get("none", ())
        row = {}
        for column, part in parts.items():
            if column in self._sums:
                row[column] = self._sum(column, pairs)
            elif part in facts:
                row[column] = facts[part]
            elif column not in totals and group_facts:
                # The first columns that only this grouping has are its own, whatever their names.
                row[column] = group_facts.pop(0)
            else:
                row[column] = _number({"event_id": json.dumps(group)}, column) % 1000
        return row

    def _sum(self, column: str, pairs: Sequence[tuple[Row, Row]]) -> object:
        field = self._sums[column]
        if self._parts.of_event(field) == "event_type":
            event_type = self._parts.counted_type(column)
            return sum(event["event_type"] == event_type for event, _ in pairs)
        field_column = self._fields.get(field, _UNKNOWN)
        # Of the served values, which may have fewer digits than the stored ones.
        total = sum((_decimal(row.get(field)) for _, row in pairs), Decimal())
        if field_column.type in ("integer", "flag"):
            return int(total)
        if not pairs and (match := _DIGITS.match(field_column.form)):
            total = total.scaleb(-int(match[1]))
        return msgspec.Raw(f"{total:f}".encode()) if field_column.type == "number" else f"{total:f}"


def _group(group_by: str | None, key: object, names: Mapping[object, object]) -> Row:
    if group_by is None:
        return {}
    if group_by == "day":
        return {"date": key}
    return {f"{group_by}_id": key, f"{group_by}_name": names.get(key)}


def _sums(events: Sequence[Row]) -> list[int]:
    """Return the sums of ``MEASURES`` over events."""
    counts = Counter(event["event_type"] for event in events)
    amounts = [
        sum(nanos_from_canonical(event[name]) for event in events if event[name] is not None)
        for name in _AMOUNTS
    ]
    revenue, cost = amounts
    return [*(counts[name] for name in COUNTER_OF), 0, revenue, 0, cost]


def _decimal(value: object) -> Decimal:
    text = bytes(value).decode() if isinstance(value, msgspec.Raw) else str(value)
    # A text that was seen as a number may be served as a word.
    return Decimal(text) if _NUMBER.fullmatch(text) else Decimal()
