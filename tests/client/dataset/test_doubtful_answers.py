"""Answers and clocks that a sync does not believe at once."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.server_answers import answer
from tests.vocabularies import as_csv
from werkzeug import Response

from adanalytics_client import Client
from adanalytics_client._base.choices import Via
from adanalytics_client._json.fields import ID_OF
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.records.manifest import seal
from adanalytics_client.errors import ProtocolError
from adanalytics_server.local import LocalServer

DAY = "2026-01-15"
A_YEAR_BEHIND = datetime(2025, 1, 20, 12, tzinfo=UTC)


def asked(server: LocalServer) -> Counter[str | None]:
    """Count the requests since the last look, by operation."""
    counts = Counter(entry.operation for entry in server.journal.entries())
    server.journal.clear()
    return counts


def test_a_day_that_the_service_lists_is_never_in_the_future(
    client: Client, tmp_path: Path
) -> None:
    dataset = Dataset(tmp_path, clock=lambda: A_YEAR_BEHIND)
    assert dataset.sync(client, "2026-01-15").events == 300
    missing = dataset.verify(client).problems
    assert [str(each) for each in missing] == ["2026-01-16  24 of 24 hours are missing"]
    assert dataset.sync(client).events == 300
    assert dataset.verify(client).is_whole
    assert dataset.sync(client, repull=1).wanted == 24
    assert dataset.sync(client).wanted == 0
    # By the right clock nothing shows that these hours were over when they were pulled.
    assert Dataset(tmp_path).sync(client).wanted == 48


def test_of_a_day_that_lacks_one_hour_only_that_hour_is_requested(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    dataset = Dataset(tmp_path, partition="hour")
    dataset.sync(client, "2026-01-15", via="pages")
    next(tmp_path.glob("data/date=2026-01-15/hour=07/*")).unlink()
    server.journal.clear()
    assert dataset.sync(client, "2026-01-15", via="pages").failed == []
    asked_for = [entry.query for entry in server.journal.entries() if entry.operation == "events"]
    # The hour, and the count of the day.
    assert [dict(query).get("hour") for query in asked_for] == ["7", None]


def test_a_repull_that_fails_leaves_a_day_that_another_one_completes(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    dataset.sync(client, "2026-01-15", via="pages")
    server.faults.add(answer("events", {}))
    assert dataset.sync(client, "2026-01-15", via="pages", repull=1).left == 24
    server.faults.clear()
    assert dataset.sync(client, "2026-01-15", via="pages", repull=1).left == 0


def test_an_empty_list_of_days_is_asked_for_once_more(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    server.faults.add(answer("dates", {"dates": []}, times=1))
    assert Dataset(tmp_path).sync(client).events == 600
    assert asked(server)["dates"] == 2


def test_a_day_of_another_century_makes_no_endless_range(
    server: LocalServer, client: Client, dataset: Dataset
) -> None:
    """So a service may list events that have no time."""
    server.faults.add(answer("dates", {"dates": ["0001-01-01", DAY]}))
    for function in (dataset.plan, dataset.sync):
        with pytest.raises(ProtocolError, match="from 0001-01-01 to 2026-01-15") as error:
            function(client)
        assert "start to end needs no list" in error.value.remedy
    # A service may refuse long ranges, and shorter ones would take hours of requests.
    assert "summary" not in asked(server)
    assert dataset.sync(client, DAY).events == 300


def test_stated_days_that_seem_empty_are_asked_for_again(
    server: LocalServer, client: Client, tmp_path: Path
) -> None:
    """A plan, and a sync without a check, request no count that would tell more."""
    days, dataset = ("2026-01-15", "2026-01-16"), Dataset(tmp_path)
    server.faults.add(
        answer("dates", {"dates": []}, times=1), answer("summary", {"data": []}, times=1)
    )
    assert len(dataset.plan(client, *days).hours) == 48
    server.faults.add(
        answer("dates", {"dates": []}, times=1), answer("summary", {"data": []}, times=1)
    )
    assert dataset.sync(client, *days, check="none").events == 600


def test_events_that_arrive_twice_start_their_query_again(
    server: LocalServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed query does not know the ids of the pages before, so a sync counts its own."""
    monkeypatch.setattr("adanalytics_client.dataset.pull.fetch.EVENTS_PER_PAGE", 100)
    rows = [*client.events("2026-01-15", split="none").rows()]
    server.faults.add("401 always on events after 2")
    with pytest.raises(Exception, match="401"):
        Dataset(tmp_path).sync(client, "2026-01-15", via="pages")
    server.faults.clear()
    pages = {"page": 3, "per_page": 100, "total": 300, "total_pages": 3, "has_more": False}
    server.faults.add(answer("events", {"events": rows[198:298], "pagination": pages}, times=1))
    asked(server)
    assert Dataset(tmp_path).sync(client, "2026-01-15", via="pages").events == 300
    # The pages alone show it, so the summary is not asked for again.
    # Behind a last page that is full, one more is asked for; then the day is counted. The names of
    # each group follow, and behind the five demand tags, a second page is looked for.
    names = len(ID_OF) + 1
    assert asked(server) == {"dates": 1, "summary": 1 + names, "events": (1 + 1) + (3 + 1) + 1}


def of_hours(*numbers: int) -> dict[tuple[str, int], Sequence[str]]:
    """Five events in each hour, the last of them stored twice."""
    text = '{"event_id":"e%d-%d","event_date":"%s","event_hour":%d}'
    return {
        (DAY, hour): [text % (hour, min(number, 3), DAY, hour) for number in range(5)]
        for hour in numbers
    }


@pytest.mark.parametrize("way", ["auto", "pages"])
def test_what_the_service_stores_twice_is_in_the_dataset_twice(
    service: ServiceOfRows, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, way: Via
) -> None:
    """A page is one moment, so nothing moved; the count is that of the rows."""
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 5)
    service.rows, service.export = of_hours(3, 4), as_csv
    with service.client() as client:
        report = dataset.sync(client, DAY, via=way)
        assert (report.failed, report.events) == ([], 10)
        assert dataset.verify(client, until=DAY).is_whole
        assert dataset.sync(client, DAY, via=way).wanted == 0
        assert dataset.verify(client, until=DAY, deep=True).is_whole


def test_verify_notices_events_that_are_twice_only_in_the_file(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    service.rows = of_hours(3)
    with service.client() as client:
        dataset.sync(client, DAY, via="pages")
        (path,) = Path(dataset.place).glob("_adanalytics/manifest/*.json")
        day = json.loads(path.read_text())
        del day["sha256"]
        day["hours"]["3"]["repeated"] = 0
        path.write_bytes(seal(day))
        (problem,) = dataset.verify(client, until=DAY).problems
        assert problem.what == "1 of its events appear twice, not 0"


def test_an_export_with_an_event_twice_is_not_taken(
    service: ServiceOfRows, dataset: Dataset
) -> None:
    """Its number of rows is right, too, if it lost an event for the one that came twice."""
    service.rows, service.export = of_hours(3), as_csv
    with service.client() as client:
        (failure,) = dataset.sync(client, DAY, via="export").failed
        assert "holds 1 event twice" in failure.message
        assert failure.remedy == "Pull pages."


def test_an_export_whose_last_amount_may_be_cut_is_not_taken(
    service: ServiceOfRows, httpserver: HTTPServer, dataset: Dataset
) -> None:
    """Neither a length nor a line end shows its end."""
    text = json.dumps({"event_date": DAY, "event_hour": 3, "price": 25})
    service.rows[DAY, 3], service.export = [text], as_csv
    body = as_csv([text])[: -len("5\n")]
    httpserver.handlers[:] = [each for each in httpserver.handlers if each.matcher.uri != "/file"]
    httpserver.expect_request("/file").respond_with_handler(lambda _: Response(iter([body])))
    with service.client() as client:
        (failure,) = dataset.sync(client, DAY, via="export").failed
    assert "its last record has no line end" in failure.message
    # No argument of a sync takes the file as it is.
    assert failure.remedy == "Download it again."


def test_some_hours_are_pulled_although_others_have_copies(
    service: ServiceOfRows, tmp_path: Path
) -> None:
    service.rows = of_hours(3, 5, 7)
    service.rows[DAY, 5] = service.rows[DAY, 5][:-1]
    dataset = Dataset(tmp_path, partition="hour")
    with service.client() as client:
        dataset.sync(client, DAY, via="pages")
        for hour in ("03", "05"):
            next(tmp_path.glob(f"data/date={DAY}/hour={hour}/*")).unlink()
        assert dataset.sync(client, DAY, via="pages").failed == []
        assert dataset.verify(client, until=DAY).is_whole


def test_copies_on_two_pages_are_pulled_on_one(
    service: ServiceOfRows, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What two pages have may have moved meanwhile; pages of another size have it in one moment."""
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 5)
    texts = [f'{{"event_id":"e{n}","event_date":"{DAY}","event_hour":3,"n":{n}}}' for n in range(8)]
    service.rows[DAY, 3] = [*texts[:5], *texts[4:]]
    with service.client() as client:
        report = dataset.sync(client, DAY, via="pages")
        assert (report.failed, report.events) == ([], 9)
        assert dataset.verify(client, until=DAY).is_whole
