"""The events as a resource of dlt, which loads them into its destinations.

Only `events` imports dlt, which the `dlt` extra installs.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from ._base.validation import import_extra, invalid
from .client import Client
from .tables import event_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from dlt.extract import DltResource

# Columns of our own: services name their fields as they like.
_HOUR = "_adanalytics_hour"
_EMPTY = "_adanalytics_empty"

# Types of which one may hold a value of another exactly.
_NUMBERS = {"bigint", "integer", "decimal"}


def events(client: Client, *, late: timedelta = timedelta(hours=3)) -> "DltResource":
    """Return the events as an incremental resource with the name `events`.

    The first run requests all hours of the days that the service lists, and each further run the
    hours since the last hour with events, plus the hours before it that `late` covers. An hour
    that is loaded again replaces its rows in the destination, also by none: the column
    `_adanalytics_hour` states the hour of a row. To load many days in several runs, limit the
    hours of a run, `events(client).add_limit(500)`; hours that are loaded again do not count.

    The other columns are the fields that arrive. Amounts are decimals, times have microseconds, as
    in DuckDB, and objects are JSON text. A value that does not fit the type of its column is in
    another one, such as `score__v_text`. `_adanalytics_empty` is null; dlt needs it for hours
    without events.

    Args:
        client: must stay open until the pipeline has run.
        late: how long before the last loaded hour to look for events that arrived late. These
            hours are in memory together.

    Raises:
        ConfigurationError: if the `dlt` extra is not installed, or for a wrong argument.
        AdAnalyticsError: when a request fails while the pipeline runs; dlt wraps the error in a
            `PipelineStepFailed`, and the next run continues after the last run that succeeded.

    Examples:
        >>> pipeline = dlt.pipeline("ads", destination="duckdb", dataset_name="ads")
        >>> with Client.from_env() as client:
        ...     loaded = pipeline.run(events(client))
    """
    if not isinstance(client, Client):
        raise invalid("client", client, "Pass a Client, such as Client.from_env().")
    is_duration = isinstance(late, timedelta)
    if not is_duration or late < timedelta():
        raise invalid("late", late, "Pass a duration of at least 0, such as timedelta(hours=3).")
    dlt = import_extra("dlt")

    def marked(tables: list["pa.Table"]) -> object:
        if not any(_EMPTY in table.column_names for table in tables):
            return tables
        columns = {_EMPTY: {"data_type": "bool", "hard_delete": True}}
        return dlt.mark.with_hints(tables, dlt.mark.make_hints(columns=columns))

    def hours() -> Iterator[object]:
        # dlt saves the state in the destination, and only after everything was loaded.
        state = dlt.current.resource_state()
        last = datetime.fromisoformat(state["hour"]) if "hour" in state else None
        types = state.setdefault("types", {})
        repeats = []
        for day in sorted(client.dates()):
            for hour in range(24):
                start = datetime.combine(day, time(hour), UTC)
                if last and last - start > late:
                    continue
                table = client.events(day, hour=hour).to_arrow()
                if last and start <= last:
                    repeats.append(_in_hour(table, start, types))
                elif table.num_rows:
                    state["hour"] = start.isoformat()
                    # Hours that are loaded again come with a new one, so that a limit advances.
                    yield marked([*repeats, _in_hour(table, start, types)])
                    repeats = []
        if repeats:
            yield marked(repeats)

    resource: DltResource = dlt.resource(
        hours,
        name="events",
        write_disposition="merge",  # an hour that was loaded before is replaced as a whole
        merge_key=_HOUR,
        columns={_HOUR: {"nullable": True}},
    )
    return resource


def _in_hour(table: "pa.Table", start: datetime, types: dict[str, str]) -> "pa.Table":
    """Return the events of an hour, and the hour itself, as a table that dlt can load.

    dlt joins tables only if a column has the same type in all of them. Like dlt with other data,
    this puts values that do not fit the type of a column into another one, `<name>__v_<type>`.
    Without events, the only row is one that dlt does not insert: it just deletes the old ones.

    Args:
        types: the type of each column so far, by its name in `_types`; new ones are added.
    """
    import pyarrow as pa

    hour = pa.repeat(pa.scalar(start, _types()["timestamp"]), max(1, table.num_rows))
    if not table.num_rows:
        return pa.table({_HOUR: hour, _EMPTY: [True]})
    columns = {}
    documented = {*event_schema().names}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count == len(column) and (name in types or name not in documented):
            continue  # dlt fills it with null, and its type may be known later
        kind, values = _plain(column)
        first = types.setdefault(name, kind)
        place = name if first == kind else f"{name}__v_{kind}"
        if first == "text" or {first, kind} <= _NUMBERS:
            with suppress(pa.ArrowInvalid):
                values, place = values.cast(_types()[first]), name
        columns[place] = values
    return pa.table({**columns, _HOUR: hour})


def _plain(column: "pa.ChunkedArray") -> "tuple[str, pa.ChunkedArray]":
    """Return values with one of the types of `_types`, and the name of the type."""
    import pyarrow as pa

    from ._outputs.arrow.conversion import json_of_pairs

    type_ = column.type
    if pa.types.is_map(type_):
        column = json_of_pairs(column)  # BigQuery, for example, reads no JSON from Parquet
    elif pa.types.is_timestamp(type_):
        column = column.cast(_types()["timestamp"], safe=False)  # DuckDB has no nanoseconds
    elif pa.types.is_decimal(type_):
        column = column.cast(pa.decimal128(38, type_.scale))
    for kind, plain in _types().items():
        if column.type == plain:
            return kind, column
    return "text", column.cast(pa.string())


def _types() -> "dict[str, pa.DataType]":
    import pyarrow as pa

    return {
        "text": pa.string(),
        "bigint": pa.int64(),
        "integer": pa.decimal128(38, 0),
        "decimal": pa.decimal128(38, 9),
        "bool": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
