"""From the moment it is made until its last hour goes, a dataset opens in every library."""

import os
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
EMPTY = "data/date=1970-01-01/hour=00/part-0"

pytestmark = pytest.mark.usefixtures("hourly")


def parts_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob("data/*/*/*"))


@pytest.fixture
def watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """After each step that changes the folder: whether data/ is there; it must hold a part."""
    seen: list[bool] = []

    def watch(name: str) -> None:
        step = getattr(os, name)

        def stepped(*args: Any, **options: Any) -> Any:
            done = step(*args, **options)
            there = (folder / "data").exists()
            assert not there or parts_of(folder), f"{name}{args} leaves data/ without a part"
            assert there or not any(seen), f"{name}{args} takes data/ away"
            seen.append(there)
            return done

        monkeypatch.setattr(os, name, stepped)

    for name in ("mkdir", "rename", "replace", "unlink", "rmdir"):
        watch(name)
    return seen


def test_no_step_leaves_a_folder_without_a_part(
    shop: Shop, folder: Path, watched: list[bool], tmp_path: Path
) -> None:
    assert shop.sync("--to", folder).exit_code == 0
    assert watched.index(True) < 15
    shop.load([{**row, "is_filtered": True} for row in shop.rows()], tmp_path, replace=True)
    assert shop.sync("--to", folder).exit_code == 0
    assert len(watched) > 200


@pytest.mark.parametrize("fault", ["401 always on dates", "401 always on events"])
def test_a_dataset_opens_before_its_first_hour(
    shop: Shop, folder: Path, readers: Readers, fault: str
) -> None:
    shop.server.faults.add(fault)
    assert shop.sync("--to", folder).exit_code == 4
    assert {name: read(folder) for name, read in readers.items()} == dict.fromkeys(
        readers, (0, Decimal(0))
    )
    assert parts_of(folder) == [f"{EMPTY}.parquet"]
    assert shop.run("verify", folder).stdout.count("never committed") == 0


def test_every_part_has_the_widest_type_of_money(shop: Shop, folder: Path) -> None:
    """Parts of 18 digits and of 38 could not be read as one dataset."""
    shop.sync("2026-01-15", "--to", folder)
    for part in parts_of(folder):
        schema = pq.read_schema(folder / part)
        assert schema.equals(pa.schema([event_schema().field(name) for name in schema.names]))
        assert schema.field("revenue").type == schema.field("cost").type == pa.decimal128(38, 9)


def test_the_part_without_events_goes_once_there_are_others(shop: Shop, folder: Path) -> None:
    shop.server.faults.add("401 always on dates")
    shop.sync("--to", folder)
    shop.server.faults.clear()
    shop.sync("2026-01-15", "--to", folder, "--max-requests", "5")
    assert f"{EMPTY}.parquet" in parts_of(folder)
    assert len(parts_of(folder)) > 1
    shop.sync("2026-01-15", "--to", folder)
    assert len(parts_of(folder)) == 24
    assert f"{EMPTY}.parquet" not in parts_of(folder)


def test_a_dataset_opens_when_its_last_events_were_taken_back(
    shop: Shop, folder: Path, readers: Readers
) -> None:
    shop.sync("2026-01-15", "--to", folder)
    hour = folder / "data/date=2026-01-15"
    assert hour.exists()
    shop.server.faults.add(no_events())
    assert shop.sync("2026-01-15", "--to", folder, "--repull", "1").exit_code == 0
    assert parts_of(folder) == [f"{EMPTY}.parquet"]
    assert not hour.exists()
    assert {name: read(folder) for name, read in readers.items()} == dict.fromkeys(
        readers, (0, Decimal(0))
    )


def no_events() -> Any:
    """Every page of events comes without any."""
    fault = import_module("adanalytics_server.faults").Fault
    return fault(
        effect="status",
        operation="events",
        status=200,
        body='{"events": [], "meta": {"total": 0}}',
        content_type="application/json",
    )


def test_csv_opens_with_its_columns_and_jsonl_waits_for_its_first_hour(
    shop: Shop, folder: Path
) -> None:
    shop.server.faults.add("401 always on dates")
    shop.sync("--to", folder, "--format", "csv")
    (header,) = (folder / f"{EMPTY}.csv").read_text().splitlines()
    assert header.startswith('"event_id","event_time",')
    lines = folder.with_name("lines")
    shop.sync("--to", lines, "--format", "jsonl")
    assert not (lines / "data").exists()
