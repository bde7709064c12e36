"""Events as Arrow tables of one schema: read from JSON lines and CSV, added up, written as text."""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from csv import reader
from functools import partial
from gzip import GzipFile
from io import BufferedIOBase, RawIOBase
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from adanalytics_client._base.compression import GZIP_MAGIC
from adanalytics_client._base.spelling import separator_of
from adanalytics_client._json.exact import json_text, utf8
from adanalytics_client._json.fields import DOCUMENTED, FieldNames, Kind
from adanalytics_client._json.types import Types
from adanalytics_client._outputs.arrow.batches import ArrowRows
from adanalytics_client._outputs.arrow.conversion import as_text, epochs_of, text_array
from adanalytics_client.dataset.records.layout import Hour
from adanalytics_client.errors import ProtocolError

from .sections import PARQUET, Section, beginning_of, group_begins

Table = Any
"""A `pyarrow.Table`; pyarrow has no types."""

TEXT = "\0text"
"""The column of the events' received texts, in tables that carry them; no field has such a name."""

CSV_BLOCK = 1024 * 1024
"""Bytes of a CSV file that are read at a time, which limits the length of a row."""

# A day and a clock without an offset.
_LOCAL_TIME = re.compile(rb'"?\d{4}-\d\d-\d\d[Tt ][\d:.]+"?')
_EVENT = msgspec.json.Decoder(dict[str, msgspec.Raw])

_FIRST_BYTE = itemgetter(slice(1))

# Rows of a parquet file.
_ROWS_READ = 16_384


class EventTables:
    """Makes tables of the fields that arrive; their types are learned, and only widen.

    Args:
        names: the names by which the service sends documented fields.
        types: the columns of earlier tables.
        with_texts: keep the line of each event in the `TEXT` column, for tables of JSON lines.

    Attributes:
        has_local_times: whether the first time of a table lacks an offset, so that it may be in UTC
            or in the zone of the service.
    """

    def __init__(
        self,
        names: FieldNames = DOCUMENTED,
        types: Types | None = None,
        *,
        with_texts: bool = False,
    ) -> None:
        self.names = names
        self.has_local_times = False
        self._with_texts = with_texts
        self._rows = ArrowRows(kind_of=names.kind, types=types, wide=True)

    @property
    def types(self) -> Types:
        """The columns of all tables so far."""
        return self._rows.types

    @property
    def mixed(self) -> tuple[str, ...]:
        """The columns that became text because their values have no common type."""
        return (*self._rows.mixed,)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of all tables so far."""
        return self._rows.schema

    def from_jsonl(self, body: bytes) -> Table:
        """Read JSON lines.

        Raises:
            ProtocolError: for a line that is not an event.
        """
        table = pa.Table.from_batches([self._rows.jsonl(body)])
        if (name := self.names.sent("event_time", table.column_names)) and body:
            event = _EVENT.decode(body[: body.index(b"\n")])
            self._note_zone(bytes(event.get(name, b"")))
        if not self._with_texts:
            return table
        return table.append_column(TEXT, text_array(body.split(b"\n")[:-1]))

    def widened(self, table: Table) -> Table:
        """Return an earlier table with the types of all tables so far."""
        if table.schema == self.schema:
            return table
        batches = map(self._rows.widened, table.to_batches())
        wide = pa.Table.from_batches(batches, schema=self.schema)
        return wide.append_column(TEXT, table[TEXT]) if TEXT in table.column_names else wide

    def from_file(self, path: Path, section: Section | None = None) -> Iterator[Table]:
        """Read an export file in order and in bounded memory; its first bytes show the format.

        Raises:
            ProtocolError: for a file that cannot be read, or whose first line is not a header.
        """
        magic = beginning_of(path)
        if magic == PARQUET:
            yield from self._from_parquet(path, section)
        elif magic.startswith(GZIP_MAGIC):
            # Some services compress a file unasked.
            with GzipFile(path) as unpacked:
                yield from self.from_csv(unpacked)
        else:
            with path.open("rb") as file:
                names, separator = _header(file)
                begin, end = file.tell(), path.stat().st_size
                if section:
                    begin, end = section.lines_of(path)
            with pa.OSFile(str(path)) as lines:
                yield from self._from_lines(lines.get_stream(begin, end - begin), names, separator)

    def _from_parquet(self, path: Path, section: Section | None) -> Iterator[Table]:
        try:
            with pq.ParquetFile(path) as file:
                groups = [*range(file.num_row_groups)]
                if section:
                    begin = group_begins(file.metadata)
                    groups = [n for n in groups if section.begin <= begin[n] < section.end]
                # Group by group: over several, the reader keeps the bytes of all.
                read = partial(file.iter_batches, _ROWS_READ, use_threads=False)
                for batch in chain.from_iterable(read(row_groups=[number]) for number in groups):
                    yield self._typed(batch)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(error) from None

    def _typed(self, batch: pa.RecordBatch, *, cells: bool = False) -> Table:
        """Return a batch with learned types."""
        if (name := self.names.sent("event_time", batch.schema.names)) and batch.num_rows:
            column = batch.column(name)
            if pa.types.is_timestamp(column.type):
                self.has_local_times |= column.type.tz is None
            else:
                self._note_zone(str(column[0]).encode())
        columns = {
            name: self._rows.column(name, column, cells=cells)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }
        return pa.table(columns)

    def _note_zone(self, time: bytes) -> None:
        self.has_local_times |= _LOCAL_TIME.fullmatch(time) is not None

    def from_csv(self, source: BufferedIOBase) -> Iterator[Table]:
        """Read CSV with a header in the memory of a few blocks.

        An empty cell is null; a quoted empty cell is an empty text in a column of texts.

        Raises:
            ProtocolError: as `from_file`.
        """
        yield from self._from_lines(source, *_header(source))

    def _from_lines(
        self, lines: BufferedIOBase | pa.NativeFile, names: Sequence[str], separator: str
    ) -> Iterator[Table]:
        try:
            reader = csv.open_csv(
                pa.PythonFile(_StrictLines(lines, separator.encode()), mode="r"),
                read_options=csv.ReadOptions(
                    block_size=CSV_BLOCK, use_threads=False, column_names=[*names]
                ),
                parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    # As text: Arrow's own conversion is not safe, see `values.plain_pattern`.
                    column_types=dict.fromkeys(names, pa.string()),
                    # ClickHouse and PostgreSQL write null as \N.
                    null_values=["", r"\N"],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            for batch in reader:
                yield self._typed(batch, cells=True)
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                return
            raise _unreadable(error) from None


class _StrictLines(RawIOBase):
    """Lines of CSV, of which none has text behind the end of a quoted field (RFC 4180).

    Spark, for one, writes a quote within a field behind a backslash, and Arrow takes it for the end
    of the field.
    """

    def __init__(self, lines: BufferedIOBase | pa.NativeFile, separator: bytes) -> None:
        self._lines = lines
        self._starts = {b"\n", separator}
        self._ends = {b"", b"\r", *self._starts}
        self._in_quotes = self._is_behind_quote = False
        # The last byte outside of quotes.
        self._last = b"\n"

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if piece := self._lines.read(size):
            self._check(piece)
        return piece

    def _check(self, piece: bytes) -> None:
        parts = piece.split(b'"')
        plain = parts[self._in_quotes :: 2]
        first = 0 if self._in_quotes or self._is_behind_quote else 1
        if self._ends.issuperset(map(_FIRST_BYTE, plain[first:])):
            self._last = next((text[-1:] for text in reversed(plain) if text), self._last)
        else:
            for number, text in enumerate(plain):
                # Only a quote at the begin of a field begins a quoted one.
                is_quoted = number >= first and self._last in self._starts
                if is_quoted and text[:1] not in self._ends:
                    raise _unreadable("text follows the end of a quoted field, against RFC 4180")
                self._last = text[-1:] or self._last
        self._in_quotes ^= len(parts) % 2 == 0
        self._is_behind_quote = piece.endswith(b'"') and not self._in_quotes


def columns_in(path: Path) -> list[str]:
    """Return the names of the columns of an export file that can be read."""
    magic = beginning_of(path)
    if magic == PARQUET:
        return [*pq.read_schema(path).names]
    with GzipFile(path) if magic.startswith(GZIP_MAGIC) else path.open("rb") as file:
        return _header(file)[0]


def _header(file: BinaryIO | BufferedIOBase) -> tuple[list[str], str]:
    """Read the names of the columns, which may have line breaks in quotes, and the separator."""
    line = file.readline(CSV_BLOCK)
    # Inside quotes, a line end belongs to the name.
    while (
        line.count(b'"') % 2 and len(line) < CSV_BLOCK and (line_rest := file.readline(CSV_BLOCK))
    ):
        line += line_rest
    text, separator = line.decode("utf-8-sig", "replace"), separator_of(line).decode()
    names = next(reader([text], delimiter=separator, strict=False), [])
    if len({*names}) < len(names):
        repetition = next(name for name in names if names.count(name) > 1)
        raise _unreadable(f"it has the column {repetition} twice")
    return names, separator


def _unreadable(problem: object) -> ProtocolError:
    return ProtocolError(f"The file of events cannot be read: {problem}")


def is_of_hour(table: Table, hour: Hour, names: FieldNames, zone: str) -> bool:
    """Return True if every event is of `hour`, or if any event does not state its hour.

    In a `zone` other than UTC, none does: these columns may be in UTC or local.
    """
    columns = hour_columns(table, names)
    if zone != "UTC" or columns is None:
        return True
    days, hours = (pc.unique(column).to_pylist() for column in columns)
    return {*days} <= {hour.day} and {*hours} <= {hour.hour}


def hour_columns(table: Table, names: FieldNames) -> "tuple[pa.ChunkedArray, ...] | None":
    """Return the columns with the day and the hour of every event, if there are such columns."""
    types = {"event_date": pa.date32(), "event_hour": pa.int64()}
    columns = []
    for documented, type_ in types.items():
        name = names.sent(documented, names_with_values(table))
        # One event without its hour is enough: all are sorted by their time instead.
        if name is None or table[name].type != type_ or table[name].null_count:
            return None
        columns.append(table[name])
    return tuple(columns)


def time_column(table: Table, names: FieldNames) -> "pa.ChunkedArray | None":
    """Return the column with the time of every event, if there is one."""
    name = names.sent("event_time", names_with_values(table))
    if name is None or table[name].null_count or not pa.types.is_timestamp(table[name].type):
        return None
    return table[name]


def names_with_values(table: Table) -> list[str]:
    """Return the columns of some events, without those of fields that other events have.

    A service that changes the spelling of a field leaves the column of the former one empty.
    """
    return [name for name in table.column_names if table[name].null_count < table.num_rows]


def int32s(values: Iterable[int]) -> "pa.Array":
    """Make an array of 32-bit integers without `pyarrow.array`, which would import pandas."""
    numbers = array("i", values)
    return pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)])


def to_jsonl(table: Table, types: Types, names: FieldNames) -> Iterator[bytes]:
    """Write each event as a line of JSON, with digits and times as the service writes them.

    Amounts are text, as the service sends them in its pages; other decimals are numbers.
    """
    columns = {}
    for field in table.schema:
        column, is_amount = table[field.name], names.kind(field.name) is Kind.AMOUNT
        if pa.types.is_map(field.type):
            values = [pairs if pairs is None else dict(pairs) for pairs in column.to_pylist()]
        elif pa.types.is_decimal(field.type) and is_amount:
            values = _amounts_as_text(column).to_pylist()
        elif types[field.name].base == "epoch":
            # Other files may show that these are plain numbers.
            parts = (epochs_of(types[field.name], chunk) for chunk in column.chunks)
            values = [*chain.from_iterable(parts)]
        elif pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            values = [text for chunk in column.chunks for text in as_text(chunk).to_pylist()]
        else:
            values = column.to_pylist()
        columns[field.name] = values
    for row in zip(*columns.values(), strict=True):
        yield utf8(json_text(dict(zip(columns, row, strict=True)))) + b"\n"


def _amounts_as_text(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Write amounts in plain notation, where Arrow would write 1E-9; each distinct one once."""
    chunks = []
    for chunk in column.dictionary_encode().chunks:
        texts = [format(amount, "f").encode() for amount in chunk.dictionary.to_pylist()]
        chunks.append(text_array(texts).take(chunk.indices))
    return pa.chunked_array(chunks, pa.string())
