"""The files that a table lists, and what their footers say about them."""

import json
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from adanalytics_client.dataset.records.manifest import DataFile
from adanalytics_client.dataset.storage.local import Store

_MILLISECOND = timedelta(milliseconds=1)
_AT_ONCE = 8

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
    """Return the statistics of a file for Delta: the ranges of its days and times.

    https://github.com/delta-io/delta/blob/master/PROTOCOL.md#per-file-statistics
    """
    schema = footer.schema.to_arrow_schema()
    least, most = {}, {}
    for at in range(footer.num_columns):
        name = footer.schema.column(at).path
        groups = [footer.row_group(g).column(at).statistics for g in range(footer.num_row_groups)]
        # A nested column has another path than its field.
        is_temporal = name in schema.names and pa.types.is_temporal(schema.field(name).type)
        if is_temporal and groups and all(group and group.has_min_max for group in groups):
            least[name] = _bound(min(group.min for group in groups))
            most[name] = _bound(max(group.max for group in groups), is_most=True)
    return json.dumps({"numRecords": footer.num_rows, "minValues": least, "maxValues": most})


def _bound(value: date, *, is_most: bool = False) -> str:
    """Return the least or the most day or time of a column, no narrower than it is."""
    if not isinstance(value, datetime):
        return str(value)
    # Statistics have milliseconds.
    rest = timedelta(microseconds=value.microsecond % 1000)
    whole = value - rest
    if rest and is_most:
        # No calendar has a later millisecond than its last one.
        with suppress(OverflowError):
            whole += _MILLISECOND
    text = whole.astimezone(UTC).isoformat(timespec="milliseconds")
    return f"{text.removesuffix('+00:00')}Z"
