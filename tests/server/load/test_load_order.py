"""The order of what is stored, in bounded memory; one file loaded again, in part, as two kinds."""

import random
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.api.summaries import read_summary
from adanalytics_server.loading.load import LoadReport, Progress, load_file
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.loading.sorting import RecordSorter
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import LogEvent, Record
from adanalytics_server.storage.store import PartnerStore

Load = Callable[..., LoadReport]

Stored = Callable[[], list[LogEvent]]


@pytest.mark.parametrize("most_bytes", [1, 2_000, 1 << 20])
def test_an_hour_is_in_order_of_time_and_id_and_memory_does_not_matter(
    load: Load, stored: Stored, store: PartnerStore, most_bytes: int
) -> None:
    chance = random.Random(2)
    rows = [
        f"2019-11-{chance.randint(24, 25)} {chance.randint(0, 2):02d}:00:0{chance.randint(0, 1)}Z,"
        f"{chance.randint(0, 3)}\n"
        for _ in range(300)
    ]
    mapping = Mapping.parse(constants=["event_type=impression", "supply_tag_id=1"])
    text = "event_time,campaign_id\n" + "".join(rows)
    assert load("a.csv", text, mapping, most_bytes=most_bytes).stored == 300
    events = stored()
    order = [(event.event_time, event.event_id) for event in events]
    assert order == sorted(order)
    assert len(set(order)) == 300
    # Nothing is left of the temporary files.
    assert {path.name.split(".")[0] for path in store.folder.iterdir()} == {"ledger", "2019-11"}


def test_progress_ends_both_stages(store: PartnerStore, tmp_path: Path) -> None:
    seen: list[Progress] = []
    path = tmp_path / "a.csv"
    rows = "".join(f"2019-11-24 01:00:00.{n:06d}Z,click,1\n" for n in range(10_001))
    path.write_text("event_time,event_type,supply_tag_id\n" + rows)
    load_file(
        store,
        path,
        partner_id="acme",
        currency="USD",
        mapping=Mapping.parse(),
        progress=seen.append,
    )
    assert [(step.stage, step.rows) for step in seen] == [
        ("reading", 5_000),
        ("reading", 10_000),
        ("reading", 10_001),
        ("storing", 5_000),
        ("storing", 10_000),
        ("storing", 10_001),
    ]
    assert all(0 < step.fraction <= 1 for step in seen)


def record(time: int, number: int, size: int = 0) -> Record:
    body = f"{number:08d}".encode() + b"x" * size
    return Record(time, b"", body, number % 10, (None, number), -number, None, number % 2 == 0)


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize("most_bytes", [1, 5_000, 1 << 30])
@given(times=st.lists(st.integers(-(2**40), 2**40), max_size=60))
def test_any_records_come_back_sorted(most_bytes: int, times: list[int]) -> None:
    records = [record(time, number % 7) for number, time in enumerate(times)]
    with closing(RecordSorter(most_bytes)) as sorter:
        for each in records:
            sorter.add(each)
        assert list(sorter) == sorted(records)


def test_an_abandoned_sort_closes_its_files() -> None:
    before = open_files()
    with closing(RecordSorter(1)) as sorter:
        for number in range(5_000):
            sorter.add(record(-number, number, size=1_000))
        assert open_files() > before
        assert next(iter(sorter)).time == -4_999
    assert open_files() == before


SHOP_IMPRESSIONS = Mapping.parse(
    columns=["event_time=timestamp", "creative_id=item_id"],
    constants=[
        "event_type=impression",
        "supply_tag_id=1",
        "campaign_id=2",
        "campaign_name=women",
        "demand_tag_id=11",
        "demand_tag_name=random",
        "revenue=0.0015",
        "payment_type=cpm",
    ],
)
SHOP_CLICKS = Mapping.parse(
    columns=["event_time=timestamp", "creative_id=item_id"],
    constants=["event_type=click", "supply_tag_id=1", "campaign_id=2", "demand_tag_id=11"],
    where=["click=1"],
)
EVENT_ID = "0190b2f4-7c1e-7a52-9b1f-2f1f6d7c8e90"
SHOP = """timestamp,item_id,position,click
2019-11-24 00:03:24.688993+00:00,32,2,0
2019-11-24 00:03:24.688993+00:00,32,2,0
2019-11-24 00:03:56.812917+00:00,9,2,1
2019-11-25 01:07:45+01:00,25,1,1
"""


def test_one_file_as_impressions_and_then_its_clicks(
    load: Load, stored: Stored, store: PartnerStore
) -> None:
    impressions = load("women.csv", SHOP, SHOP_IMPRESSIONS)
    clicks = load("women.csv", SHOP, SHOP_CLICKS)
    assert impressions == LoadReport(
        rows=4,
        not_taken=0,
        stored=4,
        duplicates=0,
        changed=0,
        days=(date(2019, 11, 24), date(2019, 11, 25)),
        replaced_hours=0,
        ignored_columns=("position", "click"),
        times_without_zone=0,
    )
    assert (clicks.rows, clicks.not_taken, clicks.stored) == (4, 2, 2)
    assert clicks.ignored_columns == ("position",)
    events = stored()
    assert len({event.event_id for event in events}) == 6
    week = DayRange(date(2019, 11, 24), date(2019, 11, 30))
    (row,) = read_summary(store, week, group_by="campaign", currency="USD")["summary"]
    assert (row["campaign_id"], row["campaign_name"]) == (2, "women")
    assert (row["impressions"], row["clicks"], row["revenue"]) == (4, 2, "0.006000000")
    (row,) = read_summary(store, week, group_by="demand_tag", currency="USD")["summary"]
    assert (row["demand_tag_id"], row["demand_tag_name"]) == (11, "random")


def test_loading_again_adds_nothing_in_whatever_order(load: Load, stored: Stored) -> None:
    load("a.csv", SHOP, SHOP_IMPRESSIONS)
    before = stored()
    header, *rows = SHOP.splitlines(keepends=True)
    random.Random(1).shuffle(rows)
    again = load("b.csv", header + "".join(rows), SHOP_IMPRESSIONS)
    assert (again.stored, again.duplicates, again.days) == (0, 4, ())
    assert stored() == before


def test_a_csv_and_a_jsonl_file_of_the_same_rows_are_the_same_events(
    load: Load, stored: Stored
) -> None:
    csv = (
        "event_time,event_type,supply_tag_id,campaign_id,key_values\n"
        '2019-11-24T01:00:00,click,007,,"{""b"":""2"",""a"":""1""}"\n'
    )
    jsonl = (
        '{"event_time":"2019-11-24 02:00:00+01","supply_tag_id":7,"event_type":"click",'
        '"key_values":{"a":"1","b":"2"}}'
    )
    assert load("a.csv", csv).stored == 1
    assert load("a.jsonl", jsonl).duplicates == 1


def test_equal_rows_stay_as_many_as_they_are(load: Load, stored: Stored) -> None:
    text = "event_time,event_type,supply_tag_id\n" + "2019-11-24T01:00:00Z,click,1\n" * 5
    report = load("a.csv", text)
    assert (report.stored, report.duplicates) == (5, 0)
    more = load("b.csv", text + "2019-11-24T01:00:00Z,click,1\n")
    assert (more.stored, more.duplicates) == (1, 5)


def test_a_given_id_twice_is_one_event(load: Load, stored: Stored) -> None:
    rows = "".join(f"{EVENT_ID},2019-11-24T01:00:0{n}Z,click,1\n" for n in (2, 1, 2))
    report = load("a.csv", f"event_id,event_time,event_type,supply_tag_id\n{rows}")
    assert (report.stored, report.duplicates) == (1, 2)
    assert [event.event_time for event in stored()] == ["2019-11-24T01:00:01.000Z"]


def test_replaced_hours_lose_what_they_had(load: Load, stored: Stored) -> None:
    load("a.csv", SHOP, SHOP_IMPRESSIONS)
    corrected = SHOP.splitlines()[0] + "\n2019-11-24 00:59:59+00:00,1,1,0\n"
    report = load("b.csv", corrected, SHOP_IMPRESSIONS, replace_hours=True)
    assert (report.stored, report.replaced_hours) == (1, 1)
    assert report.days == (date(2019, 11, 24),)
    assert [event.creative_id for event in stored()] == ["1", "25"]


def test_a_correction_may_move_an_event_to_an_earlier_hour(
    load: Load, stored: Stored, store: PartnerStore
) -> None:
    header = "event_id,event_time,event_type,supply_tag_id\n"
    other = f"{EVENT_ID[:-1]}1"
    load(
        "a.csv",
        f"{header}{EVENT_ID},2019-11-24T05:00:00Z,click,1\n{other},2019-11-24T02:00Z,click,1\n",
    )
    corrected = (
        f"{header}{EVENT_ID},2019-11-24T02:30:00Z,click,1\n{other},2019-11-24T05:01Z,click,1\n"
    )
    report = load("b.csv", corrected, replace_hours=True)
    assert (report.stored, report.duplicates, report.replaced_hours) == (2, 0, 2)
    assert [event.event_id for event in stored()] == [EVENT_ID, other]
    day = DayRange(date(2019, 11, 24), date(2019, 11, 24))
    assert read_summary(store, day, group_by=None, currency="USD")["totals"]["clicks"] == 2


def test_a_name_that_changes_keeps_its_last_form(load: Load, store: PartnerStore) -> None:
    text = (
        "event_time,event_type,supply_tag_id,campaign_id,campaign_name\n"
        "2019-11-24T01:00:00Z,click,1,5,Old\n"
        '2019-11-24T01:00:00Z,click,1,5,"New, ""and"" better"\n'
        "2019-11-24T01:00:00Z,click,1,,\n"
    )
    load("a.csv", text)
    day = DayRange(date(2019, 11, 24), date(2019, 11, 24))
    rows = read_summary(store, day, group_by="campaign", currency="USD")["summary"]
    assert [(row["campaign_id"], row["campaign_name"], row["clicks"]) for row in rows] == [
        (5, 'New, "and" better', 2),
        (None, None, 1),
    ]


def test_a_header_without_rows_is_a_file_without_events(load: Load) -> None:
    report = load("a.csv", "event_time,event_type,supply_tag_id\n")
    assert (report.rows, report.stored, report.days) == (0, 0, ())
