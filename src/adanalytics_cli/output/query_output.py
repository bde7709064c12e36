"""The rows of a query in each format, written as they become ready, or as bars."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq

from adanalytics_cli.console.table_view import Column, plain
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.output.formats import Format
from adanalytics_cli.output.output_file import open_output
from adanalytics_cli.output.row_output import Row, write_chart, write_rows
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted
from adanalytics_client.dataset.query import QueryResult

# More rows of a table, or more bars, would only scroll by.
MOST_LINES = 1_000
# Each value becomes an object of Python, which needs several times its memory in Arrow.
_ROWS_AT_A_TIME = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write_result(
    result: QueryResult,
    form: Format,
    path: Path | None,
    invocation: Invocation,
    *,
    bom: bool,
    about: Mapping[str, object],
) -> int:
    """Write the rows to stdout or `path`, and return how many there were.

    Memory use does not depend on their number; a table ends after `MOST_LINES` rows. `bom` and
    `about` are as for `write_rows`.
    """
    if form == "parquet":
        return _write_parquet(result, path)
    rows: Iterable[Row] = _rows(result, as_text=form != "xlsx")
    note = ""
    if form == "table":
        rows, note = _first(rows)
    # Amounts stay longest on a narrow terminal.
    ranks = [0 if pa.types.is_decimal(each.type) else 1 for each in result.schema]
    columns = [
        Column(each.name, each.name, to_the_right=_is_number(each.type), rank=rank)
        for each, rank in zip(result.schema, ranks, strict=True)
    ]
    return write_rows(
        rows,
        form,
        path,
        columns=columns,
        invocation=invocation,
        names=result.schema.names,
        note=note,
        bom=bom,
        title="query",
        about=about,
    )


def write_chart_of(result: QueryResult, path: Path | None, invocation: Invocation) -> int:
    """Draw a bar for each row of a label and a number; return how many there were.

    Raises click.UsageError for other columns.
    """
    from adanalytics_cli.output.summary_chart import Bar, chart_lines

    kinds = [each.type for each in result.schema]
    if len(kinds) != 2 or not _is_number(kinds[1]):
        seen = "no number second" if len(kinds) == 2 else counted(len(kinds), "column")
        raise click.UsageError(f"--chart draws a label and a number; the answer has {seen}.")
    label, number = result.schema.names
    rows, note = _first(_rows(result, as_text=False))
    bars = []
    for row in rows:
        value = _text(row[number])
        size = None if value is None else Decimal(str(value))
        bars.append(Bar(visible(plain(_text(row[label]))), size, plain(value)))
    note = note or f"{counted(len(bars), 'row')}."
    write_chart(lambda at: chart_lines([(number, bars)], note, at), path, invocation)
    return len(bars)


def _first(rows: Iterable[Row]) -> tuple[list[Row], str]:
    """Return the first `MOST_LINES` rows, and a note if there are more."""
    first = [*islice(rows, MOST_LINES + 1)]
    more = len(first) > MOST_LINES
    note = f"The first {MOST_LINES:,} rows. Get all with -f csv or -o FILE." if more else ""
    return first[:MOST_LINES], note


def _write_parquet(result: QueryResult, path: Path | None) -> int:
    written = 0
    with open_output(path) as stream:
        try:
            file = pq.ParquetWriter(stream, result.schema, compression="zstd")
        # SQL may make a type that Parquet files cannot hold, such as an interval.
        except pa.ArrowNotImplementedError as error:
            raise click.UsageError(f"{error}. Cast the column to VARCHAR.") from None
        with file:
            for batch in result.batches:
                file.write_batch(batch)
                written += batch.num_rows
    return written


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _rows(result: QueryResult, *, as_text: bool = True) -> Iterator[Row]:
    """Yield rows of plain values; `as_text` writes times, days and amounts as the service does."""
    for batch in result.batches:
        for at in range(0, batch.num_rows, _ROWS_AT_A_TIME):
            columns = batch.slice(at, _ROWS_AT_A_TIME).columns
            values = [_values(column, as_text=as_text) for column in columns]
            for row in zip(*values, strict=True):
                yield dict(zip(result.schema.names, row, strict=True))


def _values(column: pa.Array, *, as_text: bool) -> Iterator[object]:
    read = _reader(column.type, as_text=as_text)
    if pa.types.is_timestamp(column.type) and column.type.tz:
        # In microseconds. pyarrow would import pandas for its own datetimes.
        times = column.cast(pa.int64()).to_pylist()
        moment = _unless_none(lambda time: read(_EPOCH + timedelta(microseconds=time)))
        return map(moment, times)
    return map(read, column.to_pylist())


def _reader(kind: pa.DataType, *, as_text: bool) -> Callable[[Any], object]:
    """Return the function that makes a plain value of what pyarrow gives for this type."""
    types = pa.types
    if types.is_map(kind):
        read = _reader(kind.item_type, as_text=True)
        return _unless_none(lambda pairs: {str(_text(key)): read(value) for key, value in pairs})
    if types.is_struct(kind):
        parts = {each.name: _reader(each.type, as_text=True) for each in kind}
        return _unless_none(lambda row: {name: read(row[name]) for name, read in parts.items()})
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        read = _reader(kind.value_type, as_text=True)
        return _unless_none(lambda values: [*map(read, values)])
    if types.is_decimal(kind) and kind.scale == 0:
        # The sum of whole numbers.
        return _unless_none(int)
    if as_text or types.is_interval(kind) or types.is_binary(kind):
        return _text
    return lambda value: value


def _unless_none(read: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda value: None if value is None else read(value)


def _text(value: object) -> object:
    """Write amounts with all digits, times in ISO 8601 and no NaN; other values stay."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        digits = "microseconds" if value.microsecond % 1000 else "milliseconds"
        return value.isoformat(timespec=digits).replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, pa.MonthDayNano):
        rest = timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
        return f"{value.months} months, {rest}" if value.months else str(rest)
    return value
