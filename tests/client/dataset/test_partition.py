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
        found = [each for table in sorted_in.take(Hour(DAY, int(hour))) for each in ids_of(table)]
        assert found == [f"{page}{at}" for page in "ab" for at in range(4) if hours[at] == hour]


def ids_of(table: pa.Table) -> list[str]:
    ids: list[str] = table["event_id"].to_pylist()
    return ids
