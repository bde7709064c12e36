"""The files that readers find below `data`: one per hour with events, and of one schema."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.dataset.shop import FIRST, Shop
from tests.datasets import READERS
from tests.server_answers import answer

from adanalytics_client import AuthenticationError
from adanalytics_client.dataset import Dataset, PartFormat
from adanalytics_client.tables import event_schema


def parts_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob("data/**/*.*"))


def test_every_part_has_the_widest_type_of_money(shop: Shop) -> None:
    """Parts of 18 digits and of 38 could not be read as one dataset."""
    shop.sync(FIRST)
    for part in parts_of(shop.folder):
        schema = pq.read_schema(shop.folder / part)
        fields = [event_schema().field(name) for name in schema.names[:-1]]
        assert schema.equals(pa.schema([*fields, pa.field("hour", pa.int64())]))
        assert schema.field("revenue").type == schema.field("cost").type == pa.decimal128(38, 9)


def test_every_library_reads_the_same_events(shop: Shop) -> None:
    shop.fill()
    revenue = sum((Decimal(row["revenue"]) for row in shop.rows()), Decimal(0))
    found = {name: read(shop.folder) for name, read in READERS.items()}
    assert found == dict.fromkeys(READERS, (1200, revenue))


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_hours_without_events_have_no_file(shop: Shop, form: PartFormat) -> None:
    dataset = Dataset(shop.folder, format=form, clock=lambda: shop.now)
    with shop.client() as client:
        shop.server.faults.add("401 always on events")
        with pytest.raises(AuthenticationError):
            dataset.sync(client)
        assert not (shop.folder / "data").exists()
        shop.server.faults.clear()
        assert dataset.sync(client, "2026-01-14", FIRST).left == 0
        # A day of parquet is one file.
        files = 1 if form == "parquet" else 24
        assert len(parts_of(shop.folder)) == files
        shop.server.faults.add(answer("events", '{"events": [], "meta": {"total": 0}}'))
        shop.server.faults.add(answer("dates", '{"dates": []}'))
        shop.server.faults.add(answer("summary", '{"rows": []}'))
        assert dataset.sync(client, FIRST).left == 0
        assert parts_of(shop.folder) == []
        assert dataset.verify(client).is_whole
        shop.server.faults.clear()
        assert dataset.sync(client, FIRST).left == 0
        assert len(parts_of(shop.folder)) == files
        assert dataset.verify(client, until=FIRST).is_whole
