"""Load events into DuckDB with dlt; each run requests the hours since the last one.

    ADANALYTICS_BASE_URL=... ADANALYTICS_API_KEY=... ADANALYTICS_PARTNER=... \
        python examples/dlt_pipeline.py warehouse.duckdb

dlt sends usage statistics to its makers. RUNTIME__DLTHUB_TELEMETRY=false in the environment,
or `dlthub_telemetry=false` below `[runtime]` in `.dlt/config.toml`, turns them off.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

import dlt
import pyarrow as pa

from adanalytics_client import Client
from adanalytics_client.tables import event_schema

# Events may arrive late, so this many hours before the last loaded one are requested again.
LATE = timedelta(hours=3)

SCHEMA = event_schema()
for name in ("event_time", "received_at"):
    # DuckDB keeps times with a zone in microseconds.
    field = pa.field(name, pa.timestamp("us", tz="UTC"))
    SCHEMA = SCHEMA.set(SCHEMA.get_field_index(name), field)

HOUR = ("event_date", "event_hour")


@dlt.resource(
    write_disposition="merge",  # an hour that was loaded before is replaced as a whole
    merge_key=HOUR,
    columns={name: {"nullable": True} for name in HOUR},  # as in SCHEMA
)
def events(client: Client) -> Iterator[pa.Table]:
    """The events of each hour as a table; amounts are decimals."""
    # dlt saves the state in the destination, and only after everything was loaded.
    state = dlt.current.resource_state()
    since = datetime.fromisoformat(state["hour"]) - LATE if state else None
    for day in client.dates():
        for hour in range(24):
            start = datetime.combine(day, time(hour), UTC)
            if since and start < since:
                continue
            table = client.events(day, hour=hour).to_arrow(columns=SCHEMA.names)
            if table.num_rows:
                state["hour"] = start.isoformat()
                yield table.cast(SCHEMA)


def main(file: str) -> None:
    pipeline = dlt.pipeline(
        "adanalytics", destination=dlt.destinations.duckdb(file), dataset_name="adanalytics"
    )
    with Client.from_env() as client:
        # To split a long first load, events(client).add_limit(500) loads 500 hours per run.
        print(pipeline.run(events(client)))


if __name__ == "__main__":
    main(sys.argv[1])
