"""The file of an hour: written table by table in the format of its dataset, and read back."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime
from functools import partial, reduce
from io import BufferedIOBase
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adanalytics_client._json.types import became_text, join_columns
from adanalytics_client._outputs.arrow.conversion import as_text
from adanalytics_client.dataset.hours.events import TEXT, EventTables, Table, to_jsonl
from adanalytics_client.dataset.hours.ids import Ids
from adanalytics_client.dataset.hours.sort import HourPartition, HourUnknown, split_by_key
from adanalytics_client.dataset.hours.sums import totals_of
from adanalytics_client.dataset.hours.totals import Totals
from adanalytics_client.dataset.planning import Query
from adanalytics_client.dataset.records.layout import Hour, PartFormat
from adanalytics_client.dataset.records.manifest import (
    UNCONFIRMED,
    FileRecord,
    FinishedHour,
    HourRecord,
    Identity,
)
from adanalytics_client.dataset.schema import hour_column
from adanalytics_client.dataset.storage.local import Store

ROWS_PER_GROUP = 32_768
"""Rows of a row group of parquet, and the most rows held as Arrow columns: about 15 MB."""

# Of these, the columns are held as Python texts.
_ROWS_HASHED = 4_096

# They differ in nearly every row, so a dictionary of them only costs space.
_UNIQUE = frozenset({"event_id", "auction_id", "event_time", "received_at"})
# By this, the column of ours is found whatever its name.
_OURS = {b"adanalytics": b"hour"}


def write_hour(
    hour: Hour,
    events: Iterator[Table],
    folder: Path,
    identity: Identity,
    asked_at: datetime,
    tables: EventTables,
) -> FinishedHour:
    """Write the file of an hour, whose tables `tables` made; memory holds one row group and ids."""
    rows, form = 0, identity.form
    totals: Totals | None = Totals()
    with closing(Ids(tables.names)) as ids:

        def counted(events: Iterable[Table]) -> Iterator[Table]:
            nonlocal rows, totals
            for table in events:
                rows += table.num_rows
                ids.add(table)
                totals = Totals.sum([totals, totals_of(table, tables.names)])
                yield table

        filled = (tables.widened(table) for table in events if table.num_rows)
        first = next(filled, None)
        if first is None:
            return FinishedHour(hour, HourRecord(0, 0, "", asked_at, UNCONFIRMED))
        # Several processes may write the same hour of different sections.
        path = folder / f"{hour}-{token_hex(8)}.{form}"
        whole = counted(chain([first], filled))
        if form == "parquet":
            is_stated = identity.partition == "day"
            _write_parquet(path, _stated(hour, whole) if is_stated else whole, tables, is_stated)
        else:
            _write_jsonl(path, whole, tables)
        file = _described(path)
        record = HourRecord(rows, file.size, file.sha256, asked_at, UNCONFIRMED, totals)
        batch = EventTables(tables.names, tables.types)
        repeated = ids.repeated(partial(_read_again, path, form, batch))
        return FinishedHour(hour, record, str(path), repeated, {**tables.types}, tables.mixed)


def write_day(
    path: Path, hours: Iterable[tuple[Hour, Iterator[Table]]], tables: EventTables
) -> FileRecord:
    """Write the file of several hours in their order; memory holds one row group."""
    events = chain.from_iterable(_stated(hour, of_hour) for hour, of_hour in hours)
    _write_parquet(path, events, tables, has_hour=True)
    return _described(path)


def _stated(hour: Hour, events: Iterator[Table]) -> Iterator[Table]:
    """Yield tables with the hour in a last column."""
    for table in events:
        # Without `pyarrow.array` and `scalar`, which would import pandas.
        numbers = pa.py_buffer(array("q", [hour.hour]) * table.num_rows)
        column = pa.Array.from_buffers(pa.int64(), table.num_rows, [None, numbers])
        yield table.append_column(_column_of(table.column_names), column)


def _column_of(names: Sequence[str]) -> pa.Field:
    return pa.field(hour_column(names), pa.int64(), metadata=_OURS)


def _described(path: Path) -> FileRecord:
    with path.open("rb") as file:
        return FileRecord(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write_hours(
    query: Query,
    tables: EventTables,
    events: Iterable[Table],
    folder: Path,
    identity: Identity,
    asked_at: datetime,
    wrote: Callable[[FinishedHour], None] = lambda _: None,
) -> tuple[list[FinishedHour], int]:
    """Write the files of the wanted hours, and count the events of all hours.

    `wrote` is called with each hour that is done.

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
            _check_days(query, partition)
        finished = []
        for hour in query.wanted:
            events_of_hour = partition.take(hour)
            done = write_hour(hour, events_of_hour, folder, identity, asked_at, tables)
            finished.append(done)
            wrote(done)
    return finished, partition.rows


def _check_days(query: Query, partition: HourPartition) -> None:
    """Check that the times of events have the zone of the service: local ones would shift days."""
    if any(not query.first <= day <= query.last for day in partition.days()):
        raise HourUnknown(
            f"Some events of {query} have times of other days, so their hours are unknown."
        )


def join_pieces(
    pieces: Sequence[FinishedHour], store: Store, folder: Path, identity: Identity
) -> FinishedHour:
    """Return one hour whose events are in one or more files, in the order of the files."""
    # Most hours are in one part of an export, and need not be written again.
    filled = [piece for piece in pieces if piece.file] or pieces[:1]
    if len(filled) == 1:
        return filled[0]
    form, types = identity.form, reduce(join_columns, (piece.types for piece in filled))
    tables = EventTables(identity.names, types, with_texts=form == "jsonl")
    parts = (read_part(store, piece.file or "", form, tables) for piece in filled)
    events, asked_at = chain.from_iterable(parts), filled[0].record.asked_at
    hour_file = write_hour(filled[0].hour, events, folder, identity, asked_at, tables)
    mixed = [(*piece.mixed, *became_text(piece.types, tables.types)) for piece in filled]
    return replace(hour_file, mixed=tuple(dict.fromkeys(chain.from_iterable(mixed))))


def read_part(store: Store, name: str, form: PartFormat, tables: EventTables) -> Iterator[Table]:
    """Read the events of a file in order, with the types of `tables`; memory holds a row group.

    Raises FileNotFoundError, or whatever pyarrow or the client raises for a damaged file.
    """
    with store.open(name) as file:
        yield from _read(file, form, tables)


class HourReader:
    """Reads hours from the file of their day; one file is open, and one row group decoded.

    Hours that are read in their order share row groups, so that each is decoded once.
    """

    def __init__(self, store: Store, form: PartFormat) -> None:
        self._store = store
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
        """Read the events of an hour; raises as `read_part`."""
        if self._form != "parquet":
            yield from read_part(self._store, name, self._form, tables)
            return
        if name != self._name:
            self.close()
            self._file = pq.ParquetFile(self._opened.enter_context(self._store.open(name)))
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
                table = self._file.read_row_group(number, use_threads=False)
                keys = table[hour_name].combine_chunks() if hour_name else None
                split = (
                    split_by_key(table.drop_columns(hour_name), keys)
                    if hour_name
                    else [(-1, table)]
                )
                self._group, self._parts = number, dict(split)
            part = self._parts.get(hour.hour if hour_name else -1)
            if part is not None:
                yield tables.widened(part)


def _read_again(path: Path, form: PartFormat, tables: EventTables) -> Iterator[Table]:
    with path.open("rb") as file:
        yield from _read(file, form, tables)


def _read(file: BufferedIOBase, form: PartFormat, tables: EventTables) -> Iterator[Table]:
    if form == "parquet":
        # Not by iter_batches, which keeps much of the groups that it has read.
        groups = pq.ParquetFile(file)
        hour_names = [column.name for column in groups.schema_arrow if column.metadata == _OURS]
        for number in range(groups.num_row_groups):
            table = groups.read_row_group(number, use_threads=False)
            yield tables.widened(table.drop_columns(hour_names))
    else:
        while lines := list(islice(file, ROWS_PER_GROUP)):
            yield tables.from_jsonl(b"".join(lines))


def digest_events(events: Iterable[Table]) -> int:
    """Add up a hash of each event; the same events have the same digest, whatever their order.

    Nor do types and columns without a value count, if the tables have the types of all that are
    compared. Another process has other digests.
    """
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
