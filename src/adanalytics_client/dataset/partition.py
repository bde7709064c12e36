"""Sort events into their hours in bounded memory: what does not fit lies in a file an hour.

Tables of any order come in; hours come out, each once. A bulk export is in order, so that most
hours are held in one piece, but nobody promises that it is.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from adanalytics_client import ProtocolError
from adanalytics_client.dataset.arrow_events import Table
from adanalytics_client.dataset.arrow_library import arrow_module, whole_number
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.memory_pool import release_memory
from adanalytics_client.dataset.table_totals import is_of_hour

BYTES_HELD = 16 * 1024 * 1024
"""Arrow columns that are held, over all hours, before they go to files."""


class HourUnknown(ProtocolError):
    """Events do not say which hour they belong to."""


class HourSpill:
    """Takes tables of events and gives them back hour by hour.

    Args:
        folder: for the files of hours; at most one of them is open at a time.
        only: the one hour that all events are of, where that is known beforehand.
    """

    def __init__(self, folder: Path, only: Hour | None = None) -> None:
        self._folder = folder
        self._only = only
        self.rows = 0
        self._held: dict[Hour, list[Table]] = {}
        self._bytes = 0
        self._spilled: set[Hour] = set()

    def add(self, table: Table) -> None:
        """Sort the events of a table in.

        Raises HourUnknown for events that do not say which hour they belong to, and ProtocolError
        for those of another hour than the only one.
        """
        if self._only and not is_of_hour(table, self._only):
            raise ProtocolError(f"The answer to {self._only} holds events of other hours.")
        self.rows += table.num_rows
        for hour, part in [(self._only, table)] if self._only else _by_hour(table):
            self._held.setdefault(hour, []).append(part)
            self._bytes += part.nbytes
        if self._bytes > BYTES_HELD:
            self._spill()

    def hours(self) -> list[Hour]:
        """The hours that have events, in order."""
        return sorted({*self._held, *self._spilled})

    def take(self, hour: Hour) -> Iterator[Table]:
        """The events of an hour in the order they came; they are gone afterwards."""
        path = self._path(hour)
        if hour in self._spilled:
            self._spilled.discard(hour)
            yield from _read_segments(path)
            path.unlink()
        yield from self._held.pop(hour, ())

    def _spill(self) -> None:
        """Append what is held to the files, as one stream of Arrow each."""
        for hour, tables in self._held.items():
            _append(self._path(hour), tables)
        self._spilled |= self._held.keys()
        self._held = {}
        self._bytes = 0
        release_memory()

    def _path(self, hour: Hour) -> Path:
        return self._folder / f"{hour}.arrows"


def _append(path: Path, tables: list[Table]) -> None:
    arrow, ipc = arrow_module(), arrow_module("pyarrow.ipc")
    table = arrow.concat_tables(tables)
    with path.open("ab") as file, ipc.new_stream(file, table.schema) as out:
        out.write_table(table)


def _read_segments(path: Path) -> Iterator[Table]:
    arrow, ipc = arrow_module(), arrow_module("pyarrow.ipc")
    with path.open("rb") as file:
        end = path.stat().st_size
        while file.tell() < end:
            for batch in ipc.open_stream(file):
                yield arrow.Table.from_batches([batch])


def _by_hour(table: Table) -> Iterator[tuple[Hour, Table]]:
    """The parts of a table that belong to one hour; one that is in order is only cut."""
    arrow, compute = arrow_module(), arrow_module("pyarrow.compute")
    if not table.num_rows:
        return
    if table["event_date"].null_count or table["event_hour"].null_count:
        raise HourUnknown(
            "Some events have no event_date and event_hour; with --via pages each hour is asked "
            "for by itself."
        )
    days = table["event_date"].cast(arrow.int32())
    keys = compute.add(
        compute.multiply(days, whole_number(24)),
        table["event_hour"].cast(arrow.int32()),
    )
    runs = compute.run_end_encode(keys.combine_chunks())
    runs = runs.chunk(0) if hasattr(runs, "num_chunks") else runs
    values, ends = runs.values.to_pylist(), runs.run_ends.to_pylist()
    if len(set(values)) < len(values):
        for key in sorted(set(values)):
            yield _hour_of(key), table.filter(compute.equal(keys, whole_number(key)))
        return
    begin = 0
    for key, end in zip(values, ends, strict=True):
        yield _hour_of(key), table.slice(begin, end - begin)
        begin = end


def _hour_of(key: int) -> Hour:
    days, hour = divmod(key, 24)
    return Hour(date(1970, 1, 1) + timedelta(days), hour)
