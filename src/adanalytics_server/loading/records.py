"""Turn the mapped rows of a file into records ready to be stored.

An event without an id gets one: the UUIDv5 of the whole event and of the number of equal events
before it in the file. So two equal impressions stay two, and loading the same rows again, in any
order, adds nothing.
"""

from collections.abc import Collection, Iterable, Iterator
from collections.abc import Mapping as Row
from typing import Any
from uuid import UUID, uuid5

from adanalytics_server.clock import MILLISECONDS_PER_HOUR, rfc3339
from adanalytics_server.storage.events import LogEvent, Record, encode_event, record_of
from adanalytics_server.storage.money import text_from_nanos

from .mapping import Mapping
from .values import NAME_FIELDS, REQUIRED_FIELDS

# uuid5(NAMESPACE_URL, ...) of "urn:adanalytics:event" and "urn:adanalytics:auction".
EVENT_NAMESPACE = UUID("1a2909e7-d44a-5a90-9977-026baab27fba")
AUCTION_NAMESPACE = UUID("7da683c0-072d-5f74-95d3-f3b009c60d71")

_EMPTY_EVENT_ID = b'{"event_id":""'
_AUCTION_ID = b'"auction_id":"'

_LONGEST_LIST = 200


class FieldError(ValueError):
    """An invalid value for the named field of an event; the caller adds the line number."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def auction_of(event_id: str) -> str:
    """Derive a missing auction id: the UUIDv5 of the event id's canonical text."""
    return str(uuid5(AUCTION_NAMESPACE, event_id))


def named(records: Iterable[Record]) -> Iterator[Record]:
    """Give an id to each record without one.

    The hashed name is the occurrence in decimal, from 0, a line feed, and the body with an empty
    string for each id that is still to be derived. The records come sorted, so that equal bodies
    without an id are adjacent.
    """
    last_body = b""
    occurrence = 0
    for record in records:
        if record.event_id:
            yield record
            continue
        # Equal rows stand side by side: the number of equal rows before tells them apart, so that
        # the same file again gives the same ids.
        occurrence = occurrence + 1 if record.body == last_body else 0
        last_body = record.body
        yield _with_id(record, occurrence)


def _with_id(record: Record, occurrence: int) -> Record:
    event_id = uuid5(EVENT_NAMESPACE, f"{occurrence}\n{record.body.decode()}")
    text = str(event_id)
    # The first match is the field: no text of the file comes before it. Look for the empty id right
    # there, because key_values may have the same key.
    start, name, end = record.body.partition(_AUCTION_ID)
    auction = auction_of(text).encode() if end.startswith(b'"') else b""
    head = start.replace(_EMPTY_EVENT_ID, f'{{"event_id":"{text}"'.encode(), 1)
    return record._replace(event_id=event_id.bytes, body=head + name + auction + end)


def _build_record(values: Row[str, Any], *, partner_id: str, currency: str) -> Record:
    """Build the record of an event from the parsed values that are not null.

    Without ``event_id`` the record's id is empty, in the body too, until ``named`` fills it in.
    """
    time: int = values["event_time"].milliseconds
    arrival: int = values.get("received_at", values["event_time"]).milliseconds
    revenue: int = values.get("revenue", 0)
    cost: int | None = values.get("cost")
    event_id: str = values.get("event_id", "")
    event_time = rfc3339(time)
    facts = {
        "event_date": event_time[:10],
        "event_hour": time // MILLISECONDS_PER_HOUR % 24,
        "partner_id": partner_id,
        "currency": currency,
    }
    _check_together(values, facts)
    fields = {
        **values,
        **facts,
        "event_id": event_id,
        "event_time": event_time,
        "received_at": event_time if arrival == time else rfc3339(arrival),
        "auction_id": values.get("auction_id") or (event_id and auction_of(event_id)),
        "revenue": text_from_nanos(revenue),
        "cost": None if cost is None else text_from_nanos(cost),
    }
    event = LogEvent(**fields)
    return record_of(event, encode_event(event), time=time)


def _check_together(values: Row[str, Any], facts: Row[str, Any]) -> None:
    # A file may repeat what follows from other fields, but not contradict it.
    for field, value in facts.items():
        if values.get(field, value) != value:
            source = "this partner" if field in ("partner_id", "currency") else "event_time"
            raise FieldError(field, f"{values[field]!r} contradicts {source}: expected {value!r}")
    if "domain" in values and "app_bundle" in values:
        raise FieldError("app_bundle", "an event has a domain or an app_bundle, not both")
    if "error_code" in values and values["event_type"] != "error":
        raise FieldError("error_code", f"only error events have one, not {values['event_type']}")


class Normalizer:
    """Makes the records of one file, for one partner.

    Attributes:
        names: ``(dimension, id) -> name``, the last name of each id.
        times_without_zone: timestamps so far without a zone, read as UTC.
    """

    def __init__(self, *, partner_id: str, currency: str, mapping: Mapping) -> None:
        self.names: dict[tuple[int, int], str] = {}
        self.times_without_zone = 0
        self._partner_id = partner_id
        self._currency = currency
        self._mapping = mapping
        self._by_column = mapping.fields_by_column()
        self._constants: dict[str, Any] = {
            field: value for field, value in mapping.constants.items() if value is not None
        }

    def check_columns(self, columns: Collection[str]) -> None:
        """Check that the columns of a file include all that are needed.

        Raises:
            FieldError: a mapped column, or the column of a required field, is missing.
        """
        # A file with other separators has one column, which shows them.
        names = ", ".join(map(repr, columns)) or "none"
        others = names if len(names) <= _LONGEST_LIST else f"{names[:_LONGEST_LIST]}..."
        for field, column in self._mapping.columns.items():
            if column not in columns:
                raise FieldError(field, f"the file has no column {column!r} among {others}")
        # Before the first row: a misspelt column would leave out every row, and the load would
        # succeed.
        for column, _ in self._mapping.where:
            if column not in columns:
                raise FieldError("--where", f"the file has no column {column!r} among {others}")
        for field in REQUIRED_FIELDS:
            if field not in (*columns, *self._mapping.columns, *self._mapping.constants):
                words = f"the file has no such column among {others}; {_ways_to_give(field)}"
                raise FieldError(field, words)

    def ignored(self, columns: Collection[str]) -> tuple[str, ...]:
        """Return the columns that set no field, in order."""
        sources = {*self._by_column, *(column for column, _ in self._mapping.where)}
        return tuple(column for column in columns if column not in sources)

    def record(self, row: Row[str, object]) -> Record | None:
        """Turn a row into a record; its id is empty if the row has none.

        Return ``None`` for a row that a condition leaves out.

        Raises:
            FieldError: a value breaks its field's rule, is missing, or contradicts another.
        """
        if not self._mapping.takes(row):
            return None
        values = self._given(row)
        for field in REQUIRED_FIELDS:
            if field not in values:
                raise FieldError(field, f"the row has no value; {_ways_to_give(field)}")
        self._take_names(values)
        for field in ("event_time", "received_at"):
            # Counted and told, because a log in local time would be hours off without an error.
            if field in values and not values[field].zoned:
                self.times_without_zone += 1
        return _build_record(values, partner_id=self._partner_id, currency=self._currency)

    def _given(self, row: Row[str, object]) -> dict[str, Any]:
        """Parse the values that are not null."""
        values = self._constants.copy()
        for column, value in row.items():
            if value is None or value == "":
                continue
            for field, rule in self._by_column.get(column, ()):
                try:
                    # All cells of a CSV file are text: save a call for each.
                    values[field] = rule.parse(value) if type(value) is str else rule.read(value)
                except ValueError as error:
                    place = "" if column == field else f" (column {column!r})"
                    raise FieldError(field, f"{error}{place}") from error
        return values

    def _take_names(self, values: dict[str, Any]) -> None:
        """Move the names, which are not fields of the event, from a row to ``names``."""
        for name_field, dimension in NAME_FIELDS.items():
            name = values.pop(name_field, None)
            if name is None:
                continue
            # A summary finds names by ids, so a name alone would never be seen.
            if (id_ := values.get(dimension.id_field)) is None:
                raise FieldError(
                    name_field, f"the row has the name {name!r} but no {dimension.id_field}"
                )
            self.names[dimension.number, id_] = name


def _ways_to_give(field: str) -> str:
    return f"use --map {field}=COLUMN or --set {field}=VALUE"
