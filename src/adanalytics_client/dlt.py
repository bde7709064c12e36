"""The events as a resource of dlt, which loads them into its destinations.

Only `events` imports dlt, which the `dlt` extra installs.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from adanalytics_client._base.validation import import_extra
from adanalytics_client.client import Client
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.tables import event_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from dlt.extract import DltResource

_HOUR = ("event_date", "event_hour")


def events(client: Client, *, late: timedelta = timedelta(hours=3)) -> "DltResource":
    """Return the events as an incremental resource with the name `events`.

    The first run requests all hours of the days that the service lists, and each further run the
    hours since the last hour with events, plus the hours before it that `late` covers. An hour
    that is loaded again replaces its rows in the destination. Amounts are decimals, and times have
    microseconds, as DuckDB keeps them. To load many days in several runs, limit the hours of a
    run: `events(client).add_limit(500)`.

    Args:
        client: must stay open until the pipeline has run.
        late: how long before the last loaded hour to look for events that arrived late.

    Raises:
        ConfigurationError: if the `dlt` extra is not installed, or if `late` is negative.
        AdAnalyticsError: when a request fails while the pipeline runs; dlt wraps the error in a
            `PipelineStepFailed`, and the next run continues after the last run that succeeded.

    Examples:
        >>> pipeline = dlt.pipeline("ads", destination="duckdb", dataset_name="ads")
        >>> with Client.from_env() as client:
        ...     loaded = pipeline.run(events(client))
    """
    if late < timedelta():
        raise ConfigurationError(
            "late must not be negative.", remedy="Give a duration such as timedelta(hours=3)."
        )
    dlt = import_extra("dlt", extra="dlt")
    schema = _schema()

    def hours() -> Iterator["pa.Table"]:
        # dlt saves the state in the destination, and only after everything was loaded.
        state = dlt.current.resource_state()
        since = datetime.fromisoformat(state["hour"]) - late if state else None
        for day in client.dates():
            for hour in range(24):
                start = datetime.combine(day, time(hour), UTC)
                if since and start < since:
                    continue
                table = client.events(day, hour=hour).to_arrow(columns=schema.names)
                if table.num_rows:
                    state["hour"] = start.isoformat()
                    yield table.cast(schema)

    resource: DltResource = dlt.resource(
        hours,
        name="events",
        write_disposition="merge",  # an hour that was loaded before is replaced as a whole
        merge_key=_HOUR,
        columns={name: {"nullable": True} for name in _HOUR},  # as in the schema
    )
    return resource


def _schema() -> "pa.Schema":
    """Return the schema of events with times in microseconds, the unit of DuckDB."""
    import pyarrow as pa

    moment = pa.timestamp("us", tz="UTC")
    return pa.schema(
        field.with_type(moment) if pa.types.is_timestamp(field.type) else field
        for field in event_schema()
    )
