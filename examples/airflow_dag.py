"""Bring a dataset of hourly files up to date every night, with Apache Airflow 3.

Airflow's connection `adanalytics` holds the address and the key, which Airflow masks in its logs:

    AIRFLOW_CONN_ADANALYTICS='{"conn_type": "http", "host": "https://stats.example",
        "password": "<API key>", "extra": {"partner": "acme", "dataset": "s3://bucket/events"}}'

`airflow dags test adanalytics` runs the DAG once, without a scheduler.
"""

from datetime import UTC, datetime, timedelta

from airflow.sdk import Asset, Connection, dag, task

from adanalytics_client import Client, QuotaPolicy
from adanalytics_client.dataset import Dataset


@dag(
    schedule="30 2 * * *",  # in UTC; an hour counts as over two hours after its end
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,  # a sync finds the missing days by itself
    max_active_runs=1,  # two processes never work on one dataset
)
def adanalytics() -> None:
    # A task that waited for quota would keep its slot. It fails instead, and a retry continues.
    @task(retries=3, retry_delay=timedelta(hours=1), outlets=[Asset("adanalytics_events")])
    def sync() -> int:
        service = Connection.get("adanalytics")
        more = service.extra_dejson
        with Client(
            service.host,
            api_key=service.password,
            partner=more["partner"],
            quota=QuotaPolicy(on_limit="raise"),
        ) as client:
            report = Dataset(more["dataset"]).sync(client)
        if report.failed:
            first = report.failed[0]
            raise RuntimeError(f"{report.left} hours are missing. {first.query}: {first.message}")
        return report.events

    sync()


adanalytics()
