"""The data source that Spark registers."""

import os
from collections.abc import Mapping, MutableMapping

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from adanalytics_client._base.clock import Clock, SystemClock
from adanalytics_client.spark.columns import EVENT_SCHEMA, Columns
from adanalytics_client.spark.reader import HourStream, Partitions, RangeReader
from adanalytics_client.spark.settings import Settings


class AdAnalyticsDataSource(DataSource):
    """Events of the service as rows of Spark, read in parallel under one quota.

    Spark plans a `load()` at its first action: the driver asks for the days with data, and with
    `via=export` for their summary, and orders what no earlier `load()` ordered. Each action reads
    all of it again. To read the same events often, sync them to Parquet and read that.

    Filters do not limit what is requested; the options `start`, `end` and `hour` do.

    The credential is never part of a plan: the driver and, with `via=pages`, the executors take it
    from `environment()`. With `via=export` executors need none.

    Options:
        - `partner`: whose events to read; by default `ADANALYTICS_PARTNER`.
        - `start`: the first day, as for `Client.events`; of a stream, a plain `YYYY-MM-DD`.
        - `end`: the last day, included; by default the end of `start`. A stream without it never
          ends.
        - `hour`: only this hour, 0 to 23, of each day.
        - `baseUrl`: the service; by default `ADANALYTICS_BASE_URL`.
        - `via`: `export` (the default) orders a bulk export for each day, and each of its files is
          a partition; `pages` requests hours, and each is a partition.
        - `timeout`: the most seconds to wait for an export; by default 3600. Of `via=export`.
        - `quotaServer`: the address of a `QuotaServer`; needed by `via=pages`.
        - `maxRequests`: the most requests of one `load()`, with all its actions and repeated tasks,
          or of one batch of a stream; needed by `via=pages`.
        - `onLimit`: `wait` until requests are free again, or `raise`, which fails the task with the
          time when they are.
        - `maxWait`: seconds; a longer wait for requests raises instead. By default 7200.
        - `rowsKey`: as `rows_key` of `Client.events`; of `via=pages`.
        - `lookback`: hours before its new ones that each batch of a stream reads again; a stream
          needs it, and only a stream uses it.

    Raises:
        ConfigurationError: naming the option that is unknown, missing or wrong.

    Examples:
        >>> spark.dataSource.register(AdAnalyticsDataSource)
        >>> days = {"start": "2026-01-15", "end": "2026-01-16"}
        >>> events = spark.read.format("adanalytics").options(partner="acme", **days).load()
        >>> events.where("event_type = 'impression'").count()
        148
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._settings = Settings.read(options, self.environment)

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return "adanalytics"

    def schema(self) -> StructType:
        """The documented columns, with the types of `EventQuery.to_arrow`.

        A schema that the user gives may choose among them, and give money 38 digits.
        """
        return EVENT_SCHEMA

    def environment(self) -> Mapping[str, str]:
        """The variables that `Client.from_env` reads; by default those of the process.

        Override it to fetch the credential from elsewhere. It is called on the driver, and with
        `via=pages` on executors.

        Examples:
            >>> class FromVault(AdAnalyticsDataSource):
            ...     def environment(self):
            ...         return {**os.environ, "ADANALYTICS_API_KEY": read_key_from_vault()}
        """
        return os.environ

    def clock(self) -> Clock:
        """The source of the time, which decides on relative days and on the hours of a stream.

        Override it in tests.
        """
        return SystemClock()

    def reader(self, schema: StructType) -> RangeReader:
        """The reader of a range of days."""
        return RangeReader(self._partitions(schema))

    def streamReader(self, schema: StructType) -> HourStream:  # noqa: N802  # Spark's name
        """The reader of new hours."""
        return HourStream(self._partitions(schema))

    def _partitions(self, schema: StructType) -> Partitions:
        return Partitions(self._settings, Columns.of(schema), self.environment, self.clock())
