"""The data source without Spark: the driver's plan and the tasks' reads, in this process."""

import pickle
from datetime import timedelta
from traceback import TracebackException
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DecimalType, StringType, StructField, StructType
from tests.spark.in_process import FIRST, SECOND, as_spark_passes, asked, rows_of, table_of

from adanalytics_client import (
    AdAnalyticsError,
    Client,
    ConfigurationError,
    ExportError,
    ExportExpired,
    PermissionDenied,
)
from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_client.tables import event_schema
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


def test_a_range_without_data_has_no_partition(server: LocalServer) -> None:
    reader = reader_of(start="2025-01-01", end="2025-01-31")
    assert reader.partitions() == []
    assert {"events", "start_export"}.isdisjoint(asked(server))


def test_spark_reads_an_empty_partition_when_there_is_none(server: LocalServer) -> None:
    assert list(reader_of(**DAYS).read(InputPartition(None))) == []


def test_a_plan_counts_in_the_quota_of_this_machine(server: LocalServer) -> None:
    reader = reader_of(start=FIRST, end="2026-01-31")
    server.journal.clear()
    with Client.from_env() as client:
        before = client.quota.remaining or 0
        parts = reader.partitions()
        assert asked(server).count("start_export") == len(parts) == 2
        assert before - (client.quota.remaining or 0) == len(asked(server))


def test_a_schema_chooses_columns(server: LocalServer) -> None:
    money = StructField("revenue", DecimalType(38, 9))
    chosen = StructType([money, StructField("event_id", StringType())])
    found = read(source_of(**DAYS).reader(chosen))
    assert found.schema.names == ["revenue", "event_id"]
    assert found.num_rows == 600


def test_a_schema_chooses_another_type_for_a_documented_column(server: LocalServer) -> None:
    hour = StructType([StructField("event_hour", StringType())])
    found = read(source_of(**DAYS).reader(hour))
    assert {*found["event_hour"].to_pylist()} <= {str(hour) for hour in range(24)}


def test_load_takes_two_requests_and_with_a_schema_none(server: LocalServer) -> None:
    source_of(**DAYS).schema()
    assert asked(server) == ["dates", "events"]
    source_of(**DAYS).reader(StructType([StructField("event_id", StringType())]))
    assert len(asked(server)) == 2


def test_a_range_without_data_has_the_documented_columns(server: LocalServer) -> None:
    schema = source_of(start="2025-01-01", end="2025-01-31").schema()
    assert schema == from_arrow_schema(event_schema())
    assert asked(server) == ["dates"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"start": FIRST, "ende": SECOND}, "Unknown option 'ende'"),
        ({}, "start is missing"),
        (
            {"start": FIRST, "via": "pages"},
            "Unknown option 'via'. Options: baseUrl, end, partner, ",
        ),
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
    for fail in (reader.partitions, lambda: list(reader.read(part))):
        with pytest.raises(AdAnalyticsError) as caught:
            fail()
        report = TracebackException.from_exception(caught.value, capture_locals=True)
        assert "self = " in "".join(report.format())
        assert server.api_key not in "".join(report.format())


def test_a_plan_holds_no_credential_and_shows_no_address(server: LocalServer) -> None:
    reader = reader_of(**DAYS)
    parts = reader.partitions()
    plan = pickle.dumps((reader, parts))
    assert server.api_key.encode() not in plan
    assert b"signature=" in plan
    assert "signature" not in repr(parts) + str(parts)


def test_an_export_that_fails_is_an_error(server: LocalServer) -> None:
    server.faults.add("failed export")
    with pytest.raises(ExportError):
        reader_of(**DAYS).partitions()


def test_an_export_that_expires_before_its_task_names_its_day(server: LocalServer) -> None:
    reader = reader_of(start=FIRST)
    (part,) = reader.partitions()
    server.clock.advance(seconds=timedelta(days=30).total_seconds())
    with pytest.raises(ExportExpired) as caught:
        list(reader.read(part))
    note = "The task was reading 2026-01-15; load() orders it anew."
    assert caught.value.__notes__ == [note]
    assert asked(server).count("start_export") == 1


def test_an_address_that_needs_a_credential_is_refused(server: LocalServer) -> None:
    reader = reader_of(start=FIRST)
    (part,) = reader.partitions()
    server.faults.add("401 on download")
    with pytest.raises(ConfigurationError, match="needs a credential"):
        list(reader.read(part))


def test_a_partner_that_the_key_may_not_read_is_refused(server: LocalServer) -> None:
    server.faults.add("403 on dates")
    with pytest.raises(PermissionDenied):
        reader_of(**DAYS).partitions()
