"""A day that is over becomes one file; readers see each event once, whatever happens meanwhile."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from tests.client.dataset.shop import COUNT, FIRST, SECOND, Shop
from tests.datasets import READERS, Row, files_in, flip

from adanalytics_client import ConfigurationError
from adanalytics_client._base.choices import Via
from adanalytics_client.dataset import Dataset, DatasetError, Hour, Partition
from adanalytics_client.dataset.hours import files
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.records import contents
from adanalytics_client.dataset.records.contents import Contents
from adanalytics_client.dataset.records.manifest import FinishedHour, HourRecord, Identity
from adanalytics_client.dataset.records.recover import recover
from adanalytics_client.dataset.storage.local import LocalStore, open_store

DAYS = {f"data/date={FIRST}/day.parquet", f"data/date={SECOND}/day.parquet"}


class Kill(BaseException):
    """What nothing catches, as kill -9."""


def data_of(shop: Shop) -> set[str]:
    return {name for name in files_in(shop.folder) if name.startswith("data/")}


def partition_of(shop: Shop) -> str:
    holdings = shop.dataset.holdings()
    return holdings.partition if holdings else ""


def restate(shop: Shop, number: int = 1, day: str = FIRST) -> None:
    """Make the events of hour 13 of a day clicks with another revenue."""
    rows = [row for row in shop.rows() if row["event_date"] == day and row["event_hour"] == 13]
    click = {"event_type": "click", "error_code": None, "is_filtered": False}
    revenue = {"revenue": f"{number}.000000000"}
    shop.load([{**row, **click, **revenue} for row in rows], replace=True)
    shop.server.journal.clear()


def plain_rows(shop: Shop) -> list[tuple[Any, ...]]:
    """Read the files as a program that knows no manifest."""
    source = f"read_parquet('{shop.folder}/data/**/*.parquet', hive_partitioning = true)"
    with duckdb.connect() as connection:
        return connection.sql(
            f"SELECT event_id, date, hour::BIGINT, revenue FROM {source}"
        ).fetchall()


def query_rows(shop: Shop) -> list[tuple[Any, ...]]:
    table = shop.dataset.query("SELECT event_id, date, hour, revenue FROM events")
    return sorted(tuple(row.values()) for row in table.to_pylist())


def rows_of(rows: list[Row]) -> list[tuple[Any, ...]]:
    from decimal import Decimal

    return sorted(
        (
            row["event_id"],
            date.fromisoformat(row["event_date"]),
            row["event_hour"],
            Decimal(row["revenue"]),
        )
        for row in rows
    )


def test_a_settled_day_is_one_file_and_an_open_one_a_file_for_each_hour(shop: Shop) -> None:
    shop.now = datetime(2026, 1, 16, 9, 30, tzinfo=UTC)
    assert shop.sync().left == 0
    hours = {f"data/date={SECOND}/hour-{hour:02}.parquet" for hour in range(10)}
    assert data_of(shop) == {f"data/date={FIRST}/day.parquet", *hours}
    assert {read(shop.folder)[0] for read in READERS.values()} == {len(shop.held())}
    source = f"read_parquet('{shop.folder}/data/*/*.parquet', hive_partitioning = true)"
    with duckdb.connect() as connection:
        counts = f"SELECT sum((hour < 6)::INT), count(*), any_value(typeof(hour)) FROM {source}"
        few, every, kind = connection.sql(counts).fetchall()[0]
    assert (0 < few < every, kind) == (True, "BIGINT")
    (table,) = shop.dataset.query("SELECT sum((hour < 6)::INT) AS n FROM events").to_pylist()
    assert table["n"] == few
    shop.now = datetime(2026, 1, 20, 12, tzinfo=UTC)
    assert shop.sync().left == 0
    assert data_of(shop) == DAYS
    assert sorted(plain_rows(shop)) == query_rows(shop) == rows_of(shop.rows())
    with shop.client() as client:
        assert shop.dataset.verify(client, deep=True).problems == []
    before = files_in(shop.folder)
    assert shop.sync().wanted == 0
    assert files_in(shop.folder) == before


def test_a_file_has_groups_of_one_size(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS_PER_GROUP", 7)
    assert shop.sync().left == 0
    assert sorted(plain_rows(shop)) == query_rows(shop) == rows_of(shop.rows())
    for name in DAYS:
        footer = pq.ParquetFile(shop.folder / name).metadata
        *sizes, last = (footer.row_group(at).num_rows for at in range(footer.num_row_groups))
        assert ({*sizes}, 0 < last <= 7) == ({7}, True)
    with shop.client() as client:
        assert shop.dataset.verify(client, deep=True).problems == []


def test_a_new_day_is_written_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its place, whichever way it comes, and however its hours come."""
    stored, put = list[str](), LocalStore.move_in

    def note(store: LocalStore, file: str, name: str) -> None:
        stored.append(name)
        put(store, file, name)

    monkeypatch.setattr(LocalStore, "move_in", note)
    first = shop.folder
    ways: list[tuple[Via, int]] = [("pages", 10_000), ("export", 10_000), ("pages", 25)]
    for number, (via, size) in enumerate(ways):
        monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", size)
        shop.folder, stored[:] = first / str(number), []
        report = shop.sync(via=via)
        assert (report.left, len(report.changed)) == (0, 48)
        assert sorted(stored) == sorted(DAYS)
        assert sorted(plain_rows(shop)) == query_rows(shop) == rows_of(shop.rows())
        with shop.client() as client:
            assert shop.dataset.verify(client, deep=True).problems == []
    stored.clear()
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 10_000)
    assert shop.sync(repull=2).changed == {}
    assert not stored


def test_a_kept_export_brings_only_the_hours_that_are_needed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first day is committed, and its second is not."""
    put = LocalStore.move_in

    def stop(store: LocalStore, file: str, name: str) -> None:
        if SECOND in name:
            raise KeyboardInterrupt
        put(store, file, name)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "move_in", stop)
        with pytest.raises(KeyboardInterrupt):
            shop.sync(via="export")
    shop.asked()
    report = shop.sync(via="export")
    assert (report.wanted, report.left, len(report.changed)) == (24, 0, 24)
    assert shop.asked()["bulk-export"] == 0
    assert data_of(shop) == DAYS
    assert query_rows(shop) == rows_of(shop.rows())


def test_a_restated_day_is_written_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.fill()
    restate(shop)
    monkeypatch.setattr(contents, "write_day", None)
    report = shop.sync()
    assert (report.left, [hour.hour for hour in report.changed]) == (0, [13])
    assert data_of(shop) == DAYS
    assert sorted(plain_rows(shop)) == query_rows(shop) == rows_of(shop.rows())


@pytest.mark.parametrize("size", [10_000, 12])
def test_a_large_day_keeps_a_file_for_each_hour(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Both kinds are read together, because each file has a column with the hour."""
    shop.fill(FIRST)
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", size)
    monkeypatch.setattr(files, "DAY_EVENTS", 100)
    assert shop.sync().left == 0
    assert len(data_of(shop)) == 25
    assert {read(shop.folder)[0] for read in READERS.values()} == {len(shop.held())}
    assert query_rows(shop) == rows_of(shop.rows())


def test_a_day_that_a_stop_left_incomplete_has_a_file_for_each_hour(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 12)
    assert 1 < len(shop.sync(FIRST, requests=12).changed) < 24
    hours = {f"data/date={FIRST}/hour-{hour:02}.parquet" for hour in range(24)}
    assert set() < data_of(shop) < hours
    assert shop.sync(FIRST).left == 0
    assert data_of(shop) == {f"data/date={FIRST}/day.parquet"}


def test_a_restated_hour_is_replaced_in_the_file_of_its_day(shop: Shop) -> None:
    shop.fill()
    restate(shop)
    assert shop.sync().left == 0
    assert data_of(shop) == DAYS
    assert sorted(plain_rows(shop)) == query_rows(shop) == rows_of(shop.rows())
    with shop.client() as client:
        assert shop.dataset.verify(client).is_whole


def test_a_kill_at_any_step_loses_and_doubles_nothing(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first hours to one file, and from this to another one."""
    shop.now = datetime(2026, 1, 16, 9, 30, tzinfo=UTC)
    shop.fill()
    shop.now = datetime(2026, 1, 20, 12, tzinfo=UTC)
    steps = _steps(monkeypatch)
    for is_restated in (False, True):
        before, at = query_rows(shop), 0
        if is_restated:
            restate(shop, 2)
        after = rows_of(shop.rows())
        saved = tmp_path / "saved"
        shutil.copytree(shop.folder, saved)
        while True:
            # The hours of a day have many steps alike.
            at += 3 if is_restated else 31
            steps[:] = [at]
            try:
                shop.sync()
            except Kill:
                steps[:] = []
                held = query_rows(shop)
                # Each hour is the former or the new one, as a whole.
                hours = {row[1:3] for row in held}
                assert all(
                    [r for r in held if r[1:3] == hour]
                    in ([r for r in side if r[1:3] == hour] for side in (before, after))
                    for hour in hours
                ), at
                plain = plain_rows(shop)
                assert len({row[0] for row in plain}) == len(plain), at
                check_finished(shop, after)
                shutil.rmtree(shop.folder)
                shutil.copytree(saved, shop.folder)
            else:
                break
        assert at > 8
        check_finished(shop, after)
        shutil.rmtree(saved)


def test_a_kill_while_new_days_are_written(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers see a day as a whole or not at all, and the next sync requests no page again."""
    rows, steps = rows_of(shop.rows()), _steps(monkeypatch)
    days = [[row for row in rows if str(row[1]) == day] for day in (FIRST, SECOND)]
    first, kills = shop.folder, 0
    for at in range(2, 100, 3):
        shop.folder, steps[:] = first / str(at), [at]
        try:
            shop.sync()
        except Kill:
            steps[:], kills = [], kills + 1
            plain = sorted(plain_rows(shop)) if data_of(shop) else []
            assert plain in ([], *days, rows), at
            has_page = [*shop.folder.rglob("page-*")] or [*shop.folder.rglob("manifest/*")]
            shop.asked()
            check_finished(shop, rows)
            assert shop.asked()["events"] <= (COUNT if has_page else 1 + COUNT), at
        else:
            break
    assert kills > 4


def check_finished(shop: Shop, rows: list[tuple[Any, ...]]) -> None:
    assert shop.sync().left == 0
    assert data_of(shop) == DAYS
    assert sorted(plain_rows(shop)) == query_rows(shop) == rows
    assert not files_in(shop.folder / "_adanalytics/journal")


def _steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Raise at the n-th change of a file, if the list that this returns holds n."""
    steps: list[int] = []

    def counted(name: str) -> Callable[..., Any]:
        real = getattr(LocalStore, name)

        def change(*args: Any, **options: Any) -> Any:
            if steps:
                steps[0] -= 1
                if steps[0] < 0:
                    raise Kill
            return real(*args, **options)

        return change

    for name in ("write", "move_in", "copy", "remove"):
        monkeypatch.setattr(LocalStore, name, counted(name))
    return steps


def test_the_hours_of_damaged_day_files_are_pulled_again(shop: Shop) -> None:
    shop.fill()
    first, second = (shop.folder / name for name in sorted(DAYS))

    def problems() -> list[tuple[date | None, int | None, str]]:
        found = shop.dataset.verify(None).problems
        return [(problem.day, problem.hour, problem.remedy) for problem in found]

    flip(first)
    assert problems() == [(date(2026, 1, 15), None, "repull")]
    first.unlink()
    second.write_bytes(second.read_bytes()[:-100])
    days = date(2026, 1, 15), date(2026, 1, 16)
    assert problems() == [(day, None, "sync") for day in days]
    assert shop.sync().left == 0
    assert data_of(shop) == DAYS
    assert sorted(plain_rows(shop)) == query_rows(shop) == rows_of(shop.rows())


def test_files_that_nobody_committed_are_named(shop: Shop) -> None:
    shop.fill(FIRST)
    folder = shop.folder / f"data/date={FIRST}"
    content = (folder / "day.parquet").read_bytes()
    (folder / "hour-13.parquet").write_bytes(content)
    (folder / "hour=13").mkdir()
    (folder / "hour=13/part-0.parquet").write_bytes(content)
    (shop.folder / f"data/date={SECOND}").mkdir()
    (shop.folder / f"data/date={SECOND}/hour-13.parquet").write_bytes(content)
    remedies = [(problem.what, problem.remedy) for problem in shop.dataset.verify(None).problems]
    name = f"data/date={FIRST}"
    assert remedies == [
        (f"{name}/hour-13.parquet does not belong here; delete it", "delete"),
        (f"{name}/hour=13/part-0.parquet does not belong here; delete it", "delete"),
        (f"data/date={SECOND}/hour-13.parquet does not belong here; delete it", "delete"),
    ]


def test_the_file_of_a_day_whose_manifest_is_damaged_is_not_to_be_deleted(shop: Shop) -> None:
    shop.fill(FIRST)
    (shop.folder / f"_adanalytics/manifest/{FIRST}.json").write_text("{")
    (problem,) = shop.dataset.verify(None).problems
    assert (str(problem.day), problem.remedy) == (FIRST, "sync")


def test_a_dataset_is_repartitioned_without_a_request(shop: Shop) -> None:
    shop.partition = "hour"
    shop.fill()
    shop.partition, dataset = None, shop.dataset
    assert partition_of(shop) == "hour"
    assert f"data/date={FIRST}/hour=13/part-0.parquet" in data_of(shop)
    every, former = query_rows(shop), data_of(shop)
    shop.asked()
    dataset.repartition("day")
    assert (data_of(shop), query_rows(shop)) == (DAYS, every)
    assert sorted(plain_rows(shop)) == every
    dataset.repartition("day")
    other = Dataset(shop.folder, partition="hour")
    refused = pytest.raises(DatasetError, match="of partition day, not hour")
    with refused as caught, shop.client() as client:
        other.sync(client)
    assert "Dataset.repartition" in caught.value.remedy
    dataset.repartition("hour")
    assert (data_of(shop), query_rows(shop)) == (former, every)
    assert shop.asked() == {}
    assert shop.sync().wanted == 0
    with shop.client() as client:
        assert shop.dataset.verify(client, deep=True).problems == []
    assert json.loads((shop.folder / "_adanalytics/dataset.json").read_text())["layout"] == 2


@pytest.mark.parametrize("partition", ["day", "hour"])
def test_a_kill_while_it_is_repartitioned(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, partition: Partition
) -> None:
    """The next sync goes on; meanwhile a query reads files of both kinds."""
    shop.partition = "hour" if partition == "day" else "day"
    shop.fill()
    shop.partition = None
    every, steps = query_rows(shop), _steps(monkeypatch)
    for at in range(0, 400, 53):
        steps[:] = [at]
        try:
            shop.dataset.repartition(partition)
        except Kill:
            steps[:] = []
            assert query_rows(shop) == every
        else:
            break
    assert at > 53
    steps[:] = []
    assert shop.sync().wanted == 0
    assert partition_of(shop) == partition
    assert query_rows(shop) == sorted(plain_rows(shop)) == every
    assert len(data_of(shop)) == (2 if partition == "day" else 48)
    assert not files_in(shop.folder / "_adanalytics/journal")


def test_what_cannot_have_files_of_days_says_so(shop: Shop) -> None:
    refused = pytest.raises(ConfigurationError, match="Only parquet files hold whole days")
    with refused:
        Dataset(shop.folder, partition="day", format="jsonl")
    with shop.client() as client:
        Dataset(shop.folder, format="jsonl").sync(client, FIRST)
        with refused:
            Dataset(shop.folder, partition="day").sync(client)
    with pytest.raises(DatasetError, match="cannot change: its format is jsonl"):
        shop.dataset.repartition("day")
    with pytest.raises(ConfigurationError, match="partition"):
        shop.dataset.repartition("week")  # type: ignore[arg-type]


def test_a_dataset_that_lost_its_record_keeps_its_partition(shop: Shop) -> None:
    shop.partition = "hour"
    shop.fill()
    shop.partition = None
    (shop.folder / "_adanalytics/dataset.json").unlink()
    assert shop.sync().left == 0
    assert partition_of(shop) == "hour"


def test_a_damaged_file_is_not_repartitioned(shop: Shop) -> None:
    shop.fill(FIRST)
    file = shop.folder / f"data/date={FIRST}/day.parquet"
    flip(file)
    with pytest.raises(DatasetError, match="checksum mismatch"):
        shop.dataset.repartition("hour")
    file.unlink()
    assert shop.sync(FIRST).wanted == 24
    assert shop.sync(FIRST).wanted == 0
    assert partition_of(shop) == "hour"
    rows = rows_of([row for row in shop.rows() if row["event_date"] == FIRST])
    assert query_rows(shop) == sorted(plain_rows(shop)) == rows


def test_an_hour_is_not_put_into_a_damaged_file(shop: Shop) -> None:
    """The new file would have a good record of the damaged rows."""
    shop.fill(FIRST)
    flip(shop.folder / f"data/date={FIRST}/day.parquet")
    store, hour = open_store(str(shop.folder)), Hour(date(2026, 1, 15), 13)
    held = Contents.open(store, Identity.require(store))
    record = held.manifest.record(hour)
    assert record is not None
    held.commit(FinishedHour(hour, HourRecord(0, 0, "", record.asked_at, "")), record.fingerprint)
    with pytest.raises(DatasetError, match=r"day\.parquet is corrupt"):
        held.save([hour.day])


def test_the_file_of_an_hour_that_lost_its_events_goes_after_a_kill(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.partition = "hour"
    shop.fill(FIRST)
    store, hour = open_store(str(shop.folder)), Hour(date(2026, 1, 15), 13)
    identity, steps = Identity.require(store), _steps(monkeypatch)
    held, empty = Contents.open(store, identity), HourRecord(0, 0, "", shop.now, "")
    # The note in the journal is written, the file not yet removed.
    steps[:] = [1]
    with pytest.raises(Kill):
        held.commit(FinishedHour(hour, empty), "")
    steps.clear()
    assert len(data_of(shop)) == 24
    recover(Contents.open(store, identity))
    rows = [row for row in shop.rows() if row["event_date"] == FIRST and row["event_hour"] != 13]
    assert sorted(plain_rows(shop)) == query_rows(shop) == rows_of(rows)
