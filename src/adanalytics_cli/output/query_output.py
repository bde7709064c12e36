"""The rows of a query in each format, written as they become ready, or as bars."""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import click
import pyarrow as pa
import pyarrow.parquet as pq

from adanalytics_cli.console.progress import show_size
from adanalytics_cli.console.table_view import Column, plain
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted
from adanalytics_client.dataset import QueryError
from adanalytics_client.dataset.query.session import QueryResult, QuerySession

from .formats import Output, is_packed
from .output_file import open_output
from .query_footer import facts_of
from .row_output import Listing, Row, write_chart, write_rows

# More rows of a table, or more bars, would only scroll by.
MOST_LINES = 1_000
# Each value becomes an object of Python, which needs several times its memory in Arrow.
_ROWS_AT_A_TIME = 10_000


def write_answer(
    session: QuerySession, sql: str, output: Output, invocation: Invocation, raw: BinaryIO | None
) -> int:
    """Write the rows of a query to stdout or a file, and return how many there were.

    Memory use does not depend on their number; a table ends after `MOST_LINES` rows. `raw` is the
    hidden file that is to become the file, if its format allows that; a line shows how large it is.
    """
    form, path = output.form, output.path
    with show_size(path, raw, invocation) if path and raw else nullcontext():
        # DuckDB writes CSV itself, without a row in Python, unless a type needs our own form.
        if path and raw and form.is_csv and not output.region:
            count = session.write_csv(sql, str(raw.name), packed=is_packed(path))
            if count is not None:
                return count
        result = session.select(sql, as_text=bool(form.writer) and not form.is_typed)
        if not form.writer:
            return _write_parquet(result, path, raw)
        # A spreadsheet of a region reads an amount with its decimal mark.
        rows: Iterable[Row] = _rows(result, as_text=not (form.is_typed or output.region))
        note = ""
        if form.is_table:
            rows, note = _first(rows)
        columns = [
            Column(
                field.name,
                to_the_right=_is_number(field.type),
                # Amounts stay longest on a narrow terminal.
                rank=0 if pa.types.is_decimal(field.type) else 1,
            )
            for field in result.schema
        ]
        places = ", ".join(dataset.place for dataset in session.coverage)
        facts = {"query": sql, "datasets": places, **facts_of(session.coverage)}
        listing = Listing(rows, columns, note, facts, names=result.schema.names, title="query")
        return write_rows(listing, output, invocation, raw)


def write_chart_of(result: QueryResult, path: Path | None, invocation: Invocation) -> int:
    """Draw a bar for each row of a label and a number; return how many there were.

    Raises click.UsageError for other columns.
    """
    from .summary_chart import Bar, chart_lines

    kinds = [field.type for field in result.schema]
    if len(kinds) != 2 or not _is_number(kinds[1]):
        problem = "no number second" if len(kinds) == 2 else counted(len(kinds), "column")
        raise click.UsageError(f"--chart draws a label and a number; the answer has {problem}.")
    label, number = result.schema.names
    rows, note = _first(_rows(result, as_text=False))
    bars = []
    for row in rows:
        value = _text(row[number])
        # Through the text, so that a float keeps the digits that it shows.
        size = None if value is None else Decimal(str(value))
        bars.append(Bar(visible(plain(_text(row[label]))), size, plain(value)))
    note = note or f"{counted(len(bars), 'row')}."
    write_chart(lambda view: chart_lines([(number, bars)], note, view), path, invocation)
    return len(bars)


def _first(rows: Iterable[Row]) -> tuple[list[Row], str]:
    """Return the first `MOST_LINES` rows, and a note if there are more."""
    first = [*islice(rows, MOST_LINES + 1)]
    is_cut = len(first) > MOST_LINES
    note = f"The first {MOST_LINES:,} rows. Get all with -f csv or -o FILE." if is_cut else ""
    return first[:MOST_LINES], note


def _write_parquet(result: QueryResult, path: Path | None, raw: BinaryIO | None) -> int:
    count = 0
    with open_output(path, raw=raw) as stream:
        try:
            file = pq.ParquetWriter(stream, result.schema, compression="zstd")
        # SQL may make a type that Parquet files cannot hold, such as an interval.
        except pa.ArrowNotImplementedError as error:
            raise click.UsageError(f"{error}. Cast the column to VARCHAR.") from None
        with file, _named_errors():
            for batch in result.batches:
                file.write_batch(batch)
                count += batch.num_rows
    return count


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _rows(result: QueryResult, *, as_text: bool = True) -> Iterator[Row]:
    """Yield rows of plain values; `as_text` writes times, days and amounts as the service does."""
    for batch in result.batches:
        for start in range(0, batch.num_rows, _ROWS_AT_A_TIME):
            columns = batch.slice(start, _ROWS_AT_A_TIME).columns
            with _named_errors():
                values = [[*_values(column, as_text=as_text)] for column in columns]
            for row in zip(*values, strict=True):
                yield dict(zip(result.schema.names, row, strict=True))


@contextmanager
def _named_errors() -> Iterator[None]:
    """Raise QueryError for a value that Arrow, Python or a file does not have."""
    try:
        yield
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise QueryError(
            f"A value of the answer cannot be written: {error}.",
            remedy="Cast its column to VARCHAR.",
        ) from error


def _values(column: pa.Array, *, as_text: bool) -> Iterator[object]:
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        # Python has no nanoseconds.
        column = column.cast(pa.timestamp("us", tz=kind.tz), safe=False)
    return map(_reader(kind, as_text=as_text), column.to_pylist())


def _reader(kind: pa.DataType, *, as_text: bool = True) -> Callable[[Any], object]:
    """Return the function that makes a plain value of a value of Python."""
    types = pa.types
    if types.is_map(kind):
        key, reader = _reader(kind.key_type), _reader(kind.item_type)
        return _unless_none(lambda pairs: {str(key(name)): reader(value) for name, value in pairs})
    if types.is_struct(kind):
        parts = {field.name: _reader(field.type) for field in kind}
        return _unless_none(lambda row: {name: read(row[name]) for name, read in parts.items()})
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        reader = _reader(kind.value_type)
        return _unless_none(lambda values: [*map(reader, values)])
    if types.is_decimal(kind) and kind.scale == 0:
        # The sum of whole numbers.
        return _unless_none(int)
    if types.is_time(kind):
        # Python takes 24:00:00 for midnight.
        raise ValueError("a time of day in a list or an object")
    if not as_text and (types.is_temporal(kind) or types.is_decimal(kind)):
        return lambda value: value
    return _text


def _unless_none(reader: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda value: None if value is None else reader(value)


def _text(value: object) -> object:
    """Write amounts with all digits, times in ISO 8601 and no NaN; other values stay."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        # JSON has no NaN, and no format of ours has one of its own.
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return value.isoformat() if isinstance(value, date) else value
