"""Divide the nightly sync of a dataset among the workers of Apache Airflow 3.

Only the first and the last task use the connection, which is that of airflow_dag.py. Between these
two tasks, each file of an export has its own task. All workers reach the dataset at the same path
or address.
"""

from datetime import UTC, datetime, timedelta

from airflow.sdk import Asset, Connection, dag, task

from adanalytics_client import Client, QuotaPolicy
from adanalytics_client.dataset import Dataset, Part, Task


def connect() -> tuple[Client, Dataset]:
    service = Connection.get("adanalytics")
    more = service.extra_dejson
    client = Client(
        service.host,
        api_key=service.password,
        partner=more["partner"],
        quota=QuotaPolicy(on_limit="raise"),
    )
    return client, Dataset(more["dataset"])


@dag(
    schedule="30 2 * * *",  # in UTC; an hour counts as over two hours after its end
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,  # a plan finds the missing days by itself
    max_active_runs=1,  # a new plan replaces the one before
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
)
def adanalytics_tasks() -> None:
    # Each address is signed: anyone who has it can read the events until it expires.
    @task(show_return_value_in_logs=False)
    def plan() -> list[str]:
        client, dataset = connect()
        with client:
            return [each.to_json() for each in dataset.tasks(client)]

    @task
    def run(text: str) -> str:
        return Task.from_json(text).run().to_json()

    # The days whose files all arrived are committed even if other files failed.
    @task(trigger_rule="all_done", outlets=[Asset("adanalytics_events")])
    def commit(planned: list[str] | None, delivered: list[str]) -> int:
        if planned is None:  # otherwise a run without a plan would succeed
            raise RuntimeError("The plan failed.")
        client, dataset = connect()
        with client:
            report = dataset.commit(client, [Part.from_json(text) for text in delivered])
        if report.failed:
            first = report.failed[0]
            raise RuntimeError(f"{report.left} hours are missing. {first.query}: {first.message}")
        return report.events

    planned = plan()
    commit(planned, run.expand(text=planned))


adanalytics_tasks()
