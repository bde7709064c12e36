"""The stream of new hours, in this process with a moved clock."""

import json
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from tests.spark.in_process import FIRST, SECOND, as_spark_passes, asked, hours_of, load, rows_of

from adanalytics_client import Client, ConfigurationError
from adanalytics_client.spark import AdAnalyticsDataSource
from adanalytics_client.testing import MovableClock
from adanalytics_server.faults import Fault
from adanalytics_server.local import LocalServer

THIRD = SECOND + timedelta(days=1)
MIDNIGHT = datetime.combine(FIRST, time(), UTC)
HOUR = timedelta(hours=1)
LATER = MIDNIGHT + timedelta(days=30)


class Stream:
    """A stream at a moment that the test moves."""

    def __init__(self, now: datetime = LATER, /, **options: object) -> None:
        self.clock = clock = MovableClock(now)

        class Moved(AdAnalyticsDataSource):
            def clock(self) -> MovableClock:
                return clock

        defaults: dict[str, object] = {"start": FIRST, "lookback": 0}
        source = Moved(as_spark_passes(defaults | options))
        self.reader: Any = source.streamReader(source.schema())

    def latest(self, start: str) -> str:
        """The hour of the offset that the stream reaches from another one."""
        end: dict[str, str] = self.reader.latestOffset({"hour": start}, None)
        return end["hour"]

    def read(self, start: str, end: str) -> list[pa.RecordBatch]:
        """The events of a batch."""
        parts = self.reader.partitions({"hour": start}, {"hour": end})
        return [batch for part in parts for batch in self.reader.read(part)]


def listing(*days: date) -> Fault:
    """A service that lists these days."""
    body = json.dumps({"dates": [str(day) for day in days]})
    return Fault(
        effect="status", status=200, body=body, content_type="application/json", operation="dates"
    )


def names_of(batches: list[pa.RecordBatch]) -> list[str]:
    """The hours of events, in order."""
    schema = batches[0].schema if batches else pa.schema([])
    hours = hours_of(pa.Table.from_batches(batches, schema))
    return sorted(f"{day}T{hour:02}" for day, hour in hours)


def test_each_hour_is_read_once_an_hour_after_its_end(via: dict[str, object]) -> None:
    stream = Stream(MIDNIGHT, **via)
    offset, batches = stream.reader.initialOffset()["hour"], []
    for _ in range(50):
        stream.clock.advance(HOUR.total_seconds())
        end = stream.latest(offset)
        batch = stream.read(offset, end)
        begin = stream.clock.now - 2 * HOUR
        assert names_of(batch) == [f"{begin:%Y-%m-%dT%H}"] * (FIRST <= begin.date() <= SECOND)
        batches += batch
        offset = end
    with Client.from_env() as client:
        assert rows_of(pa.Table.from_batches(batches)) == rows_of(
            client.events(FIRST, SECOND).to_arrow()
        )


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ("2026-01-15T10", "2026-01-15T12", ["15T07", "15T08", "15T09", "15T10", "15T11"]),
        ("2026-01-16T01", "2026-01-16T02", ["15T22", "15T23", "16T00", "16T01"]),
        ("2026-01-15T01", "2026-01-15T02", ["15T00", "15T01"]),
        ("2026-01-15T10", "2026-01-15T10", []),
    ],
    ids=["hours", "over midnight", "not before the start", "no new hour"],
)
def test_a_batch_reads_the_lookback_again(
    start: str, end: str, hours: list[str], via: dict[str, object]
) -> None:
    stream = Stream(lookback=3, **via)
    assert names_of(stream.read(start, end)) == [f"2026-01-{hour}" for hour in hours]


def test_the_service_is_asked_at_most_every_five_minutes(server: LocalServer) -> None:
    stream = Stream()
    for _ in range(100):
        stream.latest("2026-01-15T00")
    stream.clock.advance(299)
    stream.latest("2026-01-15T00")
    assert asked(server) == ["dates"]
    stream.clock.advance(1)
    stream.latest("2026-01-15T00")
    assert asked(server) == ["dates", "dates"]


def test_available_now_keeps_to_the_hours_that_are_over_at_its_start(server: LocalServer) -> None:
    stream = Stream(MIDNIGHT + 6 * HOUR)
    stream.reader.prepareForTriggerAvailableNow()
    stream.clock.advance(7200)
    assert stream.latest("2026-01-15T00") == "2026-01-15T05"
    assert asked(server) == ["dates"]


@pytest.mark.parametrize("days", [[], [FIRST]])
def test_an_offset_never_goes_back(days: list[date], server: LocalServer) -> None:
    server.faults.add(listing(*days))
    assert Stream().latest("2026-01-16T05") == "2026-01-16T05"


def test_a_stream_ends_with_its_end(server: LocalServer) -> None:
    assert Stream(end=FIRST).latest("2026-01-15T00") == "2026-01-16T00"
    assert Stream().latest("2026-01-15T00") == "2026-01-17T00"


def test_days_before_the_start_are_not_read(server: LocalServer) -> None:
    stream = Stream(start=THIRD)
    offset = stream.reader.initialOffset()["hour"]
    assert stream.latest(offset) == offset == "2026-01-17T00"


def test_the_lookback_reads_a_day_that_is_listed_late(
    via: dict[str, object], server: LocalServer
) -> None:
    stream = Stream(MIDNIGHT + 34 * HOUR, lookback=12, **via)
    server.faults.add(listing(SECOND))
    offset = stream.latest("2026-01-15T00")
    assert offset == "2026-01-16T09"
    assert names_of(stream.read("2026-01-15T00", offset))[0] == "2026-01-16T00"
    server.faults.clear()
    stream.clock.advance(HOUR.total_seconds())
    assert names_of(stream.read(offset, stream.latest(offset)))[0] == "2026-01-15T21"


def test_a_batch_has_events_that_the_summary_leaves_out(
    via: dict[str, object], server: LocalServer, tmp_path: Path
) -> None:
    stream = Stream(**via)
    stream.read("2026-01-15T00", "2026-01-15T05")
    with Client.from_env() as client:
        rows = list(client.events(FIRST, hour=5).rows())
    late = {**rows[0], "event_id": str(uuid4()), "is_filtered": True}
    load(server, [*rows, late], tmp_path)
    batch = pa.Table.from_batches(stream.read("2026-01-15T05", "2026-01-15T06"))
    assert late["event_id"] in batch["event_id"].to_pylist()


def test_a_repeated_batch_uses_its_exports_again(server: LocalServer) -> None:
    for orders in (1, 0):
        server.journal.clear()
        Stream().read("2026-01-15T00", "2026-01-15T05")
        assert asked(server).count("bulk-export") == orders


def test_a_stream_needs_a_lookback() -> None:
    source = AdAnalyticsDataSource({"start": "2026-01-15"})
    with pytest.raises(ConfigurationError, match="lookback"):
        source.streamReader(source.schema())


def test_a_stream_starts_at_a_plain_day() -> None:
    source = AdAnalyticsDataSource({"start": "yesterday", "lookback": "0"})
    with pytest.raises(ConfigurationError, match="start"):
        source.streamReader(source.schema())
