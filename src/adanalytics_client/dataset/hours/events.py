"""Events as Arrow tables of one schema: read from JSON lines and CSV, added up, written as text."""

import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from gzip import GzipFile
from io import BufferedIOBase
from itertools import chain
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from adanalytics_client._base.compression import GZIP_MAGIC
from adanalytics_client._json.encoding import json_text, utf8
from adanalytics_client._json.fields import COLUMN_OF_TYPE
from adanalytics_client._outputs.arrow.conversion import convert, json_of_pairs
from adanalytics_client._outputs.arrow.schema import EVENT_KINDS
from adanalytics_client._outputs.arrow.values import REFUSALS, UnfitValue
from adanalytics_client.dataset.hours.sections import PARQUET, Section, beginning_of, group_begins
from adanalytics_client.dataset.hours.totals import Totals
from adanalytics_client.dataset.records.layout import Hour
from adanalytics_client.errors import ProtocolError
from adanalytics_client.tables import event_schema, jsonl_batch

Table = Any
"""A `pyarrow.Table`; pyarrow has no types."""

TEXT = "_text"
"""The column of the events' received texts, in tables that carry them."""

CSV_BLOCK = 1024 * 1024
"""Bytes of a CSV file that are read at a time, which limits the length of a row."""

HOUR_COLUMNS = ("event_date", "event_hour")
"""The columns that name the hour of an event."""

IDS_HELD = 250_000
"""The most ids of an hour that are held in memory to find repeated ones."""

# Rows of a parquet file.
_ROWS_READ = 16_384
_PAIRS = "key_values"
_HASH_BYTES = 8
_HASHES_READ = 65_536
# Seconds have three decimals, because the times count milliseconds.
_RFC_3339 = "%Y-%m-%dT%H:%M:%SZ"


class EventTables:
    """Makes tables of events with the documented columns; other columns are left out.

    Args:
        with_texts: keep the line of each event in the `TEXT` column, for tables of JSON lines.
    """

    def __init__(self, *, with_texts: bool = False) -> None:
        self._with_texts = with_texts
        self._reading = threading.Lock()
        self.schema = event_schema()

    def from_jsonl(self, body: bytes) -> Table:
        """Read JSON lines.

        Raises:
            ProtocolError: for a line that is not an event, or a value that its column cannot hold.
        """
        # One thread at a time: the reader needs several times the memory of a page.
        with self._reading:
            batch = jsonl_batch(body, self.schema.names)
        table = pa.Table.from_batches([batch])
        if not self._with_texts:
            return table
        texts = pa.array(body.decode().split("\n")[:-1], pa.string())
        return table.append_column(TEXT, texts)

    def from_file(self, path: Path, section: Section | None = None) -> Iterator[Table]:
        """Read an export file in order and in bounded memory; its first bytes show the format.

        Raises:
            ProtocolError: for a value that its column cannot hold exactly, and for events without
                any known column.
        """
        magic = beginning_of(path)
        if magic == PARQUET:
            yield from self._from_parquet(path, section)
        elif magic.startswith(GZIP_MAGIC):
            # Some services compress a file unasked.
            with GzipFile(path) as unpacked:
                yield from self.from_csv(unpacked)
        else:
            with pa.OSFile(str(path)) as file:
                if section:
                    names, begin, end = section.lines_of(path)
                    yield from self.from_csv(file.get_stream(begin, end - begin), names)
                else:
                    yield from self.from_csv(file)

    def _from_parquet(self, path: Path, section: Section | None) -> Iterator[Table]:
        try:
            with pq.ParquetFile(path) as file:
                known = [name for name in self.schema.names if name in file.schema_arrow.names]
                if not known:
                    raise self._unknown_columns()
                groups = [*range(file.num_row_groups)]
                if section:
                    begin = group_begins(file.metadata)
                    groups = [n for n in groups if section.begin <= begin[n] < section.end]
                # Group by group: over several, the reader keeps the bytes of all.
                read = partial(file.iter_batches, _ROWS_READ, columns=known, use_threads=False)
                for batch in chain.from_iterable(read(row_groups=[number]) for number in groups):
                    yield self._typed(batch)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(error) from None

    def _typed(self, batch: pa.RecordBatch) -> Table:
        """Return a batch with the types of the schema, and nulls for columns that it lacks."""
        columns = []
        for field in self.schema:
            if field.name not in batch.schema.names:
                columns.append(pa.nulls(len(batch), field.type))
                continue
            kind = EVENT_KINDS[field.name]
            try:
                columns.append(convert(kind, batch.column(field.name), wide=True))
            except UnfitValue as unfit:
                raise _unreadable(unfit.described(field.name, kind)) from None
            except REFUSALS as error:
                raise _unreadable(f"{field.name}: {error}") from None
        return pa.table(columns, self.schema)

    def from_csv(
        self, source: BufferedIOBase | pa.NativeFile, names: Sequence[str] = ()
    ) -> Iterator[Table]:
        """Read CSV with a header, or with the column names `names`, in the memory of a few blocks.

        An empty cell is null, and so is every cell of a column that the file lacks; a quoted empty
        cell is an empty text.

        Raises:
            ProtocolError: as `from_file`.
        """
        # As text: Arrow's own conversion to amounts is not safe, see `values.plain_pattern`.
        types = dict.fromkeys(self.schema.names, pa.string())
        options = csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            include_missing_columns=True,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        try:
            reader = csv.open_csv(
                source,
                read_options=csv.ReadOptions(
                    block_size=CSV_BLOCK, use_threads=False, column_names=[*names]
                ),
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=options,
            )
            for batch in reader:
                empty = all(each.null_count == len(each) for each in batch.columns)
                if batch.num_rows and empty:
                    raise self._unknown_columns()
                yield self._typed(batch)
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                return
            raise _unreadable(error) from None

    def _unknown_columns(self) -> ProtocolError:
        return ProtocolError(
            "The file of events has none of the documented columns.",
            remedy=f"It must name columns such as {', '.join(self.schema.names[:3])}.",
        )


def _unreadable(problem: object) -> ProtocolError:
    return ProtocolError(f"The file of events cannot be read: {problem}")


def totals_of(table: Table) -> Totals | None:
    """Add up the events that are not filtered; None if any event lacks its type or filter flag."""
    if table.num_rows and _has_nulls(table, "event_type", "is_filtered"):
        return None
    counted = table.select(["event_type", "revenue", "cost"])
    counted = counted.filter(pc.invert(table["is_filtered"]))
    pairs = pc.value_counts(counted["event_type"]).to_pylist()
    counts = {COLUMN_OF_TYPE.get(each["values"], "other"): each["counts"] for each in pairs}
    revenue, cost = (pc.sum(counted[name]).as_py() or Decimal(0) for name in ("revenue", "cost"))
    return Totals(counts, revenue, cost)


def is_of_hour(table: Table, hour: Hour, zone: str) -> bool:
    """Return True if every event is of `hour`, or if any event does not state its hour.

    In a `zone` other than UTC, none does: these columns may be in UTC or local.
    """
    if zone != "UTC" or _has_nulls(table, *HOUR_COLUMNS):
        return True
    days, hours = pc.unique(table["event_date"]), pc.unique(table["event_hour"])
    return {*days.to_pylist()} <= {hour.day} and {*hours.to_pylist()} <= {hour.hour}


def int32s(values: Iterable[int]) -> "pa.Array":
    """Make an array of 32-bit integers without `pyarrow.array`, which would import pandas."""
    numbers = array("i", values)
    return pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)])


class Ids:
    """Counts the repeated event ids of one hour; at most `IDS_HELD` ids are held in memory."""

    def __init__(self) -> None:
        self._count = 0
        # The hash stands for its id, as while pages are pulled: two of 3 million ids share one in
        # 1 of 4 million hours.
        self._hashes = SpooledTemporaryFile(IDS_HELD * _HASH_BYTES)  # noqa: SIM115  # see `close`

    def close(self) -> None:
        self._hashes.close()

    def add(self, table: Table) -> None:
        ids = table["event_id"].drop_null().to_pylist()
        self._count += len(ids)
        self._hashes.write(array("q", map(hash, ids)).tobytes())

    def repeated(self) -> int:
        """Count events that repeat the id of an earlier event; ignore events without an id."""
        # Equal hashes have equal last bits, so each group can be counted on its own.
        groups = 1 << (self._count // IDS_HELD).bit_length()
        return self._count - sum(self._distinct(group, groups) for group in range(groups))

    def _distinct(self, group: int, groups: int) -> int:
        """Count the distinct hashes whose last bits are `group`."""
        chunks = []
        self._hashes.seek(0)
        while block := self._hashes.read(_HASHES_READ * _HASH_BYTES):
            size = len(block) // _HASH_BYTES
            hashes = pa.Array.from_buffers(pa.int64(), size, [None, pa.py_buffer(block)])
            last_bits = pc.bit_wise_and(hashes, int32s([groups - 1])[0])
            chunks.append(hashes.filter(pc.equal(last_bits, int32s([group])[0])))
        return int(pc.count_distinct(pa.chunked_array(chunks, pa.int64())).as_py())


def to_jsonl(table: Table) -> Iterator[bytes]:
    """Write each event as a line of JSON, with digits and times as the service writes them."""
    for row in _readable(table).to_pylist():
        pairs = row.get(_PAIRS)
        yield utf8(json_text({**row, _PAIRS: dict(pairs) if pairs is not None else None})) + b"\n"


def to_cells(table: Table) -> Table:
    """Make a table of text, with cells as in CSV: null stays null, and pairs are compact JSON."""
    readable = _readable(table)
    columns = [
        json_of_pairs(column) if pa.types.is_map(column.type) else column.cast(pa.string())
        for column in readable.columns
    ]
    return pa.table(columns, names=readable.column_names)


def _has_nulls(table: Table, *names: str) -> bool:
    return any(table[name].null_count for name in names)


def _readable(table: Table) -> Table:
    """Replace times, dates and money by text; numbers and flags stay."""
    columns = []
    for field in table.schema:
        column = table[field.name]
        if pa.types.is_timestamp(field.type):
            column = pc.strftime(column, format=_RFC_3339)
        elif pa.types.is_date(field.type):
            column = column.cast(pa.string())
        elif pa.types.is_decimal(field.type):
            column = _amounts_as_text(column)
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _amounts_as_text(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Write amounts in plain notation, where Arrow would write 1E-9; each distinct one once."""
    chunks = []
    for chunk in column.dictionary_encode().chunks:
        texts = [format(each, "f") for each in chunk.dictionary.to_pylist()]
        chunks.append(pa.array(texts, pa.string()).take(chunk.indices))
    return pa.chunked_array(chunks, pa.string())
