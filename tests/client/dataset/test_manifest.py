"""The records of a dataset."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset, DatasetError
from adanalytics_client.dataset.hours.totals import Figure, Totals
from adanalytics_client.dataset.records.layout import IDENTITY, Hour
from adanalytics_client.dataset.records.manifest import HourRecord, Identity, Manifest, seal
from adanalytics_client.dataset.storage.local import open_store

DAY = date(2026, 1, 15)
NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "content",
    [
        seal(replace(Identity("acme", "http://a.example", "parquet"), layout=1)),
        seal(replace(Identity("acme", "http://a.example", "parquet"), layout=99)),
        # Another version may have another checksum, other names, and other types of them.
        b'{"layout": 99, "partner": ["acme"], "sha512": "00"}\n',
        b'{"layout": "99.1"}\n',
    ],
)
def test_a_dataset_of_another_version_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    """By each operation, before a request: the address of the service has no server."""
    dataset, store = Dataset(tmp_path), open_store(str(tmp_path))
    store.write(IDENTITY, content)
    with Client("http://localhost:9", api_key="k", partner="acme") as client:
        operations: dict[str, Callable[[], object]] = {
            "sync": lambda: dataset.sync(client, DAY),
            "plan": lambda: dataset.plan(client, DAY),
            "tasks": lambda: dataset.tasks(client, DAY),
            "commit": lambda: dataset.commit(client, []),
            "verify": lambda: dataset.verify(client),
            "verify offline": lambda: dataset.verify(None),
            "changes": dataset.changes,
            "holdings": dataset.holdings,
            "schema": lambda: dataset.schema,
            "query": lambda: dataset.query("SELECT 1 FROM events"),
            "to_duckdb": dataset.to_duckdb,
        }
        for name, operation in operations.items():
            with pytest.raises(DatasetError, match="made by another version") as caught:
                operation()
            assert "Delete" not in caught.value.remedy, name
    assert store.read(IDENTITY) == content


def test_sums_keep_their_digits(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    sums: dict[str, Figure | None]
    sums = {"revenue": Decimal("0.0000944916"), "id": 2**70, "note": None}
    record = HourRecord(1, 1, "a", NOW, "row", Totals(1, {"clicks": 1}, sums, 1))
    manifest = Manifest(store)
    manifest.put({Hour(DAY, 3): record})
    manifest.save([DAY])
    assert Manifest(store).day(DAY).hours == {3: record}
