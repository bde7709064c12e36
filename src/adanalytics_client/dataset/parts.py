"""The file of an hour: written table by table in the format of its dataset, and read back."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from adanalytics_client.dataset.layout import Hour, PartFormat, part_name
from adanalytics_client.dataset.store import Store
from adanalytics_client.dataset.tables import (
    TEXT,
    EventTables,
    Ids,
    Table,
    to_cells,
    to_jsonl,
    totals_of,
)
from adanalytics_client.dataset.totals import Totals

ROWS_PER_GROUP = 32_768
"""Rows of a row group of parquet, and the most rows held as Arrow columns: about 15 MB."""

# They differ in nearly every row, so a dictionary of them only costs space.
_UNIQUE = frozenset({"event_id", "auction_id", "event_time", "received_at"})
_BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FinishedHour:
    """An hour whose file is complete and ready to be moved to its name.

    Attributes:
        hour: the hour.
        rows: events in it.
        path: its file; None for an hour without events.
        size: bytes of the file.
        sha256: checksum of the file, in hex.
        totals: counts and money; None if the events lack the fields to count them.
        repeated: events with the id of an earlier one.
    """

    hour: Hour
    rows: int
    path: Path | None = None
    size: int = 0
    sha256: str = ""
    totals: Totals | None = None
    repeated: int = 0


def write_hour(
    hour: Hour, events: Iterator[Table], folder: Path, form: PartFormat, schema: "pa.Schema"
) -> FinishedHour:
    """Write the file of an hour; memory holds one row group and `IDS_HELD` ids."""
    path, part = folder / f"{hour}.{form}", None
    rows, totals = 0, Totals()
    known: Totals | None = totals
    with closing(Ids()) as ids:
        try:
            for table in events:
                if not table.num_rows:
                    continue
                part = part or _open_part(path, form, schema)
                part.add(table)
                rows += table.num_rows
                ids.add(table)
                known = Totals.sum([known, totals_of(table)])
        finally:
            if part is not None:
                part.close()
        if not rows:
            return FinishedHour(hour, 0, totals=totals)
        return FinishedHour(hour, rows, path, *_measure(path), known, ids.repeated())


def read_part(store: Store, hour: Hour, form: PartFormat, tables: EventTables) -> Iterator[Table]:
    """Read the events of an hour in order; memory holds `ROWS_PER_GROUP` of them.

    Raises FileNotFoundError, and what pyarrow or the client raise for a damaged file.
    """
    with store.open(part_name(hour, form)) as file:
        if form == "parquet":
            for batch in pq.ParquetFile(file).iter_batches(batch_size=ROWS_PER_GROUP):
                yield pa.Table.from_batches([batch])
        elif form == "csv":
            yield from tables.from_csv(file)
        else:
            while lines := list(islice(file, ROWS_PER_GROUP)):
                yield tables.from_jsonl(b"".join(lines))


def checksum(store: Store, name: str) -> str | None:
    """Return the SHA-256 of a file in hex; None when there is none."""
    digest = hashlib.sha256()
    try:
        with store.open(name) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def _measure(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return path.stat().st_size, digest.hexdigest()


class _Part(Protocol):
    def add(self, table: Table) -> None:
        """Write events."""

    def close(self) -> None:
        """Write the remaining rows, and close the file."""


def _open_part(path: Path, form: PartFormat, schema: "pa.Schema") -> _Part:
    if form == "parquet":
        return _ParquetPart(path, schema)
    return _JsonlPart(path) if form == "jsonl" else _CsvPart(path, schema)


class _ParquetPart:
    """Row groups of one size, whatever the size of the tables."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        self._file = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_dictionary=[name for name in schema.names if name not in _UNIQUE],
        )
        self._held: list[Table] = []
        self._rows = 0

    def add(self, table: Table) -> None:
        self._held.append(table)
        self._rows += table.num_rows
        while self._rows >= ROWS_PER_GROUP:
            self._write(ROWS_PER_GROUP)

    def close(self) -> None:
        if self._rows:
            self._write(self._rows)
        self._file.close()

    def _write(self, rows: int) -> None:
        held = pa.concat_tables(self._held)
        self._file.write_table(held.slice(0, rows), row_group_size=rows)
        self._held = [held.slice(rows)]
        self._rows -= rows


class _JsonlPart:
    """JSON lines: the received text of each event, if it is known."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def add(self, table: Table) -> None:
        if TEXT in table.column_names:
            lines = "".join(f"{text}\n" for text in table[TEXT].to_pylist())
            self._file.write(lines.encode())
        else:
            self._file.writelines(to_jsonl(table))

    def close(self) -> None:
        self._file.close()


class _CsvPart:
    """RFC 4180 with a header: null is empty, an empty text is "", pairs are compact JSON."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        cells = pa.schema([(name, pa.string()) for name in schema.names])
        options = csv.WriteOptions(quoting_style="needed")
        self._file = csv.CSVWriter(path, cells, write_options=options)

    def add(self, table: Table) -> None:
        self._file.write(to_cells(table))

    def close(self) -> None:
        self._file.close()
