"""Read events page by page: a partition an hour, with requests leased from the driver."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from adanalytics_client._base.dates import Period
from adanalytics_client.dataset import Hour
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.spark.columns import Columns
from adanalytics_client.spark.settings import Environment, Settings


@dataclass(frozen=True)
class HourOfPages(InputPartition):
    """An hour to request; its requests are counted under `read_id`."""

    hour: Hour
    read_id: str

    def __str__(self) -> str:
        return f"{self.hour.day} hour {self.hour.hour}"


def plan_pages(
    settings: Settings,
    environment: Environment,
    span: Period,
    is_wanted: Callable[[Hour], bool],
) -> list[InputPartition]:
    """List the wanted hours of the days that have data; one request.

    Raises:
        ConfigurationError: when they need more requests than `maxRequests`.
        AdAnalyticsError: when the service refuses.
    """
    read_id = uuid4().hex
    with settings.client(environment, read_id=read_id) as client:
        plan = client.events(span.first, span.last).plan.only_days(client.dates())
    hours = [Hour(each.start, each.hour or 0) for each in plan.slices]
    wanted = [HourOfPages(hour, read_id) for hour in hours if is_wanted(hour)]
    if len(wanted) + 1 > settings.max_requests:
        raise ConfigurationError(
            f"The read needs at least {len(wanted) + 1} requests, but maxRequests is "
            f"{settings.max_requests}. Allow more, or read fewer hours."
        )
    return list(wanted)


def read_pages(
    settings: Settings,
    environment: Environment,
    columns: Columns,
    part: HourOfPages,
) -> Iterator[pa.RecordBatch]:
    """Request the events of an hour; memory holds the pages of `Client.events`."""
    with settings.client(environment, read_id=part.read_id) as client:
        query = client.events(part.hour.day, hour=part.hour.hour, rows_key=settings.rows_key)
        for batch in query.to_arrow_batches(columns=columns.schema.names):
            yield columns.convert(batch)
