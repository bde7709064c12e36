"""Load events into DuckDB with dlt; each run requests the hours since the last one.

    ADANALYTICS_BASE_URL=... ADANALYTICS_API_KEY=... ADANALYTICS_PARTNER=... \
        python examples/dlt_pipeline.py warehouse.duckdb

dlt sends usage statistics to its makers. RUNTIME__DLTHUB_TELEMETRY=false in the environment,
or `dlthub_telemetry=false` below `[runtime]` in `.dlt/config.toml`, turns them off.
"""

import sys

import dlt

from adanalytics_client import Client
from adanalytics_client.dlt import events


def main(file: str) -> None:
    pipeline = dlt.pipeline(
        "adanalytics", destination=dlt.destinations.duckdb(file), dataset_name="adanalytics"
    )
    with Client.from_env() as client:
        print(pipeline.run(events(client)))


if __name__ == "__main__":
    main(sys.argv[1])
