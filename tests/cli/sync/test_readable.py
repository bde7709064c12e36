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
EMPTY = "data/date=2026-01-15/hour=00/part-0"

pytestmark = pytest.mark.usefixtures("hourly")


def parts_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob("data/*/*/*"))


@pytest.fixture
def watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """After each step within the folder: whether data/ is there; it must hold a part."""
    seen: list[bool] = []

    def watch(name: str) -> None:
        step = getattr(os, name)

        def stepped(*args: Any, **options: Any) -> Any:
            done = step(*args, **options)
            if not Path(os.fsdecode(args[0])).is_relative_to(folder):
                return done
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
    # Before the files of the first hour.
    assert watched.index(True) < 15
    shop.load([{**row, "is_filtered": True} for row in shop.rows()], tmp_path, replace=True)
    assert shop.sync("--to", folder).exit_code == 0
    assert len(watched) > 200


def test_a_dataset_opens_before_its_first_hour(shop: Shop, folder: Path, readers: Readers) -> None:
    shop.server.faults.add("401 always on events")
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
    assert shop.sync("2026-01-14", "--to", folder).exit_code == 0
    assert parts_of(folder) == ["data/date=2026-01-14/hour=00/part-0.parquet"]
    shop.sync("2026-01-15", "--to", folder, "--max-requests", "5")
    parts = parts_of(folder)
    assert 0 < len(parts) < 24
    assert all(pq.read_metadata(folder / part).num_rows for part in parts)
    shop.sync("2026-01-14", "2026-01-15", "--to", folder)
    assert len(parts_of(folder)) == 24
    assert shop.run("verify", folder, "--until", "2026-01-15").exit_code == 0


def test_a_dataset_opens_when_its_last_events_were_taken_back(
    shop: Shop, folder: Path, readers: Readers
) -> None:
    shop.sync("2026-01-15", "--to", folder)
    assert len(parts_of(folder)) == 24
    shop.server.faults.add(answer("events", '{"events": [], "meta": {"total": 0}}'))
    shop.server.faults.add(answer("dates", '{"dates": []}'))
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0
    (part,) = parts_of(folder)
    assert part.startswith("data/date=2026-01-15/hour=")
    assert {name: read(folder) for name, read in readers.items()} == dict.fromkeys(
        readers, (0, Decimal(0))
    )
    assert shop.run("verify", folder).exit_code == 0
    shop.server.faults.clear()
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0
    assert len(parts_of(folder)) == 24


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_the_part_of_an_older_version_goes_although_no_events_came(
    shop: Shop, folder: Path, form: str
) -> None:
    """Earlier versions kept the part without rows under a day that the service has not."""
    shop.server.faults.add(answer("events", '{"events": [], "meta": {"total": 0}}'))
    assert shop.sync("2026-01-14", "--to", folder, "--format", form).exit_code == 0
    former = folder / f"data/date=1970-01-01/hour=00/part-0.{form}"
    former.parent.mkdir(parents=True)
    part = folder / f"data/date=2026-01-14/hour=00/part-0.{form}"
    if form == "parquet":
        part.rename(former)
    else:
        former.touch()
    assert shop.sync("2026-01-14", "--to", folder).exit_code == 0
    assert [folder / name for name in parts_of(folder)] == ([part] if form == "parquet" else [])
    assert shop.run("verify", folder, "--until", "2026-01-14").exit_code == 0


def answer(operation: str, body: str) -> Any:
    """Every answer of an operation is this one."""
    fault = import_module("adanalytics_server.faults").Fault
    return fault(
        effect="status",
        operation=operation,
        status=200,
        body=body,
        content_type="application/json",
    )


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_text_waits_for_its_first_hour(shop: Shop, folder: Path, form: str) -> None:
    """A header would be a row to some readers, and nothing at all an error."""
    shop.server.faults.add("401 always on events")
    assert shop.sync("--to", folder, "--format", form).exit_code == 4
    assert not (folder / "data").exists()
