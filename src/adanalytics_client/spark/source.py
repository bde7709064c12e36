"""The data source that Spark registers: the driver orders exports, and tasks read their files."""

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from adanalytics_client._base.quantities import counted
from adanalytics_client._export_files import files_of, open_signed
from adanalytics_client._json.types import DATE, FLAG, MOST_DIGITS, PAIRS, TEXT, UNITS, ColumnType
from adanalytics_client._outputs.arrow.conversion import convert
from adanalytics_client._outputs.arrow.values import REFUSALS
from adanalytics_client.client import Client
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.errors import AdAnalyticsError, ConfigurationError, ProtocolError
from adanalytics_client.tables import event_schema

# Spark writes options in this style, and does not distinguish capital letters.
_OPTIONS = ("partner", "start", "end", "baseUrl")


class AdAnalyticsDataSource(DataSource):
    """A Spark data source for a first look: it reads events from bulk exports in parallel.

    `load()` learns the columns from the first page of events, which takes two requests. With a
    schema of your own, `load()` sends nothing, and only the columns of that schema are read. If the
    columns are learned, a file with values in another column raises an error.

    Spark plans when an action runs: the driver requests the list of days with data, requests an
    export for each day, and waits for all exports. Each export file becomes a partition. Each
    action downloads all files again; `adanalytics_client.spark.sync` downloads them once.

    Only `load()` and planning need quota and the credential, which comes from the environment of
    the driver's Python workers. Executors download from signed addresses without a credential.

    Other Args: Options of `spark.read`:
        partner (str): the partner to read events for; by default `ADANALYTICS_PARTNER`.
        start (str): the first day, as for `Client.events`; required.
        end (str): the last day, included; by default the last day of the period that `start` names.
        baseUrl (str): the address of the service; by default `ADANALYTICS_BASE_URL`.

    Raises:
        ConfigurationError: for an option that is unknown, missing or invalid.
        ProtocolError: from an action, for a value that the type of its column cannot hold exactly,
            and for a column that `load()` did not learn.

    Examples:
        >>> spark.dataSource.register(AdAnalyticsDataSource)
        >>> days = {"start": "2026-01-15", "end": "2026-01-16"}
        >>> events = spark.read.format("adanalytics").options(partner="acme", **days).load()
        >>> events.where("event_type = 'impression'").count()
        148
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._is_learned = False
        names = {name.lower(): name for name in _OPTIONS}
        if unknown := sorted(options.keys() - names.keys()):
            raise ConfigurationError(
                f"Unknown option {unknown[0]!r}. Options: {', '.join(sorted(_OPTIONS))}."
            )
        if "start" not in options:
            raise ConfigurationError("start is missing: pass the first day, such as 2026-01-15.")

    @classmethod
    def name(cls) -> str:
        """Return the name for `spark.read.format`."""
        return "adanalytics"

    def schema(self) -> StructType:
        """Return the columns of the first events of the range, or without events, documented ones.

        Spark calls this only if the user passes no schema.
        """
        # Spark pickles this object with its state before it calls `reader`.
        self._is_learned = True
        with _client(self.options) as client:
            for day in _days(client, self.options):
                query = client.events(day, split="none", check="none", concurrency=1)
                with closing(query.to_arrow_batches()) as batches:
                    if (first := next(batches)).num_rows:
                        return from_arrow_schema(pa.schema(map(_for_spark, first.schema)))
        return from_arrow_schema(event_schema())

    def reader(self, schema: StructType) -> "ExportReader":
        """Return a reader for the days that the options `start` and `end` select."""
        expected = to_arrow_schema(schema, timezone="UTC")
        return ExportReader({**self.options}, expected, self._is_learned)


def _client(options: Mapping[str, str]) -> Client:
    return Client.from_env(base_url=options.get("baseurl"), partner=options.get("partner"))


def _days(client: Client, options: Mapping[str, str]) -> list[date]:
    """Return the days that have data."""
    query = client.events(options["start"], options.get("end"), split="daily")
    return [piece.start for piece in query.plan.only_days(client.dates()).slices]


def _for_spark(field: pa.Field) -> pa.Field:
    """Return a column of a page with room for larger amounts, and with a type that Spark has."""
    if pa.types.is_decimal(field.type):
        return field.with_type(pa.decimal128(MOST_DIGITS, field.type.scale))
    # Spark's times end with microseconds.
    is_long = pa.types.is_timestamp(field.type) and field.type.unit == "ns"
    return field.with_type(pa.string()) if is_long else field


@dataclass(frozen=True)
class ExportReader(DataSourceReader):
    """Plans on the driver which files to read, and reads them in tasks without a credential.

    It accepts no filters from Spark: up to Spark 4.3, a filter of one query also limits the other
    queries of the same `load()` (docs/explanation/reasons.md).
    """

    options: Mapping[str, str]
    schema: pa.Schema
    is_learned: bool

    def partitions(self) -> list[InputPartition]:
        """Order an export of each day that has data, wait for all exports, and list their files."""
        with _client(self.options) as client:
            days = _days(client, self.options)
            jobs = [client.start_export(day, format="csv") for day in days]
            for job in jobs:
                job.wait()
        exports = [files_of(job) for job in jobs]
        return [InputPartition(each) for files in exports for each in files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Download a file to disk and yield its events, holding only a few blocks in memory."""
        saved, rows = partition.value, 0
        # Spark makes an empty partition when there are none.
        if saved is None:
            return
        # The cells of a text column stay as they are, even if all of a file look like numbers.
        texts = {field.name: TEXT for field in self.schema if pa.types.is_string(field.type)}
        tables = EventTables(types=texts)
        with open_signed(saved.to_json()) as export, TemporaryDirectory() as folder:
            try:
                for table in tables.from_file(export.download(Path(folder, "export"))):
                    rows += table.num_rows
                    yield from map(self._fitted, table.to_batches())
                if (stated := saved.status.row_count) not in (None, rows):
                    raise ProtocolError(f"The export has {counted(rows, 'event')}, not {stated:,}.")
            except AdAnalyticsError as error:
                error.add_note(f"The task was reading {saved.order.start}; load() orders it anew.")
                raise

    def _fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the columns that Spark expects; one that the file lacks is null."""
        names = {*batch.schema.names}
        if names.isdisjoint(self.schema.names):
            raise ProtocolError(
                f"The file of events has none of the columns {', '.join(self.schema.names[:3])}.",
                remedy=f"Pass a schema with columns such as {', '.join(batch.schema.names[:3])}.",
            )
        if self.is_learned:
            self._check_columns(batch)
        columns = []
        for field in self.schema:
            column = batch[field.name] if field.name in names else pa.nulls(batch.num_rows)
            try:
                columns.append(_cast(column, field.type))
            except REFUSALS as error:
                raise ProtocolError(
                    f"{field.name} is {column.type} in the file of events, and {field.type} cannot "
                    f"hold its values exactly: {error}",
                    remedy="Pass a schema with another type for it.",
                ) from None
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _check_columns(self, batch: pa.RecordBatch) -> None:
        others = [
            name
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
            if name not in self.schema.names and column.null_count < len(column)
        ]
        if others:
            raise ProtocolError(
                f"The file of events has values of {', '.join(others)}, which the events that "
                "load() learned the columns from do not have.",
                remedy="Pass a schema with all the columns that you want.",
            )


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return a column as another type.

    Raises:
        REFUSALS: for a value that the type cannot hold exactly; floats take the nearest number.
    """
    if column.null_count == len(column):
        return pa.nulls(len(column), type_)
    if pa.types.is_floating(type_):
        if not pa.types.is_integer(column.type) and not pa.types.is_decimal(column.type):
            raise TypeError("some are no numbers.")
        return column.cast(type_)
    return convert(_column_type(type_), column, wide=True).cast(type_)


def _column_type(type_: pa.DataType) -> ColumnType:
    if pa.types.is_decimal(type_):
        return ColumnType("number", type_.precision - type_.scale, type_.scale)
    if pa.types.is_timestamp(type_):
        return ColumnType("time", scale=UNITS[type_.unit])
    types = {
        pa.types.is_string: TEXT,
        pa.types.is_integer: ColumnType("number", 1),
        pa.types.is_boolean: FLAG,
        pa.types.is_date: DATE,
        pa.types.is_map: PAIRS,
    }
    for fits, made in types.items():
        if fits(type_):
            return made
    raise TypeError("events have no such values.")
