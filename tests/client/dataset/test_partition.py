"""Events in any order come out hour by hour, each hour in the order of their arrival."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from tests.client.raw_events import event_batch

from adanalytics_client.dataset import Hour
from adanalytics_client.dataset.hours import sort as partition

DAY = date(2026, 1, 15)


@pytest.mark.parametrize("bytes_held", [0, 10**9])
@pytest.mark.parametrize("hours", ["1100", "1010", "0110"])
def test_an_hour_keeps_the_order_of_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: str, bytes_held: int
) -> None:
    monkeypatch.setattr(partition, "BYTES_HELD", bytes_held)
    sorted_in = partition.HourPartition(tmp_path)
    for page in "ab":
        rows = [
            {"event_id": f"{page}{at}", "event_date": str(DAY), "event_hour": int(hour)}
            for at, hour in enumerate(hours)
        ]
        sorted_in.add(pa.Table.from_batches([event_batch(rows)]))
    for hour in "01":
        found = [each for table in sorted_in.pop(Hour(DAY, int(hour))) for each in ids_of(table)]
        assert found == [f"{page}{at}" for page in "ab" for at in range(4) if hours[at] == hour]


@pytest.mark.parametrize(
    ("time", "zone"),
    [("0001-01-01T00:00:00Z", "America/New_York"), ("9999-12-31T23:59:59Z", "Asia/Tokyo")],
)
def test_a_local_time_outside_the_calendar_is_of_another_day(
    tmp_path: Path, time: str, zone: str
) -> None:
    """As services write the unknown time of an event."""
    hours = partition.HourPartition(tmp_path, zone=zone)
    rows = [{"event_id": "a", "event_time": at} for at in (time, f"{DAY}T12:00:00Z")]
    hours.add(pa.Table.from_batches([event_batch(rows)]))
    with pytest.raises(partition.HourUnknown, match="have times of other days"):
        hours.check_days(DAY, DAY)


def ids_of(table: pa.Table) -> list[str]:
    ids: list[str] = table["event_id"].to_pylist()
    return ids
