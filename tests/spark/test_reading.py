"""The data source without Spark: the driver's plan and the tasks' reads, in this process."""

import os
import pickle
from collections.abc import Mapping
from datetime import timedelta
from traceback import TracebackException
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import DecimalType, StringType, StructField, StructType
from tests.spark.in_process import (
    FIRST,
    SECOND,
    as_spark_passes,
    asked,
    hours_of,
    rows_of,
    table_of,
)

from adanalytics_client import (
    AdAnalyticsError,
    Client,
    ConfigurationError,
    ExportError,
    ExportExpired,
    PermissionDenied,
    RateLimited,
)
from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_server.local import LocalServer

DAYS = {"start": FIRST, "end": SECOND}


def source_of(**options: object) -> AdAnalyticsDataSource:
    return AdAnalyticsDataSource(as_spark_passes(options))


def reader_of(**options: object) -> Any:
    source = source_of(**options)
    return source.reader(source.schema())


def read(reader: Any) -> pa.Table:
    return table_of(reader, reader.partitions())


def test_the_rows_are_those_of_to_arrow(server: LocalServer) -> None:
    with Client.from_env() as client:
        expected = client.events(FIRST, SECOND).to_arrow()
    found = read(reader_of(**DAYS))
    assert rows_of(found) == rows_of(expected)
    assert found.schema.names == expected.schema.names
    assert found.schema.field("revenue").type == expected.schema.field("revenue").type


def test_a_range_without_data_has_no_partition(server: LocalServer) -> None:
    reader = reader_of(start="2025-01-01", end="2025-01-31")
    assert reader.partitions() == []
    assert {"events", "start_export"}.isdisjoint(asked(server))


def test_spark_reads_an_empty_partition_when_there_is_none(server: LocalServer) -> None:
    assert list(reader_of(**DAYS).read(InputPartition(None))) == []


def test_only_the_hour_of_the_option_is_taken_from_an_export(server: LocalServer) -> None:
    assert hours_of(read(reader_of(**DAYS, hour=3))) == {(FIRST, 3), (SECOND, 3)}


def test_a_plan_counts_in_the_quota_of_this_machine(server: LocalServer) -> None:
    reader = reader_of(start=FIRST, end="2026-01-31")
    with Client.from_env() as client:
        before = client.quota.remaining or 0
        parts = reader.partitions()
        assert asked(server).count("start_export") == len(parts) == 2
        assert before - (client.quota.remaining or 0) == len(asked(server))


def test_a_schema_chooses_columns_and_the_width_of_money(server: LocalServer) -> None:
    wide = StructField("revenue", DecimalType(38, 9))
    chosen = StructType([wide, StructField("event_id", StringType())])
    found = read(source_of(**DAYS).reader(chosen))
    assert found.schema.names == ["revenue", "event_id"]
    assert found.schema.field("revenue").type == pa.decimal128(38, 9)
    assert found.num_rows == 600


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        (StructField("revenue", StringType()), "is decimal(18,9) or decimal(38,9), not string"),
        (StructField("event_hour", StringType()), "is bigint, not string"),
        (StructField("revnue", StringType()), "no column revnue"),
        (StructField("os", StringType(), nullable=False), "must be nullable"),
        (None, "no column"),
    ],
    ids=["money", "hour", "unknown", "never null", "none"],
)
def test_a_schema_that_events_do_not_have_is_refused(
    field: StructField | None, problem: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        source_of(start=FIRST).reader(StructType([field] if field else []))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"start": FIRST, "ende": SECOND}, "Unknown option 'ende'"),
        ({}, "start is missing"),
        ({"start": FIRST, "via": "pages"}, "Unknown option 'via'. Options: baseUrl, end, hour, "),
        ({"start": FIRST, "onLimit": "stop"}, "Pass one of wait, raise"),
        ({"start": FIRST, "timeout": "soon"}, "a number of seconds"),
        ({"start": FIRST, "timeout": -1}, "timeout"),
        ({"start": FIRST, "hour": 24}, "from 0 to 23"),
        ({"start": FIRST, "hour": "noon"}, "from 0 to 23"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        source_of(**options)
    assert problem in str(caught.value)


def test_a_wrong_day_is_refused(server: LocalServer) -> None:
    with pytest.raises(ConfigurationError, match="start"):
        reader_of(start="2026-02-30").partitions()


def test_a_missing_partner_is_named(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADANALYTICS_PARTNER")
    with pytest.raises(ConfigurationError, match="partner"):
        reader_of(**DAYS).partitions()


def test_a_missing_credential_is_named(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    with pytest.raises(ConfigurationError, match="There is no credential"):
        reader_of(**DAYS).partitions()


def test_tasks_of_exports_need_no_credential(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = reader_of(**DAYS)
    parts = reader.partitions()
    for name in ("ADANALYTICS_API_KEY", "ADANALYTICS_BASE_URL", "ADANALYTICS_PARTNER"):
        monkeypatch.delenv(name)
    server.journal.clear()
    assert table_of(reader, parts).num_rows == 600
    assert [entry.key for entry in server.journal.entries()] == [None, None]


def test_no_local_variable_of_an_error_shows_the_credential(server: LocalServer) -> None:
    reader = reader_of(**DAYS)
    (part, *_) = reader.partitions()
    server.faults.add("418")
    for fail in (
        lambda: source_of(**DAYS, hour=24),
        reader.partitions,
        lambda: list(reader.read(part)),
    ):
        with pytest.raises(AdAnalyticsError) as caught:
            fail()
        report = TracebackException.from_exception(caught.value, capture_locals=True)
        assert "settings = " in "".join(report.format())
        assert server.api_key not in "".join(report.format())


def test_a_plan_holds_no_credential_and_shows_no_address(server: LocalServer) -> None:
    reader = reader_of(**DAYS)
    parts = reader.partitions()
    plan = pickle.dumps((reader, parts))
    assert server.api_key.encode() not in plan
    assert plan.count(b"signature=") == 2
    assert "http" not in repr(parts) + str(parts)


def test_an_export_that_fails_names_its_day(server: LocalServer) -> None:
    server.faults.add("failed export")
    with pytest.raises(ExportError) as caught:
        reader_of(**DAYS).partitions()
    assert caught.value.__notes__ == ["While exporting 2026-01-15."]


def test_a_service_that_refuses_compression_is_asked_for_none(server: LocalServer) -> None:
    reader = reader_of(**DAYS)
    assert {part.export.order.compression for part in reader.partitions()} == {"gzip"}
    server.journal.clear()
    server.faults.add("400 on start_export once")
    parts = reader.partitions()
    assert {part.export.order.compression for part in parts} == {None}
    assert asked(server).count("start_export") == 1 + 2
    assert table_of(reader, parts).num_rows == 600


def test_an_export_that_expires_before_its_task_names_its_day(server: LocalServer) -> None:
    reader = reader_of(start=FIRST)
    (part,) = reader.partitions()
    server.clock.advance(seconds=timedelta(days=30).total_seconds())
    with pytest.raises(ExportExpired) as caught:
        list(reader.read(part))
    where, cure = caught.value.__notes__
    assert where == "The task was reading 2026-01-15."
    assert "Call load() again" in cure
    assert asked(server).count("start_export") == 1


def test_an_address_that_needs_a_credential_is_refused(server: LocalServer) -> None:
    reader = reader_of(start=FIRST)
    (part,) = reader.partitions()
    server.faults.add("401 on download")
    with pytest.raises(ConfigurationError, match="needs a credential") as caught:
        list(reader.read(part))
    assert "Sync the events" in caught.value.__notes__[-1]


def test_a_download_that_may_not_wait_fails_at_once(server: LocalServer) -> None:
    reader = reader_of(start=FIRST, onLimit="raise")
    (part,) = reader.partitions()
    server.faults.add("429 retry-after 1 on download once")
    with pytest.raises(RateLimited):
        list(reader.read(part))


def test_a_partner_that_the_key_may_not_read_is_refused(server: LocalServer) -> None:
    server.faults.add("403 on dates")
    with pytest.raises(PermissionDenied):
        reader_of(**DAYS).partitions()


def test_a_provider_replaces_the_environment(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")

    class FromVault(AdAnalyticsDataSource):
        def environment(self) -> Mapping[str, str]:
            return {**os.environ, "ADANALYTICS_API_KEY": server.api_key}

    source = FromVault({"start": str(FIRST)})
    assert len(source.reader(source.schema()).partitions()) == 1
