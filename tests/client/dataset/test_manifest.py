"""The records of a dataset."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from adanalytics_client.dataset.hours.totals import Totals
from adanalytics_client.dataset.records.layout import IDENTITY, Hour
from adanalytics_client.dataset.records.manifest import HourRecord, Identity, Manifest, seal
from adanalytics_client.dataset.storage.local import open_store
from adanalytics_client.errors import DatasetError

if TYPE_CHECKING:
    from pathlib import Path

    from adanalytics_client.dataset.hours.totals import Figure

DAY = date(2026, 1, 15)
NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)


def test_a_dataset_of_another_version_is_refused(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    store.write(IDENTITY, seal(replace(Identity("acme", "http://a.example", "parquet"), layout=1)))
    with pytest.raises(DatasetError, match="made by another version"):
        Identity.read(store)


def test_sums_keep_their_digits(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    sums: dict[str, Figure | None]
    sums = {"revenue": Decimal("0.0000944916"), "id": 2**70, "note": None}
    record = HourRecord(1, 1, "a", NOW, "row", Totals(1, {"clicks": 1}, sums, 1))
    manifest = Manifest(store)
    manifest.put({Hour(DAY, 3): record})
    manifest.save([DAY])
    assert Manifest(store).day(DAY).hours == {3: record}
