"""The file of an hour or a day: written table by table in its dataset's format, and read back."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial, reduce
from io import BufferedIOBase
from itertools import chain, groupby, islice
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adanalytics_client._base.choices import PartFormat
from adanalytics_client._json.types import became_text, join_columns
from adanalytics_client._outputs.arrow.conversion import as_text
from adanalytics_client.dataset.planning import PullQuery
from adanalytics_client.dataset.records.layout import HOURS, Hour
from adanalytics_client.dataset.records.manifest import (
    UNCONFIRMED,
    FileRecord,
    FinishedHour,
    HourRecord,
    Identity,
)
from adanalytics_client.dataset.schema import free_name
from adanalytics_client.dataset.storage.local import Store

from .events import TEXT, EventTables, Table, to_jsonl
from .ids import Ids
from .sort import HourPartition, split_by_key
from .sums import totals_of
from .totals import Totals

ROWS_PER_GROUP = 32_768
"""Rows of a row group of parquet, and the most rows held as Arrow columns: about 15 MB."""

DAY_EVENTS = 1_000_000
"""A day with more events keeps a file for each hour.

That is about a row group as other writers make them. An engine then has enough in one hour, and to
write such a day anew, because an hour of it was restated, would cost more than its 24 files do.
"""

# Of these, the columns are held as Python texts.
_ROWS_HASHED = 4_096

# They differ in nearly every row, so a dictionary of them only costs space.
_UNIQUE = frozenset({"event_id", "auction_id", "event_time", "received_at"})
# By this, the column of ours is found whatever its name.
_OURS = {b"adanalytics": b"hour"}


@dataclass(slots=True)
class _HourCount:
    """Counts the events of an hour while they are written."""

    hour: Hour
    ids: Ids
    shared_ids: set[int] | None = None
    rows: int = 0
    totals: Totals | None = field(default_factory=Totals)


def write_file(
    hours: Iterable[tuple[Hour, Iterator[Table]]],
    folder: Path,
    identity: Identity,
    asked_at: datetime,
    tables: EventTables,
) -> list[FinishedHour]:
    """Write one file of the hours of a day, in their order, whose tables `tables` made.

    Memory holds one row group, and a number for each event.
    """
    counts, has_hour = list[_HourCount](), identity.partition == "day"

    def counted() -> Iterator[Table]:
        for hour, events in hours:
            count = _HourCount(hour, Ids(tables.names))
            counts.append(count)
            with closing(count.ids):
                for table in filter(len, map(tables.widened, events)):
                    count.rows += table.num_rows
                    count.ids.add(table)
                    count.totals = Totals.sum([count.totals, totals_of(table, tables.names)])
                    yield _stated(hour, table) if has_hour else table
                count.shared_ids = count.ids.shared()

    events = counted()
    first, empty = next(events, None), HourRecord(0, 0, "", asked_at, UNCONFIRMED)
    if first is None:
        return [FinishedHour(count.hour, empty) for count in counts]
    # Several processes may write the same hour of different sections.
    path = folder / f"{counts[0].hour}-{token_hex(8)}.{identity.form}"
    events = chain([first], events)
    if identity.form == "parquet":
        _write_parquet(path, events, tables, has_hour)
    else:
        _write_jsonl(path, events, tables)
    file, rows = _described(path), [count.rows for count in counts]
    shared = file if sum(map(bool, rows)) > 1 else None
    # Of the same types, which no later table widens.
    batch, finished = EventTables(tables.names, tables.types), []
    with closing(HourReader(_open, identity.form)) as reader:
        for count in counts:
            if not count.rows:
                finished.append(FinishedHour(count.hour, empty, shared=shared))
                continue
            size = -(-file.size * count.rows // sum(rows))
            reread = partial(reader.read, str(path), count.hour, batch)
            record = HourRecord(
                count.rows,
                size,
                file.sha256,
                asked_at,
                UNCONFIRMED,
                count.totals,
                repeated=count.ids.repeated(reread, count.shared_ids),
            )
            types = {**tables.types}
            finished.append(
                FinishedHour(count.hour, record, str(path), types, tables.mixed, shared=shared)
            )
    return finished


def _open(name: str) -> BufferedIOBase:
    return Path(name).open("rb")


def is_small(events: int) -> bool:
    """Return whether the hours of a day with so many events become one file."""
    return events <= DAY_EVENTS


def write_day(
    path: Path, hours: Iterable[tuple[Hour, Iterator[Table]]], tables: EventTables
) -> FileRecord:
    """Write the file of several hours in their order; memory holds one row group."""
    events = (_stated(hour, table) for hour, of_hour in hours for table in of_hour)
    _write_parquet(path, events, tables, has_hour=True)
    return _described(path)


def _stated(hour: Hour, table: Table) -> Table:
    """Return a table with the hour in a last column."""
    # Without `pyarrow.array` and `scalar`, which would import pandas.
    numbers = pa.py_buffer(array("q", [hour.hour]) * table.num_rows)
    column = pa.Array.from_buffers(pa.int64(), table.num_rows, [None, numbers])
    return table.append_column(_column_of(table.column_names), column)


def _column_of(names: Sequence[str]) -> pa.Field:
    return pa.field(free_name("hour", names), pa.int64(), metadata=_OURS)


def _described(path: Path) -> FileRecord:
    with path.open("rb") as file:
        return FileRecord(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write_hours(
    query: PullQuery,
    tables: EventTables,
    events: Iterable[Table],
    folder: Path,
    identity: Identity,
    asked_at: datetime,
) -> tuple[list[FinishedHour], int]:
    """Write the files of the wanted hours, and count the events of all hours.

    A day that was over when it was requested, and of which all hours are wanted, is one file if it
    is small and the dataset has files of days.

    The disk needs room for another copy of the events, as Arrow columns; memory needs room only for
    what `HourPartition` holds. All files have the types of all events.
    """
    with TemporaryDirectory(dir=folder) as scratch:
        only = query.wanted[0] if query.hour is not None else None
        partition = HourPartition(Path(scratch), tables.names, only, identity.zone)
        for table in events:
            partition.add(table)
        # Some services have days in a zone and times in UTC, or the other way round.
        if identity.zone != "UTC" and only is None:
            partition.check_days(query.first, query.last, are_local=tables.has_local_times)

        finished = []
        for day, hours in groupby(query.wanted, lambda hour: hour.day):
            pairs = [(hour, partition.pop(hour)) for hour in hours]
            is_day = len(pairs) == HOURS and identity.may_join(day, asked_at)
            is_day = is_day and is_small(sum(partition.rows[hour] for hour, _ in pairs))
            for group in [pairs] if is_day else ([pair] for pair in pairs):
                finished += write_file(group, folder, identity, asked_at, tables)
    return finished, partition.rows.total()


def join_pieces(
    pieces: Sequence[FinishedHour], store: Store, folder: Path, identity: Identity
) -> FinishedHour:
    """Return one hour whose events are in one or more files, in the order of the files."""
    # Most hours are in one part of an export, and need not be written again.
    filled = [piece for piece in pieces if piece.file]
    if len(filled) < 2:
        # An hour without events may be one of a file of its day.
        return next(iter(filled or [piece for piece in pieces if piece.shared] or pieces))
    form, types = identity.form, reduce(join_columns, (piece.types for piece in filled))
    tables, hour = EventTables(identity.names, types, with_texts=form == "jsonl"), filled[0].hour
    with closing(HourReader(store.open, form)) as reader:
        parts = (reader.read(piece.file or "", hour, tables) for piece in filled)
        pair, asked_at = (hour, chain.from_iterable(parts)), filled[0].record.asked_at
        (hour_file,) = write_file([pair], folder, identity, asked_at, tables)
    mixed = [(*piece.mixed, *became_text(piece.types, tables.types)) for piece in filled]
    return replace(hour_file, mixed=tuple(dict.fromkeys(chain.from_iterable(mixed))))


class HourReader:
    """Reads hours from files in order; one file is open, and one row group decoded.

    Hours that are read in their order share row groups, so that each is decoded once.
    """

    def __init__(
        self, open_file: Callable[[str], AbstractContextManager[BufferedIOBase]], form: PartFormat
    ) -> None:
        self._open_file = open_file
        self._form = form
        self._name = ""
        self._opened = ExitStack()
        self._file: Any = None
        self._group = -1
        self._parts: dict[int, Table] = {}

    def close(self) -> None:
        """Close the file."""
        self._name, self._group, self._parts = "", -1, {}
        self._opened.close()

    def read(self, name: str, hour: Hour, tables: EventTables) -> Iterator[Table]:
        """Read the events of an hour from its file, or that of its day, with types of `tables`.

        Raises FileNotFoundError, or whatever pyarrow or the client raises for a damaged file.
        """
        if self._form != "parquet":
            with self._open_file(name) as lines:
                while some := b"".join(islice(lines, ROWS_PER_GROUP)):
                    yield tables.from_jsonl(some)
            return
        if name != self._name:
            self.close()
            self._file = pq.ParquetFile(self._opened.enter_context(self._open_file(name)))
            self._name = name
        schema, metadata = self._file.schema_arrow, self._file.metadata
        hour_name = next((column.name for column in schema if column.metadata == _OURS), "")
        for number in range(metadata.num_row_groups):
            if hour_name:
                # It is the last column.
                group = metadata.row_group(number)
                hours = group.column(group.num_columns - 1).statistics
                if not hours.min <= hour.hour <= hours.max:
                    continue
            if number != self._group:
                # Not by iter_batches, which keeps much of the groups that it has read.
                table = self._file.read_row_group(number, use_threads=False)
                self._group, self._parts = number, {hour.hour: table}
                if hour_name:
                    keys = table[hour_name].combine_chunks()
                    self._parts = dict(split_by_key(table.drop_columns(hour_name), keys))
            part = self._parts.get(hour.hour)
            if part is not None:
                yield tables.widened(part)


def are_equal(one: Callable[[], Iterator[Table]], other: Callable[[], Iterator[Table]]) -> bool:
    """Return whether two hours with as many events have the same ones, whatever their order.

    Nor do types and columns without a value count, if the tables have the types of both.
    """
    return _are_alike(one(), other()) or _digest(one()) == _digest(other())


def _are_alike(one: Iterator[Table], other: Iterator[Table]) -> bool:
    """Return whether tables have the same rows in the same order, however they are divided."""
    rest: Table = ()
    for table in one:
        while len(table):
            rest = rest or next(other)
            size = min(len(table), len(rest))
            if table.slice(0, size) != rest.slice(0, size):
                return False
            table, rest = table.slice(size), rest.slice(size)  # noqa: PLW2901  # the others
    return True


def _digest(events: Iterable[Table]) -> int:
    """Add up a hash of each event. Another process has other digests."""
    return sum(
        hash(event)
        for table in events
        for batch in table.to_batches(max_chunksize=_ROWS_HASHED)
        for event in zip(*(as_text(column).to_pylist() for column in batch.columns), strict=True)
    )


def digest_lines(store: Store, name: str) -> int:
    """Add up a hash of each line of a file of JSON lines, whose texts count."""
    with store.open(name) as file:
        return sum(map(hash, file))


def checksum(store: Store, name: str) -> str | None:
    """Return the SHA-256 of a file in hex, or None if there is no such file."""
    try:
        with store.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _write_parquet(
    path: Path, events: Iterator[Table], tables: EventTables, has_hour: bool
) -> None:
    """Write row groups of one size, whatever the size of the tables; `has_hour`: see `_stated`."""
    buffer, rows, schema = list[Table](), 0, tables.schema
    coded = [name for name in schema.names if name not in _UNIQUE]
    if has_hour:
        schema = schema.append(_column_of(schema.names))
        coded.append(schema.names[-1])
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=coded) as file:

        def write(size: int) -> None:
            nonlocal buffer, rows
            joined = pa.concat_tables(buffer)
            file.write_table(joined.slice(0, size), row_group_size=size)
            buffer, rows = [joined.slice(size)], rows - size

        for table in events:
            buffer.append(table)
            rows += table.num_rows
            while rows >= ROWS_PER_GROUP:
                write(ROWS_PER_GROUP)
        if rows:
            write(rows)


def _write_jsonl(path: Path, events: Iterator[Table], tables: EventTables) -> None:
    """Write JSON lines: the received text of each event, if it is known."""
    with path.open("wb") as file:
        for table in events:
            # An export has columns and no text, so lines are written from its values.
            if TEXT in table.column_names:
                lines = "".join(f"{text}\n" for text in table[TEXT].to_pylist())
                file.write(lines.encode())
            else:
                file.writelines(to_jsonl(table, tables.types, tables.names))
