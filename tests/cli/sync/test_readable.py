"""The files that readers find below `data`: one per hour with events, and of one schema."""

from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adanalytics_client.tables import event_schema

Shop = Any
Readers = dict[str, Callable[[Path], tuple[int, Decimal]]]


def parts_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob("data/*/*/*"))


def test_every_part_has_the_widest_type_of_money(shop: Shop, folder: Path) -> None:
    """Parts of 18 digits and of 38 could not be read as one dataset."""
    shop.sync("2026-01-15", "--to", folder)
    for part in parts_of(folder):
        schema = pq.read_schema(folder / part)
        assert schema.equals(pa.schema([event_schema().field(name) for name in schema.names]))
        assert schema.field("revenue").type == schema.field("cost").type == pa.decimal128(38, 9)


def test_every_library_reads_the_same_events(shop: Shop, folder: Path, readers: Readers) -> None:
    shop.sync("--to", folder)
    revenue = sum((Decimal(row["revenue"]) for row in shop.rows()), Decimal(0))
    found = {name: read(folder) for name, read in readers.items()}
    assert found == dict.fromkeys(readers, (1200, revenue))


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_hours_without_events_have_no_file(shop: Shop, folder: Path, form: str) -> None:
    shop.server.faults.add("401 always on events")
    assert shop.sync("--to", folder, "--format", form).exit_code == 4
    assert not (folder / "data").exists()
    shop.server.faults.clear()
    assert shop.sync("2026-01-14", "2026-01-15", "--to", folder).exit_code == 0
    assert len(parts_of(folder)) == 24
    shop.server.faults.add(answer("events", '{"events": [], "meta": {"total": 0}}'))
    shop.server.faults.add(answer("dates", '{"dates": []}'))
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0
    assert parts_of(folder) == []
    assert shop.run("verify", folder).exit_code == 0
    shop.server.faults.clear()
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0
    assert len(parts_of(folder)) == 24
    assert shop.run("verify", folder, "--until", "2026-01-15").exit_code == 0


def answer(operation: str, body: str) -> Any:
    """Every answer of an operation is this one."""
    fault = import_module("adanalytics_server.faults").Fault
    return fault(
        effect="status", operation=operation, status=200, body=body, content_type="application/json"
    )
