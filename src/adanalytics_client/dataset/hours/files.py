"""The file of an hour: written table by table in the format of its dataset, and read back."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial, reduce
from io import BufferedIOBase
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from adanalytics_client._json.types import became_text, join_columns
from adanalytics_client._outputs.arrow.conversion import as_text
from adanalytics_client.dataset.hours.events import TEXT, EventTables, Table, to_jsonl
from adanalytics_client.dataset.hours.ids import Ids
from adanalytics_client.dataset.hours.sort import HourPartition, HourUnknown
from adanalytics_client.dataset.hours.sums import totals_of
from adanalytics_client.dataset.hours.totals import Totals
from adanalytics_client.dataset.planning import Query
from adanalytics_client.dataset.records.layout import Hour, PartFormat
from adanalytics_client.dataset.records.manifest import (
    UNCONFIRMED,
    FinishedHour,
    HourRecord,
    Identity,
)
from adanalytics_client.dataset.storage.local import Store

ROWS_PER_GROUP = 32_768
"""Rows of a row group of parquet, and the most rows held as Arrow columns: about 15 MB."""

# Of these, the columns are held as Python texts.
_ROWS_HASHED = 4_096

# They differ in nearly every row, so a dictionary of them only costs space.
_UNIQUE = frozenset({"event_id", "auction_id", "event_time", "received_at"})


def write_hour(
    hour: Hour,
    events: Iterator[Table],
    folder: Path,
    form: PartFormat,
    asked_at: datetime,
    tables: EventTables,
) -> FinishedHour:
    """Write the file of an hour, whose tables `tables` made; memory holds one row group and ids."""
    rows = 0
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
            _write_parquet(path, whole, tables.schema)
        else:
            _write_jsonl(path, whole, tables)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        size = path.stat().st_size
        record = HourRecord(rows, size, sha256, asked_at, UNCONFIRMED, totals)
        again = EventTables(tables.names, tables.types)
        repeated = ids.repeated(partial(_read_again, path, form, again))
        return FinishedHour(hour, record, str(path), repeated, {**tables.types}, tables.mixed)


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
        if identity.zone != "UTC" and only is None:
            _check_days(query, partition)
        finished = []
        for hour in query.wanted:
            events_of_hour = partition.take(hour)
            done = write_hour(hour, events_of_hour, folder, identity.form, asked_at, tables)
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
    filled = [piece for piece in pieces if piece.file] or pieces[:1]
    if len(filled) == 1:
        return filled[0]
    form, types = identity.form, reduce(join_columns, (piece.types for piece in filled))
    tables = EventTables(identity.names, types, with_texts=form == "jsonl")
    parts = (read_part(store, piece.file or "", form, tables) for piece in filled)
    events, asked_at = chain.from_iterable(parts), filled[0].record.asked_at
    written = write_hour(filled[0].hour, events, folder, form, asked_at, tables)
    mixed = [(*piece.mixed, *became_text(piece.types, tables.types)) for piece in filled]
    return replace(written, mixed=tuple(dict.fromkeys(chain.from_iterable(mixed))))


def read_part(
    store: Store, name: str, form: PartFormat, tables: EventTables, rows: range | None = None
) -> Iterator[Table]:
    """Read the events of a file in order, with the types of `tables`; memory holds a row group.

    With `rows`, only the row groups of Parquet that begin at one of these rows are read.

    Raises FileNotFoundError, or whatever pyarrow or the client raises for a damaged file.
    """
    with store.open(name) as file:
        yield from _read(file, form, tables, rows)


def _read_again(path: Path, form: PartFormat, tables: EventTables) -> Iterator[Table]:
    with path.open("rb") as file:
        yield from _read(file, form, tables)


def _read(
    file: BufferedIOBase, form: PartFormat, tables: EventTables, rows: range | None = None
) -> Iterator[Table]:
    if form == "parquet":
        # Not by iter_batches, which keeps much of the groups that it has read.
        groups, begin = pq.ParquetFile(file), 0
        for number in range(groups.num_row_groups):
            if rows is None or begin in rows:
                yield tables.widened(groups.read_row_group(number, use_threads=False))
            begin += groups.metadata.row_group(number).num_rows
    else:
        while lines := list(islice(file, ROWS_PER_GROUP)):
            yield tables.from_jsonl(b"".join(lines))


def digest_events(store: Store, name: str, form: PartFormat, tables: EventTables) -> int:
    """Add up a hash of each event of a file; files of the same events have the same digest.

    The order of the events does not count, nor do types and columns without a value in parquet, if
    `tables` have the types of all files that are compared. In JSON lines, the texts count. Another
    process has other digests.
    """
    if form == "jsonl":
        with store.open(name) as file:
            return sum(map(hash, file))
    return sum(
        hash(event)
        for table in read_part(store, name, form, tables)
        for batch in table.to_batches(max_chunksize=_ROWS_HASHED)
        for event in zip(*(as_text(column).to_pylist() for column in batch.columns), strict=True)
    )


def checksum(store: Store, name: str) -> str | None:
    """Return the SHA-256 of a file in hex, or None if there is no such file."""
    try:
        with store.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _write_parquet(path: Path, tables: Iterator[Table], schema: pa.Schema) -> None:
    """Write row groups of one size, whatever the size of the tables."""
    held, rows = list[Table](), 0
    coded = [name for name in schema.names if name not in _UNIQUE]
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=coded) as file:

        def write(size: int) -> None:
            nonlocal held, rows
            joined = pa.concat_tables(held)
            file.write_table(joined.slice(0, size), row_group_size=size)
            held, rows = [joined.slice(size)], rows - size

        for table in tables:
            held.append(table)
            rows += table.num_rows
            while rows >= ROWS_PER_GROUP:
                write(ROWS_PER_GROUP)
        if rows:
            write(rows)


def _write_jsonl(path: Path, events: Iterator[Table], tables: EventTables) -> None:
    """Write JSON lines: the received text of each event, if it is known."""
    with path.open("wb") as file:
        for table in events:
            if TEXT in table.column_names:
                lines = "".join(f"{text}\n" for text in table[TEXT].to_pylist())
                file.write(lines.encode())
            else:
                file.writelines(to_jsonl(table, tables.types, tables.names))
