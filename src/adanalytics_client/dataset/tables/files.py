"""The files that a table lists, and what their footers say about them."""

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from adanalytics_client.dataset.records.manifest import DataFile
from adanalytics_client.dataset.storage.local import Store

# As many as a float can tell apart, because some readers take amounts for floats.
_LEAST, _MOST = Context(15, ROUND_FLOOR), Context(15, ROUND_CEILING)
_MILLISECOND = timedelta(milliseconds=1)
_AT_ONCE = 8
_HAVE_RANGES = (
    *(pa.types.is_date, pa.types.is_timestamp, pa.types.is_integer, pa.types.is_decimal),
)

_ENCODER = msgspec.json.Encoder(decimal_format="number")


Files = dict[str, DataFile]
"""Files by their name below the dataset."""


class Change(NamedTuple):
    """One transaction of a table.

    Attributes:
        added: the files to list; if columns are widened, all files.
        removed: the names of files that the table lists, but should not.
        columns: the columns of all files.
        widened: columns of the table whose type changes.
        relisted: the names of added files that the table lists already, in another way.
        now: the moment of the transaction.
        retained_hours: for how long the versions before it stay readable; None for ever.
    """

    added: Collection[DataFile]
    removed: Collection[str]
    columns: pa.Schema
    widened: Collection[str]
    relisted: Collection[str]
    now: datetime
    retained_hours: int | None


def stored_type(type_: pa.DataType) -> str:
    """Return a name for a type and for those by which a table may store it."""
    for name in ("timestamp", "map"):
        if getattr(pa.types, f"is_{name}")(type_):
            return name
    return str(type_).removeprefix("large_")


def free_name(name: str, columns: pa.Schema) -> str:
    """Return a name that no field has, whatever its case: ours gets underscores in front.

    Examples:
        >>> free_name("date", pa.schema([("Date", pa.string())]))
        '_date'
    """
    folded = {column.casefold() for column in columns.names}
    while name in folded:
        name = f"_{name}"
    return name


def read_footers(
    store: Store, files: Iterable[DataFile]
) -> Iterator[tuple[DataFile, pq.FileMetaData]]:
    """Yield each file with its footer, some of which are read at the same time."""

    def read(file: DataFile) -> tuple[DataFile, pq.FileMetaData]:
        with store.open(file.name) as opened:
            return file, pq.read_metadata(opened)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(read, files)


def delta_statistics(footer: pq.FileMetaData) -> str:
    """Return the statistics of a file for Delta: the ranges of its days, times and numbers.

    https://github.com/delta-io/delta/blob/master/PROTOCOL.md#per-file-statistics
    """
    schema = footer.schema.to_arrow_schema()
    least, most, nulls = {}, {}, {}
    for at in range(footer.num_columns):
        name = footer.schema.column(at).path
        # A nested column has another path than its field.
        if name not in schema.names or not any(
            is_type(schema.field(name).type) for is_type in _HAVE_RANGES
        ):
            continue
        groups = [footer.row_group(g).column(at).statistics for g in range(footer.num_row_groups)]
        if any(group is None or not group.has_null_count for group in groups):
            continue
        nulls[name] = sum(group.null_count for group in groups)
        filled = [group for group in groups if group.num_values]
        if filled and all(group.has_min_max for group in filled):
            least[name] = _bound(min(group.min for group in filled))
            most[name] = _bound(max(group.max for group in filled), is_most=True)
    statistics = {"minValues": least, "maxValues": most, "nullCount": nulls}
    return _ENCODER.encode({"numRecords": footer.num_rows, **statistics}).decode()


def _bound(value: Any, *, is_most: bool = False) -> Any:  # noqa: ANN401  # of the type of a column
    """Return the least or the most value of a column as JSON, no narrower than it is."""
    if isinstance(value, datetime):
        # Statistics have milliseconds.
        rest = timedelta(microseconds=value.microsecond % 1000)
        whole = value - rest
        if rest and is_most:
            # No calendar has a later millisecond than its last one.
            with suppress(OverflowError):
                whole += _MILLISECOND
        text = whole.astimezone(UTC).isoformat(timespec="milliseconds")
        return f"{text.removesuffix('+00:00')}Z"
    if isinstance(value, Decimal):
        return (_MOST if is_most else _LEAST).plus(value)
    return str(value) if isinstance(value, date) else value
