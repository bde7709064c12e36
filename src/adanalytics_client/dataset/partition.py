"""Sort events into their hours in bounded memory; the excess goes to a file an hour.

Tables come in any order; each hour comes out once. A bulk export is usually in order, so most hours
are one piece, but nothing guarantees that.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from adanalytics_client.dataset.layout import Hour
from adanalytics_client.dataset.tables import Table, hour_keys, int32, is_of_hour
from adanalytics_client.errors import ProtocolError

BYTES_HELD = 16 * 1024 * 1024
"""The most bytes of Arrow columns, over all hours, that are held before they go to files."""


class HourUnknown(ProtocolError):
    """Events do not say which hour they belong to."""


class HourPartition:
    """Takes tables of events and returns them hour by hour.

    Args:
        folder: for the files of hours; at most one of them is open at a time.
        only: the hour of all events, if it is known beforehand.
    """

    def __init__(self, folder: Path, only: Hour | None = None) -> None:
        self._folder = folder
        self._only = only
        self.rows = 0
        self._held: dict[Hour, list[Table]] = {}
        self._bytes = 0
        self._in_files: set[Hour] = set()

    def add(self, table: Table) -> None:
        """Sort the events of a table into their hours.

        Raises:
            HourUnknown: for events that do not say which hour they belong to.
            ProtocolError: for events of another hour than `only`.
        """
        if self._only and not is_of_hour(table, self._only):
            raise ProtocolError(f"The answer to {self._only} holds events of other hours.")
        self.rows += table.num_rows
        for hour, part in [(self._only, table)] if self._only else _by_hour(table):
            self._held.setdefault(hour, []).append(part)
            self._bytes += part.nbytes
        if self._bytes > BYTES_HELD:
            self._move_to_files()

    def hours(self) -> list[Hour]:
        """List the hours that have events, in order."""
        return sorted({*self._held, *self._in_files})

    def take(self, hour: Hour) -> Iterator[Table]:
        """Yield the events of an hour in the order they came, and forget them."""
        path = self._path(hour)
        if hour in self._in_files:
            self._in_files.discard(hour)
            yield from _read_streams(path)
            path.unlink()
        yield from self._held.pop(hour, ())

    def _move_to_files(self) -> None:
        """Append the held events to the files, as one Arrow stream each."""
        for hour, tables in self._held.items():
            table = pa.concat_tables(tables)
            with self._path(hour).open("ab") as file, ipc.new_stream(file, table.schema) as out:
                out.write_table(table)
        self._in_files |= self._held.keys()
        self._held, self._bytes = {}, 0
        pa.default_memory_pool().release_unused()

    def _path(self, hour: Hour) -> Path:
        return self._folder / f"{hour}.arrows"


def _read_streams(path: Path) -> Iterator[Table]:
    with path.open("rb") as file:
        end = path.stat().st_size
        while file.tell() < end:
            for batch in ipc.open_stream(file):
                yield pa.Table.from_batches([batch])


def _by_hour(table: Table) -> Iterator[tuple[Hour, Table]]:
    """Split a table into its hours; one that is not in order is filtered."""
    if not table.num_rows:
        return
    keys = hour_keys(table)
    if keys is None:
        raise HourUnknown(
            "Some events have no event_date and event_hour, so their hours are unknown."
        )
    runs = pc.run_end_encode(keys)
    values, ends = runs.values.to_pylist(), runs.run_ends.to_pylist()
    if len(set(values)) < len(values):
        for key in sorted(set(values)):
            yield _hour_of(key), table.filter(pc.equal(keys, int32(key)))
        return
    start = 0
    for key, end in zip(values, ends, strict=True):
        yield _hour_of(key), table.slice(start, end - start)
        start = end


def _hour_of(key: int) -> Hour:
    days, hour = divmod(key, 24)
    return Hour(date(1970, 1, 1) + timedelta(days), hour)
