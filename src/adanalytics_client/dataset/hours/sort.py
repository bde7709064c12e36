"""Sort events into their hours in bounded memory; what does not fit goes to one file per hour.

Tables come in any order; each hour comes out once. A bulk export is usually in order, so most hours
are one piece, but nothing guarantees that.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from adanalytics_client import ServiceProfile
from adanalytics_client._base.remedies import remedy
from adanalytics_client._json.fields import DOCUMENTED, FieldNames
from adanalytics_client._outputs.arrow.conversion import as_text
from adanalytics_client.dataset.records.layout import Hour
from adanalytics_client.errors import ProtocolError

from .events import Table, hour_columns, int32s, is_of_hour, time_column

BYTES_HELD = 8 * 1024 * 1024
"""The most bytes of Arrow columns, over all keys, that are held before they go to files."""


class HourUnknown(ProtocolError):
    """Events do not say which hour they belong to."""


class Partition:
    """Holds tables by key in bounded memory; what does not fit goes to one file per key.

    The files are in `folder`; at most one of them is open at a time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: dict[Hour | str, list[Table]] = {}
        self._bytes = 0
        self._in_files: set[Hour | str] = set()

    def put(self, key: Hour | str, table: Table) -> None:
        self._tables.setdefault(key, []).append(table)
        self._bytes += table.nbytes
        if self._bytes > BYTES_HELD:
            self._move_to_files()

    def pop(self, key: Hour | str) -> Iterator[Table]:
        """Yield the tables of a key in the order they came, and forget them."""
        path = self._path(key)
        if key in self._in_files:
            self._in_files.discard(key)
            with path.open("rb") as file:
                end = path.stat().st_size
                while file.tell() < end:
                    # A file holds several streams, one for each time that memory was full.
                    for batch in ipc.open_stream(file):
                        yield pa.Table.from_batches([batch])
            path.unlink()
        yield from self._tables.pop(key, ())

    def _move_to_files(self) -> None:
        """Append the held tables to the files: an Arrow stream for each schema in a row."""
        for key, parts in self._tables.items():
            for schema, tables in groupby(parts, lambda table: table.schema):
                table = pa.concat_tables(tables).combine_chunks()
                with self._path(key).open("ab") as file, ipc.new_stream(file, schema) as out:
                    out.write_table(table)
        self._in_files |= self._tables.keys()
        self._tables, self._bytes = {}, 0
        # The pool would keep what it freed, and the limit of memory is that of the process.
        pa.default_memory_pool().release_unused()

    def _path(self, key: Hour | str) -> Path:
        return self._folder / f"{key}.arrows"


class HourPartition(Partition):
    """Takes tables of events and returns them hour by hour.

    If all events belong to one hour that is known beforehand, pass it as `only`. The hours are in
    the time zone `zone`; `names` tell the fields that state them. `rows` counts the events by hour.
    """

    def __init__(
        self,
        folder: Path,
        names: FieldNames = DOCUMENTED,
        only: Hour | None = None,
        zone: str = "UTC",
    ) -> None:
        super().__init__(folder)
        self._names = names
        self._only = only
        self._zone = zone
        self.rows = Counter[Hour]()

    def add(self, table: Table) -> None:
        """Sort the events of a table into their hours.

        Raises:
            HourUnknown: for events that do not say which hour they belong to.
            ProtocolError: for events of an hour other than `only`.
        """
        if not table.num_rows:
            return
        # A service that ignores the hour would fill the hour with all events of the day.
        if self._only and not is_of_hour(table, self._only, self._names, self._zone):
            raise ProtocolError(f"The response to {self._only} holds events of other hours.")
        for hour, part in [(self._only, table)] if self._only else self._by_hour(table):
            self.rows[hour] += part.num_rows
            self.put(hour, part)

    def check_days(self, first: date, last: date, *, are_local: bool = False) -> None:
        """Check that the times of events have the zone of the service: local ones would shift days.

        Local ones of a few hours may stay in their day, so they are refused if they `are_local`.

        Raises:
            HourUnknown: for events of other days than `first` to `last`, and for local times.
        """
        if are_local or any(not first <= hour.day <= last for hour in self.rows):
            raise HourUnknown(
                f"Some events of {first} to {last} have times of other days or without an offset, "
                "so their hours are unknown.",
                remedy="Pull pages, verify without an export, or ask the service for offsets.",
            )

    def _by_hour(self, table: Table) -> Iterator[tuple[Hour, Table]]:
        numbers = _hour_numbers(table, self._names, self._zone)
        for number, part in split_by_key(table, numbers.combine_chunks()):
            yield Hour(date(1970, 1, 1) + timedelta(number // 24), number % 24), part


def split_by_id(table: Table, names: FieldNames, groups: int) -> Iterator[tuple[int, Table]]:
    """Split a table into groups of about equal size; equal events share a group.

    Events with the same id do, too; only without ids are other columns looked at.
    """
    name = names.sent("event_id", table.column_names)
    columns = [table[name]] if name else table.columns
    # Some formats cannot distinguish an empty text from null.
    texts = (pc.fill_null(as_text(column.combine_chunks()), "").to_pylist() for column in columns)
    keys = (hash(row) % groups for row in zip(*texts, strict=True))
    yield from split_by_key(table, int32s(keys))


def _hour_numbers(table: Table, names: FieldNames, zone: str) -> "pa.ChunkedArray":
    """Return the hours of events, numbered from 1970 on."""
    columns = hour_columns(table, names)
    if columns and zone == "UTC":
        days, hours = columns
        for hour in pc.min_max(hours).as_py().values():
            if hour is not None and hour not in range(24):
                raise ProtocolError(f"An event has the event_hour {hour}, which no day has.")
        days, hours = days.cast(pa.int32()), hours.cast(pa.int32())
        return pc.add(pc.multiply(days, int32s([24])[0]), hours)
    # A service whose hours are local may state the day and hour in UTC; only the time has a zone.
    times = time_column(table, names)
    if times is None:
        raise HourUnknown(
            "Some events have no field with a known time, so their hours are unknown.",
            remedy=remedy("time_field"),
        )
    seconds = times.cast(pa.timestamp("s", "UTC"), safe=False).cast(pa.int64())
    # Arrow before version 22 knows no zone such as +05:30, and none at all on some machines. All
    # zones change at quarters of an hour.
    quarters = pc.divide(seconds, 900).combine_chunks().dictionary_encode()
    tz = ServiceProfile(zone=zone).tzinfo()
    hours = int32s(_local_hour(quarter * 900, tz) for quarter in quarters.dictionary.to_pylist())
    return pa.chunked_array([hours.take(quarters.indices)])


def _local_hour(second: int, zone: tzinfo) -> int:
    """Return the local hour of a moment; that of UTC where the calendar ends."""
    with suppress(ValueError, OverflowError):
        second = int(datetime.fromtimestamp(second, zone).replace(tzinfo=UTC).timestamp())
    return second // 3600


def split_by_key(table: Table, keys: "pa.Array") -> Iterator[tuple[int, Table]]:
    """Split a table by the keys of its rows; a table that is not in their order is sorted."""
    runs = pc.run_end_encode(keys)
    values, ends = runs.values.to_pylist(), runs.run_ends.to_pylist()
    if len(set(values)) < len(values):
        # The sort is stable, so rows with one key keep their order.
        order = pc.sort_indices(keys)
        yield from split_by_key(table.take(order), keys.take(order))
        return
    start = 0
    for key, end in zip(values, ends, strict=True):
        yield key, table.slice(start, end - start)
        start = end
