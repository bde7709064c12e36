"""The data source without Spark: the driver's plan and the tasks' reads, in this process."""

import json
import os
import pickle
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from traceback import TracebackException
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    InputPartition,
)
from pyspark.sql.types import DecimalType, StringType, StructField, StructType
from tests.spark.in_process import (
    FIRST,
    SECOND,
    as_spark_passes,
    asked,
    hours_of,
    load,
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
    QuotaExceeded,
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


def kept_files() -> list[Path]:
    return sorted((Path(os.environ["XDG_STATE_HOME"]) / "adanalytics" / "exports").iterdir())


def test_the_rows_are_those_of_to_arrow(via: dict[str, object]) -> None:
    with Client.from_env() as client:
        expected = client.events(FIRST, SECOND).to_arrow()
    found = read(reader_of(**DAYS, **via))
    assert rows_of(found) == rows_of(expected)
    assert found.schema.names == expected.schema.names
    assert found.schema.field("revenue").type == expected.schema.field("revenue").type


def test_a_range_without_data_has_no_partition(via: dict[str, object], server: LocalServer) -> None:
    reader = reader_of(start="2025-01-01", end="2025-01-31", **via)
    assert reader.partitions() == []
    assert {"events", "bulk-export"}.isdisjoint(asked(server))


def test_spark_reads_an_empty_partition_when_there_is_none(via: dict[str, object]) -> None:
    assert list(reader_of(**DAYS, **via).read(InputPartition(None))) == []


def test_a_partition_is_an_hour_of_pages_or_a_file(pages: dict[str, object]) -> None:
    assert len(reader_of(**DAYS, **pages).partitions()) == 48
    assert len(reader_of(**DAYS).partitions()) == 2


def test_only_the_hour_of_the_option_is_requested(
    pages: dict[str, object], server: LocalServer
) -> None:
    assert hours_of(read(reader_of(**DAYS, hour=3, **pages))) == {(FIRST, 3), (SECOND, 3)}
    queries = [dict(each.query) for each in server.journal.entries() if each.query]
    assert [(each["start_date"], each["hour"]) for each in queries] == [
        (str(FIRST), "3"),
        (str(SECOND), "3"),
    ]


def test_only_the_hour_of_the_option_is_taken_from_an_export(server: LocalServer) -> None:
    assert hours_of(read(reader_of(**DAYS, hour=3))) == {(FIRST, 3), (SECOND, 3)}


def test_a_schema_chooses_columns_and_the_width_of_money(via: dict[str, object]) -> None:
    wide = StructField("revenue", DecimalType(38, 9))
    chosen = StructType([wide, StructField("event_id", StringType())])
    found = read(source_of(**DAYS, **via).reader(chosen))
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
        ({"start": FIRST, "via": "ftp"}, "choose export or pages"),
        ({"start": FIRST, "via": "pages", "quotaServer": "h:1"}, "via=pages needs maxRequests"),
        ({"start": FIRST, "via": "pages", "maxRequests": 9}, "via=pages needs quotaServer"),
        ({"start": FIRST, "maxRequests": 9}, "maxRequests is an option of via=pages"),
        ({"start": FIRST, "via": "pages", "maxRequests": 0, "quotaServer": "h:1"}, "at least 1"),
        ({"start": FIRST, "onLimit": "stop"}, "choose wait or raise"),
        ({"start": FIRST, "timeout": "soon"}, "a number of seconds"),
        ({"start": FIRST, "timeout": -1}, "timeout"),
        ({"start": FIRST, "lookback": -1}, "lookback"),
        ({"start": FIRST, "hour": 24}, "from 0 to 23"),
        ({"start": FIRST, "hour": "noon"}, "from 0 to 23"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        source_of(**options)
    assert problem in str(caught.value)


def test_a_wrong_day_is_refused(via: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match="start"):
        reader_of(start="2026-02-30", **via).partitions()


def test_a_missing_partner_is_named(
    via: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_PARTNER")
    with pytest.raises(ConfigurationError, match="partner"):
        reader_of(**DAYS, **via).partitions()


def test_a_missing_credential_is_named(
    via: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    with pytest.raises(ConfigurationError, match="No credential"):
        reader_of(**DAYS, **via).partitions()


def test_tasks_of_pages_need_only_the_credential(
    pages: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = reader_of(start=FIRST, **pages)
    parts = reader.partitions()
    for name in ("ADANALYTICS_BASE_URL", "ADANALYTICS_PARTNER"):
        monkeypatch.delenv(name)
    assert table_of(reader, parts).num_rows == 300
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    with pytest.raises(ConfigurationError, match="No credential") as caught:
        list(reader.read(parts[0]))
    where, cure = caught.value.__notes__
    assert where == "The task was reading 2026-01-15 hour 0."
    assert "spark.executorEnv.ADANALYTICS_API_KEY" in cure


def test_more_hours_than_max_requests_are_refused_at_once(
    pages: dict[str, object], server: LocalServer
) -> None:
    reader = reader_of(**DAYS, **pages | {"maxRequests": 48})
    with pytest.raises(ConfigurationError, match="at least 49 requests"):
        reader.partitions()
    assert asked(server) == ["dates"]


def test_max_requests_holds_for_repeated_tasks(
    pages: dict[str, object], server: LocalServer
) -> None:
    reader = reader_of(start=FIRST, **pages | {"maxRequests": 26})
    parts = reader.partitions()
    table_of(reader, [*parts, parts[3]])
    with pytest.raises(QuotaExceeded, match="maxRequests") as caught:
        list(reader.read(parts[4]))
    assert caught.value.__notes__ == ["The task was reading 2026-01-15 hour 4."]
    assert len(asked(server)) == 26


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


def test_no_local_variable_of_an_error_shows_the_credential(
    via: dict[str, object], server: LocalServer
) -> None:
    reader = reader_of(**DAYS, **via)
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


def test_a_plan_holds_no_credential_and_shows_no_address(
    via: dict[str, object], server: LocalServer
) -> None:
    reader = reader_of(**DAYS, **via)
    parts = reader.partitions()
    assert server.api_key.encode() not in pickle.dumps((reader, parts))
    assert "http" not in repr(parts) + str(parts)


def test_a_later_action_uses_the_exports_of_an_earlier_one(server: LocalServer) -> None:
    assert read(reader_of(**DAYS)).num_rows == 600
    assert asked(server).count("bulk-export") == 2
    server.journal.clear()
    assert read(reader_of(**DAYS)).num_rows == 600
    assert "bulk-export" not in asked(server)


def test_an_export_that_nothing_shows_to_be_current_is_not_kept(
    server: LocalServer, tmp_path: Path
) -> None:
    """The summary leaves out filtered events, so a day of them has no row."""
    with Client.from_env() as client:
        (row,) = client.events(FIRST, max_events=1).rows()
    third = {"event_time": "2026-01-20T05:00:00Z", "is_filtered": True, "event_id": str(uuid4())}
    old = {name: each for name, each in row.items() if not name.startswith(("event_", "received"))}
    load(server, [{**old, **third, "event_type": "click"}], tmp_path)
    for _ in range(2):
        server.journal.clear()
        assert read(reader_of(start="2026-01-20")).num_rows == 1
        assert asked(server).count("bulk-export") == 1


def test_a_state_folder_that_cannot_be_written_is_only_reported(
    server: LocalServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert read(reader_of(**DAYS)).num_rows == 600
    assert "The export of 2026-01-15 cannot be kept" in caplog.text


def test_an_export_that_fails_names_its_day(server: LocalServer) -> None:
    server.faults.add("failed export")
    with pytest.raises(ExportError) as caught:
        reader_of(**DAYS).partitions()
    assert caught.value.__notes__ == ["It concerns the export of 2026-01-15."]


def test_only_the_user_can_read_kept_exports(server: LocalServer) -> None:
    reader_of(**DAYS).partitions()
    assert [path.stat().st_mode & 0o777 for path in kept_files()] == [0o600, 0o600]


def test_an_expired_or_damaged_export_is_ordered_again(server: LocalServer) -> None:
    reader_of(**DAYS).partitions()
    old, damaged = kept_files()
    content = json.loads(old.read_text())
    content["status"]["answer"]["expires_at"] = datetime.now(UTC).isoformat()
    old.write_text(json.dumps(content))
    damaged.write_bytes(b"\xff")
    server.journal.clear()
    assert read(reader_of(**DAYS)).num_rows == 600
    assert asked(server).count("bulk-export") == 2


def test_an_export_that_expires_before_its_task_names_its_day(server: LocalServer) -> None:
    reader = reader_of(start=FIRST)
    (part,) = reader.partitions()
    server.clock.advance(seconds=timedelta(days=30).total_seconds())
    with pytest.raises(ExportExpired) as caught:
        list(reader.read(part))
    where, cure = caught.value.__notes__
    assert where == "The task was reading 2026-01-15."
    assert "Call load() again" in cure
    assert asked(server).count("bulk-export") == 1


def test_an_address_that_needs_a_credential_is_refused(server: LocalServer) -> None:
    reader = reader_of(start=FIRST)
    (part,) = reader.partitions()
    server.faults.add("401 on download")
    with pytest.raises(ConfigurationError, match="needs a credential") as caught:
        list(reader.read(part))
    assert "via=pages" in caught.value.__notes__[-1]


def test_a_download_that_may_not_wait_fails_at_once(server: LocalServer) -> None:
    reader = reader_of(start=FIRST, onLimit="raise")
    (part,) = reader.partitions()
    server.faults.add("429 retry-after 1 on download once")
    with pytest.raises(RateLimited):
        list(reader.read(part))


def test_a_partner_that_the_key_may_not_read_is_refused(
    via: dict[str, object], server: LocalServer
) -> None:
    server.faults.add("403 on dates")
    with pytest.raises(PermissionDenied):
        reader_of(**DAYS, **via).partitions()


def test_a_provider_replaces_the_environment(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")

    class FromVault(AdAnalyticsDataSource):
        def environment(self) -> Mapping[str, str]:
            return {**os.environ, "ADANALYTICS_API_KEY": server.api_key}

    source = FromVault({"start": str(FIRST)})
    assert len(source.reader(source.schema()).partitions()) == 1
