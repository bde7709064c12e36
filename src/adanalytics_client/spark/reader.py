"""The two readers of the data source: one read of a range, and a stream of new hours."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from adanalytics_client._base.clock import Clock
from adanalytics_client._base.dates import Period, to_range
from adanalytics_client.dataset import Hour
from adanalytics_client.dataset.layout import LATENESS
from adanalytics_client.errors import AdAnalyticsError, ConfigurationError, ExportExpired
from adanalytics_client.spark.columns import Columns
from adanalytics_client.spark.exports import FileOfDay, plan_exports, read_file
from adanalytics_client.spark.kept_exports import ORDER_ANEW
from adanalytics_client.spark.pages import HourOfPages, plan_pages, read_pages
from adanalytics_client.spark.settings import Environment, Settings, Via

# Spark asks a stream for its latest offset up to a hundred times a second.
_SECONDS_BETWEEN_QUESTIONS = 300.0

# What to do when a task has no credential, or one that is refused.
_CURES: dict[Via, str] = {
    "export": "Executors download from signed addresses only; read this service with via=pages.",
    "pages": "Executors take the credential from their own environment: set "
    "spark.executorEnv.ADANALYTICS_API_KEY, or override environment().",
}


@dataclass(frozen=True, slots=True)
class Partitions:
    """Plans partitions on the driver and reads them in tasks; it holds no credential.

    Attributes:
        settings: the options.
        columns: the columns of the rows.
        environment: returns the variables of the process that calls it, with the credential.
        clock: the source of the time.
    """

    settings: Settings
    columns: Columns
    environment: Environment
    clock: Clock

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.time(), tz=UTC)

    def plan(
        self, span: Period, is_wanted: Callable[[Hour], bool], *, batch: str = ""
    ) -> list[InputPartition]:
        """List the partitions of the wanted hours; it runs on the driver, and sends requests.

        Args:
            span: the days.
            is_wanted: whether to read an hour.
            batch: names the batch of a stream.
        """
        settings = self.settings

        def is_left(hour: Hour) -> bool:
            return settings.hour in {None, hour.hour} and is_wanted(hour)

        if settings.via == "export":
            return plan_exports(settings, self.environment, span, is_left, batch)
        return plan_pages(settings, self.environment, span, is_left)

    def read(self, part: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a partition; it runs in a task."""
        try:
            if isinstance(part, FileOfDay):
                yield from read_file(self.settings, self.columns, part)
            elif isinstance(part, HourOfPages):
                yield from read_pages(self.settings, self.environment, self.columns, part)
            # Spark makes an empty partition when there are none.
        except AdAnalyticsError as error:
            error.add_note(f"The task was reading {part}.")
            if isinstance(error, ExportExpired):
                error.add_note(f"Spark keeps the addresses of a load(). {ORDER_ANEW}")
            if isinstance(error, ConfigurationError):
                error.add_note(_CURES[self.settings.via])
            raise


class RangeReader(DataSourceReader):
    """Reads the days of a range, or one hour of each.

    It takes no filters from Spark: up to 4.3, a filter of one query also limits the other queries
    of the same `load()` (docs/explanation/reasons.md).
    """

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def partitions(self) -> list[InputPartition]:
        """One for each hour (`via=pages`) or file (`via=export`) to read."""
        partitions, settings = self._partitions, self._partitions.settings
        days = to_range(settings.start, settings.end, today=partitions.now().date())
        return partitions.plan(Period(*days), lambda _hour: True)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a partition."""
        return self._partitions.read(partition)


class HourStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads new hours once they are over; an offset is the first hour that was not read yet.

    An hour is over an hour after its end, as for a sync. Each batch begins with the `lookback`
    hours before its new ones, whose late events a sink takes by replacing partitions.
    """

    def __init__(self, partitions: Partitions) -> None:
        if partitions.settings.lookback is None:
            raise ConfigurationError(
                "A stream needs the option lookback: the hours to read again with each batch, for "
                "late events. Choose 0 for a sink that appends; with more, replace the partitions "
                "by event_date and event_hour."
            )
        # Only plain days: a relative start would move past hours that were not read yet.
        self._first, last = to_range(partitions.settings.start, partitions.settings.end)
        self._last = last if partitions.settings.end else date.max
        self._partitions = partitions
        self._lookback = timedelta(hours=partitions.settings.lookback)
        self._asked_at, self._end = float("-inf"), ""

    def initialOffset(self) -> dict[str, str]:  # noqa: N802  # Spark's name
        """The first hour of the option `start`."""
        return {"hour": str(Hour(self._first, 0))}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        """Keep to the hours that are over now.

        Without this method Spark ends such a query after one batch, even if that repeats a batch
        that failed.
        """
        self._end, self._asked_at = str(self._ask()), float("inf")

    def latestOffset(self, start: dict[str, str], _limit: object) -> dict[str, str]:  # noqa: N802
        """The end of the hours that are over, of days that the service lists; never before `start`.

        It sends a request at most every five minutes.
        """
        now = self._partitions.clock.monotonic()
        if now - self._asked_at >= _SECONDS_BETWEEN_QUESTIONS:
            self._end, self._asked_at = str(self._ask()), now
        return {"hour": max(start["hour"], self._end)}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
        """The hours between two offsets, after those to read again."""
        begin, stop = Hour.read(start["hour"]), Hour.read(end["hour"])
        if begin == stop:
            return []
        first = max(_hour_of(begin.start - self._lookback), Hour(self._first, 0))
        span = Period(first.day, _hour_of(stop.start - timedelta(hours=1)).day)
        return self._partitions.plan(span, lambda hour: first <= hour < stop, batch=str(stop))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a partition."""
        return self._partitions.read(partition)

    def _ask(self) -> Hour:
        partitions = self._partitions
        with partitions.settings.client(partitions.environment) as client:
            listed = client.dates()
        days = [day for day in listed if self._first <= day <= self._last]
        if not days:
            return Hour(self._first, 0)
        return min(Hour(max(days) + timedelta(days=1), 0), _hour_of(partitions.now() - LATENESS))


def _hour_of(moment: datetime) -> Hour:
    return Hour(moment.date(), moment.hour)
