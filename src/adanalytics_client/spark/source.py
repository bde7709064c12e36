"""The data source that Spark registers: the driver orders exports, and tasks read their files."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from adanalytics_client._base.quantities import counted
from adanalytics_client._export_files import files_of, open_signed
from adanalytics_client.client import Client
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.errors import AdAnalyticsError, ConfigurationError, ProtocolError
from adanalytics_client.tables import event_schema

EVENT_SCHEMA = from_arrow_schema(event_schema())
"""The documented columns, with the types of a dataset's files."""

# Spark writes options in this style, and does not distinguish capital letters.
_OPTIONS = ("partner", "start", "end", "baseUrl")


class AdAnalyticsDataSource(DataSource):
    """A Spark data source for a first look: it reads events from bulk exports in parallel.

    Spark plans a `load()` when the first action runs: the driver requests the list of days with
    data, requests an export for each day, and waits for all exports. Each export file becomes a
    partition. Each action downloads all files again; `adanalytics_client.spark.sync` downloads them
    once.

    Only planning needs quota and the credential, which comes from the environment of the driver's
    Python workers. Executors download from signed addresses without a credential.

    Other Args: Options of `spark.read`:
        partner (str): the partner to read events for; by default `ADANALYTICS_PARTNER`.
        start (str): the first day, as for `Client.events`; required.
        end (str): the last day, included; by default the last day of the period that `start` names.
        baseUrl (str): the address of the service; by default `ADANALYTICS_BASE_URL`.

    Raises:
        ConfigurationError: for an option that is unknown, missing or invalid.

    Examples:
        >>> spark.dataSource.register(AdAnalyticsDataSource)
        >>> days = {"start": "2026-01-15", "end": "2026-01-16"}
        >>> events = spark.read.format("adanalytics").options(partner="acme", **days).load()
        >>> events.where("event_type = 'impression'").count()
        148
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
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
        """Return the documented columns; a schema passed by the user may select other ones."""
        return EVENT_SCHEMA

    def reader(self, schema: StructType) -> "ExportReader":
        """Return a reader for the days that the options `start` and `end` select."""
        for field in schema.fields:
            if field.name in EVENT_SCHEMA.names and field not in EVENT_SCHEMA.fields:
                raise ConfigurationError(f"Events have no column {field.simpleString()}.")
        return ExportReader({**self.options}, to_arrow_schema(schema, timezone="UTC"))


@dataclass(frozen=True)
class ExportReader(DataSourceReader):
    """Plans on the driver which files to read, and reads them in tasks without a credential.

    It accepts no filters from Spark: up to Spark 4.3, a filter of one query also limits the other
    queries of the same `load()` (docs/explanation/reasons.md).
    """

    options: Mapping[str, str]
    schema: pa.Schema

    def partitions(self) -> list[InputPartition]:
        """Order an export of each day that has data, wait for all exports, and list their files."""
        asked = self.options
        with Client.from_env(base_url=asked.get("baseurl"), partner=asked.get("partner")) as client:
            query = client.events(asked["start"], asked.get("end"), split="daily")
            days = [each.start for each in query.plan.only_days(client.dates()).slices]
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
        with open_signed(saved.to_json()) as export, TemporaryDirectory() as folder:
            try:
                for table in EventTables().from_file(export.download(Path(folder, "export"))):
                    rows += table.num_rows
                    yield from self._fitted(table).to_batches()
                if (stated := saved.status.row_count) not in (None, rows):
                    raise ProtocolError(f"The export has {counted(rows, 'event')}, not {stated:,}.")
            except AdAnalyticsError as error:
                error.add_note(f"The task was reading {saved.order.start}; load() orders it anew.")
                raise

    def _fitted(self, table: pa.Table) -> pa.Table:
        """Return the columns that Spark expects; one that the file lacks is null."""
        columns, names = [], {*table.column_names}
        if names.isdisjoint(self.schema.names):
            raise ProtocolError(
                f"The file of events has none of the columns {', '.join(self.schema.names[:3])}.",
                remedy=f"Pass a schema with columns such as {', '.join(table.column_names[:3])}.",
            )
        for field in self.schema:
            column = table[field.name] if field.name in names else pa.nulls(len(table))
            try:
                columns.append(column.cast(field.type))
            except pa.ArrowException as error:
                raise ProtocolError(
                    f"{field.name} is {column.type} in the file of events, not {field.type}: "
                    f"{error}.",
                    remedy="Pass a schema with another type for it.",
                ) from None
        return pa.table(columns, self.schema)
