"""One file loaded as two kinds of events, loaded again, in part, and in another order."""

import random
from collections.abc import Callable
from datetime import date

from adanalytics_server.api.summaries import read_summary
from adanalytics_server.loading.load import LoadReport
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import LogEvent
from adanalytics_server.storage.store import PartnerStore

Load = Callable[..., LoadReport]

Stored = Callable[[], list[LogEvent]]

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
