"""Bring a dataset of hourly files up to date every night, with Dagster 1.

ADANALYTICS_BASE_URL, ADANALYTICS_API_KEY and ADANALYTICS_PARTNER are in the environment, and the
folder or the address of the dataset is in EVENTS_DATASET.

    dagster dev --python-file dagster_assets.py
"""

import os

import dagster as dg

from adanalytics_client import Client, QuotaPolicy
from adanalytics_client.dataset import Dataset


# A run that waited for quota would keep its process. It fails instead, and a retry continues.
@dg.asset(retry_policy=dg.RetryPolicy(max_retries=3, delay=3600))
def events() -> dg.MaterializeResult[None]:
    with Client.from_env(quota=QuotaPolicy(on_limit="raise")) as client:
        report = Dataset(os.environ["EVENTS_DATASET"]).sync(client)
    if report.failed:
        first = report.failed[0]
        raise dg.Failure(f"{report.left} hours are missing. {first.query}: {first.message}")
    return dg.MaterializeResult(metadata={"events": report.events})


nightly = dg.ScheduleDefinition(
    name="nightly",
    target=[events],
    cron_schedule="30 2 * * *",  # in UTC; an hour counts as over two hours after its end
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
definitions = dg.Definitions(assets=[events], schedules=[nightly])
