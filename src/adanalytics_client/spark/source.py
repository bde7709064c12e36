"""The data source that Spark registers: the driver orders exports, and tasks read their files."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from adanalytics_client._base.quantities import counted
from adanalytics_client._export_files import files_of, open_signed
from adanalytics_client.client import Client
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.errors import AdAnalyticsError, ConfigurationError, ProtocolError
from adanalytics_client.tables import event_schema

# Spark's timestamps count microseconds:
# https://spark.apache.org/docs/latest/api/python/tutorial/sql/arrow_pandas.html
_TIME = pa.timestamp("us", tz="UTC")

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
        """Return the documented columns; a schema passed by the user may select some of them."""
        return EVENT_SCHEMA

    def reader(self, schema: StructType) -> "ExportReader":
        """Return a reader for the days that the options `start` and `end` select."""
        for each in schema.fields:
            if each not in EVENT_SCHEMA.fields:
                raise ConfigurationError(f"Events have no column {each.simpleString()}.")
        return ExportReader({**self.options}, schema.names)


@dataclass(frozen=True)
class ExportReader(DataSourceReader):
    """Plans on the driver which files to read, and reads them in tasks without a credential.

    It accepts no filters from Spark: up to Spark 4.3, a filter of one query also limits the other
    queries of the same `load()` (docs/explanation/reasons.md).
    """

    options: Mapping[str, str]
    columns: list[str]

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
        fields = map(event_schema().field, self.columns)
        is_time = pa.types.is_timestamp
        schema = pa.schema(each.with_type(_TIME) if is_time(each.type) else each for each in fields)
        with open_signed(saved.to_json()) as export, TemporaryDirectory() as folder:
            try:
                for table in EventTables().from_file(export.download(Path(folder, "export"))):
                    rows += table.num_rows
                    yield from table.select(self.columns).cast(schema).to_batches()
                if (stated := saved.status.row_count) not in (None, rows):
                    raise ProtocolError(f"The export has {counted(rows, 'event')}, not {stated:,}.")
            except AdAnalyticsError as error:
                error.add_note(f"The task was reading {saved.order.start}; load() orders it anew.")
                raise
