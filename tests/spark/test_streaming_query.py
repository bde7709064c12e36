"""Queries on Spark that follow the stream into partitioned Parquet, stop, and start again."""

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from tests.spark.in_process import FIRST, SECOND, Row, as_spark_passes, asked, load, rows_of

from adanalytics_client import Client
from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_server.local import LocalServer

MIDNIGHT = datetime.combine(FIRST, time(), UTC)
HOUR = timedelta(hours=1)
KEYS = ("event_date", "event_hour")


@pytest.fixture(scope="module")
def events(started: LocalServer) -> list[Row]:
    """The events of two days."""
    with Client(started.url, api_key=started.api_key, partner=started.partner) as client:
        return list(client.events(FIRST, SECOND).rows())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """An empty server of each test, because the workers of Spark keep the exports of others."""
    with LocalServer() as server:
        monkeypatch.setenv("ADANALYTICS_BASE_URL", server.url)
        monkeypatch.setenv("ADANALYTICS_API_KEY", server.api_key)
        monkeypatch.setenv("ADANALYTICS_PARTNER", server.partner)
        yield server


def between(rows: list[Row], first: datetime, end: datetime) -> list[Row]:
    """The events of the hours from one moment to another."""
    return [row for row in rows if first <= datetime.fromisoformat(row["event_time"]) < end]


def over_at(now: datetime) -> list[Row]:
    """The service's events of the hours that are over."""
    with Client.from_env() as client:
        table = client.events(FIRST, SECOND).to_arrow()
    return [row for row in rows_of(table) if row["event_time"] < now - HOUR]


def hours_requested(server: LocalServer) -> list[str]:
    queries = [dict(each.query) for each in server.journal.entries()]
    return sorted(f"{each['start_date']}T{each['hour']:>02}" for each in queries if "hour" in each)


def source_at(server: LocalServer, now: datetime) -> type[AdAnalyticsDataSource]:
    """A data source for workers, which have neither our variables nor a clock that we move."""
    key, seconds = server.api_key, now.timestamp()

    class Stopped:
        def time(self) -> float:
            return seconds

        def monotonic(self) -> float:
            return seconds

        def sleeping(self, pause: float) -> float:
            return pause

    class Then(AdAnalyticsDataSource):
        def environment(self) -> Mapping[str, str]:
            return {**os.environ, "ADANALYTICS_API_KEY": key}

        def clock(self) -> Stopped:
            return Stopped()

    return Then


class Job:
    """A program that follows the stream into Parquet; each run takes what is there, and stops."""

    def __init__(
        self, spark: SparkSession, server: LocalServer, folder: Path, **options: object
    ) -> None:
        self.spark, self.server = spark, server
        self.events, self.checkpoint = str(folder / "events"), str(folder / "checkpoint")
        self.options = as_spark_passes(
            {"partner": server.partner, "baseUrl": server.url, "start": FIRST, **options}
        )

    def stream(self, now: datetime) -> DataFrame:
        self.spark.dataSource.register(source_at(self.server, now))
        return self.spark.readStream.format("adanalytics").options(**self.options).load()

    def append(self, now: datetime) -> None:
        """Append new hours; Spark's file sink leaves out the files of failed attempts."""
        writer = self.stream(now).writeStream.format("parquet").partitionBy(*KEYS)
        self.run(writer.option("path", self.events))

    def replace(self, now: datetime) -> None:
        """Replace the partitions of the hours that were read."""

        def write(batch: DataFrame, _number: int) -> None:
            writer = batch.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
            writer.partitionBy(*KEYS).parquet(self.events)

        self.run(self.stream(now).writeStream.foreachBatch(write))

    def run(self, writer: Any) -> None:
        checkpointed = writer.option("checkpointLocation", self.checkpoint)
        checkpointed.trigger(availableNow=True).start().awaitTermination()

    def rows(self) -> list[Row]:
        schema = AdAnalyticsDataSource(self.options).schema()
        return rows_of(self.spark.read.schema(schema).parquet(self.events).toArrow())


def test_a_restart_reads_only_new_hours(
    spark: SparkSession,
    server: LocalServer,
    via: dict[str, object],
    events: list[Row],
    tmp_path: Path,
) -> None:
    job, now = Job(spark, server, tmp_path, lookback=0, **via), MIDNIGHT + 6 * HOUR
    load(server, between(events, MIDNIGHT, now), tmp_path)
    job.append(now)
    load(server, between(events, now, now + 24 * HOUR), tmp_path)
    server.journal.clear()
    job.append(now + 3 * HOUR)
    new = ["2026-01-15T05", "2026-01-15T06", "2026-01-15T07"]
    assert hours_requested(server) == (new if via else [])
    server.journal.clear()
    job.append(now + 3 * HOUR)
    assert asked(server) == ["dates"]
    assert job.rows() == over_at(now + 3 * HOUR)


@pytest.mark.parametrize("sink", [Job.append, Job.replace])
def test_the_run_after_a_failed_batch_reads_it_and_the_new_hours(
    sink: Callable[[Job, datetime], None],
    spark: SparkSession,
    server: LocalServer,
    via: dict[str, object],
    events: list[Row],
    tmp_path: Path,
) -> None:
    job = Job(spark, server, tmp_path, lookback=0, **via)
    load(server, events, tmp_path)
    # Six hours of pages, or two files.
    now = MIDNIGHT + (7 if via else 27) * HOUR
    server.faults.add("403 on events after 3" if via else "403 on download after 1")
    with pytest.raises(StreamingQueryException, match=r"PermissionDenied|ExportExpired"):
        sink(job, now)
    server.faults.clear()
    sink(job, now + HOUR)
    assert job.rows() == over_at(now + HOUR)


def test_the_lookback_replaces_late_and_restated_hours(
    spark: SparkSession,
    server: LocalServer,
    via: dict[str, object],
    events: list[Row],
    tmp_path: Path,
) -> None:
    job, now = Job(spark, server, tmp_path, lookback=2, **via), MIDNIGHT + 6 * HOUR
    third, fourth = (
        between(events, MIDNIGHT + n * HOUR, MIDNIGHT + (n + 1) * HOUR) for n in (3, 4)
    )
    load(server, [row for row in events if row != fourth[0]], tmp_path)
    job.replace(now)
    before = over_at(now)
    assert job.rows() == before
    load(server, [{**row, "revenue": "0.000000001"} for row in third] + fourth, tmp_path)
    server.journal.clear()
    job.replace(now + HOUR)
    requested = ["2026-01-15T03", "2026-01-15T04", "2026-01-15T05"]
    assert hours_requested(server) == (requested if via else [])
    after = over_at(now + HOUR)
    assert after != before
    assert job.rows() == after


def test_a_query_that_polls_sends_few_requests(
    spark: SparkSession,
    server: LocalServer,
    pages: dict[str, object],
    events: list[Row],
    tmp_path: Path,
) -> None:
    load(server, events, tmp_path)
    job = Job(spark, server, tmp_path, lookback=0, **pages)
    writer = job.stream(MIDNIGHT + 3 * HOUR).writeStream.format("noop")
    query = writer.option("checkpointLocation", job.checkpoint).start()
    try:
        for _ in range(20):
            query.processAllAvailable()
    finally:
        query.stop()
    # One for the offset, and one for the plan of the batch.
    assert asked(server).count("dates") == 2
