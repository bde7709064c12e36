"""Hours and days as files: one order, each event once, and a stage until a day adds up."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import DEFAULT, MagicMock

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from tests.client.dataset.shop import COUNT, FIRST, SECOND, Shop
from tests.client.raw_events import event_batch
from tests.datasets import READERS, Row, files_in, flip
from tests.server_answers import answer

from adanalytics_client import AuthenticationError, ConfigurationError, Observer
from adanalytics_client._base.choices import Via
from adanalytics_client._json.fields import FieldNames
from adanalytics_client.dataset import Dataset, DatasetError, Hour, PartFormat, Partition
from adanalytics_client.dataset.changes import DayChange, changes_of
from adanalytics_client.dataset.hours import files, ids
from adanalytics_client.dataset.hours import sort as partition
from adanalytics_client.dataset.hours.ids import Ids
from adanalytics_client.dataset.hours.totals import Totals
from adanalytics_client.dataset.planning import PullQuery
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.pull.fetch import Pulled
from adanalytics_client.dataset.pull.spool import Spool
from adanalytics_client.dataset.records import contents
from adanalytics_client.dataset.records.contents import Contents
from adanalytics_client.dataset.records.layout import JOURNAL, hours_of
from adanalytics_client.dataset.records.manifest import (
    FORMER_KEPT,
    UNCONFIRMED,
    FinishedHour,
    HourRecord,
    Identity,
    Manifest,
    seal,
)
from adanalytics_client.dataset.records.recover import recover
from adanalytics_client.dataset.report import SyncReport
from adanalytics_client.dataset.service import DayState, ServiceDays
from adanalytics_client.dataset.staging import Staging
from adanalytics_client.dataset.storage.local import LocalStore, open_store
from adanalytics_client.tables import event_schema

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


NIL = "00000000-0000-0000-0000-000000000000"


def count(*tables: list[dict[str, Any]], names: FieldNames | None = None) -> tuple[int, int, int]:
    """Return the repeats, the events without an id, and how often the events were read again."""
    events, reads = [pa.Table.from_pylist(rows) for rows in tables], 0

    def read() -> Iterator[pa.Table]:
        nonlocal reads
        reads += 1
        yield from events

    with closing(Ids(names)) as found:
        for table in events:
            found.add(table)
        return found.repeated(read, found.shared()), found.without, reads


def test_ids_that_differ_are_not_read_twice() -> None:
    assert count([{"event_id": "a"}], [{"event_id": "b"}]) == (0, 0, 0)


def test_an_id_with_other_content_is_no_repeat() -> None:
    one, other = {"event_id": "a", "n": 1}, {"event_id": "a", "n": 2}
    assert count([one, other], [one, {"event_id": "b", "n": 1}]) == (1, 0, 1)


def test_a_field_without_a_value_may_be_missing_from_a_table() -> None:
    row = {"event_id": "a", "n": 1}
    assert count([row], [{**row, "more": None}], [{**row, "more": 2}]) == (1, 0, 1)


@pytest.mark.parametrize("value", ["", NIL, None])
def test_events_without_an_id_are_never_repeats(value: str | None) -> None:
    assert count([{"event_id": value, "n": 1}] * 3 + [{"event_id": "a", "n": 1}]) == (0, 3, 0)
    assert count([{"n": 1}] * 3) == (0, 3, 0)


def test_other_names_of_the_id() -> None:
    assert count([{"eventId": 7}] * 2) == (1, 0, 1)
    assert count([{"key": 7}] * 2, names=FieldNames({"event_id": "key"})) == (1, 0, 1)


@pytest.mark.parametrize("most", [1, 4, 1_000])
def test_repeats_are_counted_beyond_what_is_held(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ids, "IDS_HELD", most)
    rows = [{"event_id": str(number % 10), "n": number % 20} for number in range(40)]
    assert count(rows[:25], rows[25:]) == (20, 0, 1)


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


HOURS = [*hours_of(DAY)]
NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)


class Summary:
    """What the service says about the day: how many clicks it has."""

    def __init__(self, clicks: int) -> None:
        self._state = DayState(DAY, f"{clicks} clicks", {"clicks": clicks})

    def state(self, _day: date) -> DayState:
        return self._state


def says(clicks: int) -> ServiceDays:
    return Summary(clicks)  # type: ignore[return-value]  # with all that is read


def stage(contents: Contents, clicks: int, report: SyncReport | None = None) -> Staging:
    return Staging(contents, says(clicks), report or SyncReport(NOW), Observer())


class Bench:
    """A dataset of text files, and results of queries for it that nobody sent."""

    def __init__(self, folder: Path) -> None:
        self.store = open_store(str(folder / "dataset"))
        self.contents = Contents.open(self.store, Identity("acme", "http://localhost", "jsonl"))
        self._folder = folder

    def pulled(self, clicks: int, *hours: Hour) -> Pulled:
        """Make the result of a query whose hours have this many clicks each."""
        query = PullQuery("pages", DAY, DAY, None, hours)
        spool = Spool.open(self.store, query, "basis")
        spool.begin(NOW)
        finished = []
        for hour in hours:
            path = self._folder / str(hour)
            path.write_text("x" * clicks)
            totals = Totals(clicks, {"clicks": clicks})
            record = HourRecord(clicks, clicks, "sha256", NOW, UNCONFIRMED, totals)
            finished.append(FinishedHour(hour, record, str(path)))
        return Pulled(finished, spool)

    def held(self) -> set[int]:
        """Return the different numbers of events in the hours that are in place."""
        return {record.rows for record in self.contents.manifest.day(DAY).hours.values()}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    first = stage(made.contents, 48)
    first.expect(HOURS)
    first.add(made.pulled(2, *HOURS))
    first.take_counts({})
    assert (made.held(), first.differing) == ({2}, {})
    return made


def test_a_stop_before_the_rename_keeps_the_record_of_the_file_in_place(bench: Bench) -> None:
    """The note was written, the file is still the earlier one, of the same length."""
    held = bench.contents.manifest.record(HOURS[3])
    assert held is not None
    prepared = seal({"prepared": replace(held, rows=9, sha256="of the new file")})
    bench.store.write(f"{JOURNAL}/{HOURS[3]}.json", prepared)
    assert Contents.open(bench.store, bench.contents.identity).manifest.record(HOURS[3]) == held


def test_a_new_summary_may_explain_a_difference(bench: Bench) -> None:
    staging = stage(bench.contents, 48)
    staging.expect(HOURS)
    staging.add(bench.pulled(3, *HOURS))
    assert (bench.held(), len(staging.differing)) == ({2}, 1)
    assert staging.compare_again(says(72), set()) == []
    staging.take_counts({})
    assert (bench.held(), staging.differing) == ({3}, {})


def test_a_folder_for_files_leaves_those_of_another_alone(bench: Bench) -> None:
    with bench.store.scratch() as outer:
        (outer / "hour").write_text("staged")
        with bench.store.scratch() as inner:
            (inner / "hour").write_text("anew")
        assert (outer / "hour").read_text() == "staged"
    assert not bench.store.sizes("_adanalytics/scratch")


def test_an_empty_hour_that_gets_events_waits_for_its_day(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    restated: list[DayChange] = []
    for clicks in (2, 4):
        report = SyncReport(NOW)
        staging = stage(bench.contents, 2 * clicks, report)
        staging.expect(HOURS)
        staging.add(bench.pulled(0, *HOURS[clicks:], *HOURS[: clicks - 2]))
        staging.add(bench.pulled(clicks, *HOURS[clicks - 2 : clicks]))
        staging.take_counts({})
        restated = report.restated
    (change,) = restated
    assert (change.before["events"], change.after["events"]) == (4, 8)


def test_a_restatement_is_noticed_when_it_is_first_rejected(bench: Bench) -> None:
    report = SyncReport(NOW)
    first = stage(bench.contents, 73, report)
    first.expect(HOURS)
    first.add(bench.pulled(3, *HOURS))
    assert [*first.reject()]
    assert (report.restated, changes_of(bench.contents.manifest.day(DAY))) == ([], [])
    later = stage(bench.contents, 72, report)
    later.expect(HOURS)
    later.add(bench.pulled(3, *HOURS))
    later.take_counts({})
    (change,) = report.restated
    assert (change.before["clicks"], change.after["clicks"]) == (48, 72)
    assert len(bench.contents.manifest.day(DAY).former) == 1


def test_a_stop_while_hours_are_replaced_does_not_lose_the_former_totals(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging = stage(bench.contents, 72)
    staging.expect(HOURS)
    staging.add(bench.pulled(3, *HOURS))
    moves = MagicMock(wraps=bench.store.move_in, side_effect=[DEFAULT, DEFAULT, MemoryError])
    with monkeypatch.context() as patched:
        patched.setattr(bench.store, "move_in", moves)
        with pytest.raises(MemoryError):
            staging.take_counts({})
    bench.contents = Contents.open(bench.store, bench.contents.identity)
    again = stage(bench.contents, 72)
    again.expect(HOURS)
    again.add(bench.pulled(3, *HOURS))
    again.take_counts({})
    (change,) = changes_of(bench.contents.manifest.day(DAY))
    assert (change.before["clicks"], change.after["clicks"]) == (48, 72)


def test_a_day_keeps_a_bounded_number_of_former_totals(tmp_path: Path) -> None:
    manifest = Manifest(open_store(str(tmp_path)))
    for _ in range(FORMER_KEPT + 2):
        manifest.keep_totals(DAY, NOW)
    assert len(manifest.day(DAY).former) == FORMER_KEPT
