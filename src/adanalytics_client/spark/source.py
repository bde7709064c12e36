"""The data source that Spark registers."""

import os
from collections.abc import Mapping, MutableMapping

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from adanalytics_client.spark.columns import EVENT_SCHEMA, SparkColumns
from adanalytics_client.spark.exports import ExportReader
from adanalytics_client.spark.settings import Settings


class AdAnalyticsDataSource(DataSource):
    """Events of the service as rows of Spark, read in parallel from bulk exports.

    Spark plans a `load()` at its first action: the driver asks for the days with data, orders an
    export of each, and waits for all; its log says for how long. If one fails, the next plan waits
    for the others and orders only that one. Each file of an export is a partition. Each action
    downloads all of them again. To read the same events often, sync them to Parquet and read that.

    Filters do not limit what is requested; the options `start`, `end` and `hour` do.

    Only planning needs the credential, which it takes from `environment()`, and quota, which it
    counts in the log of every `Client` of this user on the driver's machine. Executors download
    from signed addresses without a credential, and these downloads cost no quota.

    Other Args: Options of `spark.read`:
        partner (str): whose events to read; by default `ADANALYTICS_PARTNER`.
        start (str): the first day, as for `Client.events`; it has no default.
        end (str): the last day, included; by default the end of `start`.
        hour (int): only this hour, 0 to 23, of each day; the whole day is downloaded.
        baseUrl (str): the address of the service; by default `ADANALYTICS_BASE_URL`.
        timeout (float = 3600): the most seconds to wait for an export.
        onLimit (str = wait): `wait` until requests are free again, or `raise`, which fails the
            query with the time when they are.
        maxWait (float = 7200): seconds; a longer wait for requests raises instead.

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
        """Return the name for `spark.read.format`."""
        return "adanalytics"

    def schema(self) -> StructType:
        """Return the documented columns, with the types of `EventQuery.to_arrow`.

        A schema that the user gives may choose among them, and give money 38 digits.
        """
        return EVENT_SCHEMA

    def environment(self) -> Mapping[str, str]:
        """Return the variables that `Client.from_env` reads; by default those of the process.

        Override it to fetch the credential from elsewhere. It is called on the driver only.

        Examples:
            >>> class FromVault(AdAnalyticsDataSource):
            ...     def environment(self):
            ...         return {**os.environ, "ADANALYTICS_API_KEY": read_key_from_vault()}
        """
        return os.environ

    def reader(self, schema: StructType) -> ExportReader:
        """Return the reader of a range of days."""
        return ExportReader(self._settings, SparkColumns.of(schema), self.environment)
