"""Add up the events and revenue of each day with dask, which requests each hour when it needs it.

    ADANALYTICS_BASE_URL=... ADANALYTICS_API_KEY=... ADANALYTICS_PARTNER=... \
        python examples/dask_read.py 2026-01-15 2026-01-16

Workers need the same variables. The processes of one machine share the quota; workers on several
machines do not: with N machines, pass `limit=1000 // N` to `Client.from_env`.
"""

import sys
from collections.abc import Sequence

import dask.dataframe as dd
import pandas as pd

from adanalytics_client import Client, Slice
from adanalytics_client.tables import event_schema

# An empty frame, so that dask requests no events to find the columns and their types.
META = event_schema().empty_table().to_pandas(types_mapper=pd.ArrowDtype)
# In a frame, this column has JSON text in place of a map.
META["key_values"] = pd.Series(dtype=META.dtypes["event_id"])


def read_hour(part: Slice, columns: Sequence[str] = tuple(META)) -> pd.DataFrame:
    """The events of one hour; dask names the columns that a calculation needs."""
    with Client.from_env() as client:
        hour = client.events(part.start, hour=part.hour).to_pandas(columns=columns)
    # Amounts have 18 or 38 digits, depending on the hour, but all partitions need the same types.
    return hour.astype(META.dtypes[list(columns)])


def read_days(start: str, end: str) -> dd.DataFrame:
    """The events from `start` to `end`, both included: a partition for each hour."""
    with Client.from_env() as client:
        plan = client.events(start, end).only_days(client.dates()).plan
    return dd.from_map(read_hour, plan.slices, meta=META)


def main(start: str, end: str) -> None:
    events = read_days(start, end)
    # Amounts are added as decimals. Without groups, write events[["revenue"]].sum():
    # events["revenue"].sum() fails in dask 2026.8.
    totals = events.groupby("event_date").agg({"event_id": "count", "revenue": "sum"}).compute()
    for day, count, revenue in totals.sort_index().itertuples():
        print(f"{day}  {count} events  {revenue}")


# The guard is needed for schedulers with processes.
if __name__ == "__main__":
    main(*sys.argv[1:])
