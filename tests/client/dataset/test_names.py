"""The names of campaigns and demand tags: when a sync asks for them, and how it keeps them."""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.client.dataset.shop import FIRST, NAMES, SECOND, Shop

from adanalytics_client._json.fields import ID_OF, FieldNames
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.records import names as records
from adanalytics_client.dataset.records.names import (
    GroupNames,
    Names,
    read_names,
    spans_without_names,
)
from adanalytics_client.dataset.storage.local import LocalStore
from adanalytics_server.faults import Fault
from adanalytics_server.local import LocalServer, Sample

THIRD = date(2026, 1, 17)
# The summary by day comes first.
BY_CAMPAIGN = Fault(effect="status", operation="summary", status=500, after=1)


def kept(folder: Path) -> Names:
    return read_names(LocalStore(folder, str(folder)))


def load_hour(shop: Shop, day: date, hour: int) -> None:
    """Load events of an hour of a day, which the service did not have."""
    moment = f"{day}T{hour:02}:10:00.000Z"
    times = {"event_date": str(day), "event_hour": hour, "event_time": moment}
    rows = [row for row in shop.rows() if row["event_date"] == FIRST][:3]
    id_ = f"00000000-0000-4000-8000-{hour:06}"
    shop.load(
        [
            {**row, **times, "received_at": moment, "event_id": f"{id_}{at:06}"}
            for at, row in enumerate(rows)
        ]
    )


def summaries(shop: Shop) -> int:
    """Count those beside the one by day, since the last look."""
    return shop.asked()["summary"] - 1


def test_names_are_asked_for_once_a_day(shop: Shop) -> None:
    shop.now = shop.now.replace(day=17, hour=8)
    shop.sync()
    assert summaries(shop) == NAMES
    known = kept(shop.folder)
    assert {name: len(known[name].names) > 0 for name in known} == dict.fromkeys(ID_OF, True)
    for hour, count in ((5, NAMES), (6, 0)):
        load_hour(shop, THIRD, hour)
        assert shop.sync().events
        assert summaries(shop) == count
    assert shop.sync().hours == {}
    assert summaries(shop) == 0
    assert {(group.first, group.last) for group in kept(shop.folder).values()} == {
        (date(2026, 1, 15), THIRD)
    }


def test_a_failure_is_logged_and_made_up_for(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """The client tries twice, and does not go on with the other group."""
    shop.server.faults.add(BY_CAMPAIGN)
    report = shop.sync()
    assert (report.left, report.failed, report.events) == (0, [], 1_200)
    assert (summaries(shop), kept(shop.folder)) == (2, {})
    assert [record.message for record in caplog.records if "names" in record.message] == [
        record.message for record in caplog.records if "no new names of campaigns" in record.message
    ]
    shop.server.faults.clear()
    shop.now = shop.now.replace(day=17, hour=8)
    load_hour(shop, THIRD, 5)
    shop.sync()
    assert (summaries(shop), kept(shop.folder)["campaign"].first) == (NAMES, date(2026, 1, 15))


def test_a_service_without_a_group_is_not_asked_again(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop.now = shop.now.replace(day=17, hour=8)
    shop.server.faults.add(replace(BY_CAMPAIGN, status=400, times=1))
    shop.sync()
    assert "no new names of campaigns" in caplog.text
    known = kept(shop.folder)
    assert (len(known["campaign"].names), len(known["demand_tag"].names) > 1) == (0, True)
    shop.asked()
    load_hour(shop, date(2026, 1, 16), 23)
    assert shop.sync().events
    assert summaries(shop) == 0


@pytest.mark.parametrize(
    ("fields", "mapped", "count"),
    [
        ('"campaign_id": 7, "demand_tag_id": 8', {}, 2),
        ('"campaignId": 7', {}, 1),
        ('"cid": "7"', {"campaign_id": "cid"}, 1),
        ('"cid": "7"', {}, 0),
    ],
)
def test_only_groups_with_ids_are_asked_for(
    fields: str, mapped: Mapping[str, str], count: int, httpserver: HTTPServer, tmp_path: Path
) -> None:
    service = ServiceOfRows(httpserver)
    service.rows[FIRST, 3] = [f'{{"event_time": "{FIRST}T03:00:00Z", {fields}}}']
    with service.client(fields=mapped) as client:
        plan = Dataset(tmp_path / "events").plan(client)
        del service.asked[:]
        report = Dataset(tmp_path / "events").sync(client)
    assert report.events == 1
    assert service.asked.count("summary") == 1 + count
    assert len(service.asked) <= plan.requests + 2


def test_other_names_of_fields_have_names(tmp_path: Path) -> None:
    sample = Sample(days=1, events_per_day=100, seed=7)
    with LocalServer(sample=sample, dialect="fields-camel", rate_limit=0) as server:
        shop = Shop(server, tmp_path / "events")
        shop.sync()
        assert kept(shop.folder)["campaign"].names["1001"] == "Spring Sale"


@pytest.mark.parametrize(
    ("id_", "name", "expected"),
    [
        ("c-1", "Été & 'Co'", [{"campaign_id": "c-1", "name": "Été & 'Co'"}]),
        ("1", "\ud800x", [{"campaign_id": "1", "name": "?x"}]),
        (7, "seven", [{"campaign_id": 7, "name": "seven"}]),
        (7, 8, []),
        (7, None, []),
        (None, "seven", []),
        ([7], "seven", []),
    ],
)
def test_a_name_is_what_a_service_sends(
    dataset: Dataset, id_: object, name: object, expected: list[Any], httpserver: HTTPServer
) -> None:
    service = ServiceOfRows(httpserver)
    event = {"event_time": f"{FIRST}T03:00:00Z", "campaign_id": id_}
    service.rows[FIRST, 3] = [json.dumps(event)]
    service.campaigns = [{"campaign_id": id_, "campaign_name": name}]
    with service.client() as client:
        assert dataset.sync(client).events == 1
    sql = "SELECT campaign_id, campaign_name AS name FROM campaigns JOIN events USING (campaign_id)"
    assert dataset.query(sql).to_pylist() == expected


@pytest.mark.parametrize("content", [b"", b'{"campaign": 1, "sha256": ""}'])
def test_a_damaged_record_is_written_anew(content: bytes, shop: Shop) -> None:
    shop.fill(FIRST)
    whole = kept(shop.folder)["campaign"].names
    (shop.folder / "_adanalytics/names.json").write_bytes(content)
    assert kept(shop.folder) == {}
    shop.asked()
    shop.sync(FIRST, SECOND)
    assert (summaries(shop), kept(shop.folder)["campaign"].names) == (NAMES, whole)


def test_the_newest_names_stay_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(records, "MOST_NAMES", 3)
    group = GroupNames(THIRD, THIRD, {"1": "one", "2": "two", "3": "three"})
    with caplog.at_level(logging.WARNING):
        assert group.updated("campaign", {"3": "tres"}).names == {
            "3": "tres",
            "1": "one",
            "2": "two",
        }
        assert caplog.text == ""
        assert group.updated("campaign", {"4": "four", "2": "dos"}).names == {
            "4": "four",
            "2": "dos",
            "1": "one",
        }
    assert "keeps 3 names of campaigns, and drops 1" in caplog.text


@pytest.mark.parametrize(
    ("days", "span"),
    [
        ([0], None),
        ([-1, 0, 1], None),
        ([2], (1, 2)),
        ([0, 5], (1, 5)),
        ([-4], (-4, -1)),
        ([-4, 1], (-4, -1)),
        ([-4, 4], (-4, 4)),
    ],
)
def test_the_days_of_requests_have_no_gap(days: list[int], span: tuple[int, int] | None) -> None:
    def day(number: int) -> date:
        return THIRD + timedelta(days=number)

    known: Any = {"campaign": GroupNames(day(-1), day(1))}
    columns = ("campaign_id",)
    spans = spans_without_names(known, [*map(day, days)], columns, FieldNames())
    assert spans == ({"campaign": (day(span[0]), day(span[1]))} if span else {})
