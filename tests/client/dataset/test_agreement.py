"""A sync believes no answer or clock that contradicts the summary; a later run mends all."""

import json
import stat
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.client.dataset.shop import FIRST, FIRST_LOOK, LOOK, NAMES, SECOND, Shop
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


@pytest.mark.parametrize(("size", "after"), [(25, 2), (10_000, 0)])
def test_one_empty_answer_loses_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, size: int, after: int
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", size)
    shop.server.faults.add(answer("events", "[]", after=after, times=1))
    assert shop.sync().left == 0
    assert shop.held() == shop.rows()


WITHOUT_FIGURES = '{"data": []}'


def test_an_empty_answer_that_only_the_count_contradicts_loses_nothing(shop: Shop) -> None:
    shop.server.faults.add(answer("summary", WITHOUT_FIGURES))
    shop.server.faults.add(answer("events", "[]", times=1))
    assert shop.sync().left == 0
    assert shop.held() == shop.rows()


def test_without_a_check_only_the_summary_contradicts_an_empty_answer(shop: Shop) -> None:
    shop.server.faults.add(answer("summary", WITHOUT_FIGURES))
    shop.server.faults.add(answer("events", "[]", times=1))
    assert shop.sync(check="none").left == 0
    # Each hour by itself, as the size of the days is not known.
    assert shop.asked() == {**FIRST_LOOK, "events": 48}
    hours = {(row["event_date"], row["event_hour"]) for row in shop.held()}
    assert len(hours) == 47


def count_more(shop: Shop, pulls: int, *totals: int) -> None:
    """Let the service state these totals, one a request, after each of the pulls of one page."""
    for pull in range(1, pulls + 1):
        for total in totals:
            meta = {"total": total, "page": 1, "per_page": 1}
            body = json.dumps({"data": [], "meta": meta})
            # A request that another fault has answered does not count.
            shop.server.faults.add(answer("events", body, after=pull, times=1))


# Of both days, once more, and of each.
ONE_MORE_IN_EACH = (1_202, 1_202, 601, 601)


def test_a_day_that_differs_from_its_count_is_pulled_once_more(shop: Shop) -> None:
    count_more(shop, 1, *ONE_MORE_IN_EACH)
    assert shop.sync().left == 0
    # A pull, four counts, a pull and a count.
    assert shop.asked() == {"dates": 2, "summary": 2 + NAMES, "events": 7}
    assert shop.held() == shop.rows()


def test_a_day_that_differs_from_its_count_is_reported_and_mended(shop: Shop) -> None:
    count_more(shop, 2, *ONE_MORE_IN_EACH)
    report = shop.sync()
    assert (report.left, [failed.query for failed in report.failed]) == (48, [FIRST, SECOND])
    assert "the service counts 601, more than the 600 events of" in report.failed[0].message
    # Not even `verify` would find the lost event, so no reader is to have the others.
    assert not [*shop.folder.rglob("*.parquet")]
    with shop.client() as client:
        problems = shop.dataset.verify(client).problems
    assert problems[0].what == "24 of 24 hours are missing"
    shop.server.faults.clear()
    assert shop.sync().left == 0
    assert shop.held() == shop.rows()
    shop.asked()
    assert shop.sync().left == 0
    assert shop.asked() == LOOK


def test_held_events_are_replaced_only_by_a_day_that_agrees_with_its_count(shop: Shop) -> None:
    shop.fill()
    before = shop.held()
    gone = next(row for row in shop.rows() if not row["is_filtered"])
    hour = gone["event_date"], gone["event_hour"]
    rows = [row for row in shop.rows() if (row["event_date"], row["event_hour"]) == hour]
    shop.load([row for row in rows if row != gone], replace=True)
    count_more(shop, 2, 600, 600)
    report = shop.sync()
    assert (report.left, [failed.query for failed in report.failed]) == (24, [FIRST])
    assert shop.held() == before
    shop.server.faults.clear()
    assert shop.sync().left == 0
    assert shop.held() == shop.rows()


def test_check_none_asks_for_no_count(shop: Shop) -> None:
    report = shop.sync(check="none")
    assert (report.left, shop.asked()) == (0, {**FIRST_LOOK, "events": 1})
    assert shop.held() == shop.rows()
    shop.sync(repull=2)
    assert shop.asked() == {**LOOK, "events": 2}


def test_a_stop_before_the_count_leaves_the_count_to_the_next_sync(shop: Shop) -> None:
    assert shop.sync(requests=3).wanted == 48
    shop.asked()
    assert shop.sync().left == 0
    assert shop.asked() == {**FIRST_LOOK, "events": 1}
    assert shop.sync().left == 0
    assert shop.asked() == LOOK
    assert shop.held() == shop.rows()


def test_empty_answers_are_reported_and_mended(shop: Shop) -> None:
    shop.server.faults.add(answer("events", "[]"))
    message = shop.sync().failed[0].message
    assert "do not agree with the service: requests 0 instead of" in message
    shop.server.faults.clear()
    assert shop.sync().left == 0
    assert shop.held() == shop.rows()
    assert not list((shop.folder / "_adanalytics").glob("*/*/query.json"))


def test_held_events_are_replaced_only_by_a_day_that_adds_up(shop: Shop) -> None:
    shop.fill()
    before = shop.held()
    kept = [row for row in shop.rows() if row["event_date"] == FIRST and row["event_hour"] == 13]
    shop.load([row for row in kept if not row["is_filtered"]][1:], replace=True)
    shop.server.faults.add(answer("events", "[]"))
    shop.asked()
    report = shop.sync()
    assert (report.left, [failed.query for failed in report.failed]) == (24, [FIRST])
    # Asked for again, once, with a new summary; only a day that agrees with it is counted.
    assert shop.asked() == {"dates": 2, "summary": 2, "events": 2}
    assert shop.held() == before
    shop.server.faults.clear()
    assert shop.sync().left == 0
    assert shop.held() == shop.rows()
    shop.asked()
    assert shop.sync().left == 0
    assert shop.asked() == LOOK


@pytest.mark.parametrize(
    ("operation", "body"), [("dates", '{"dates": []}'), ("summary", '{"summary": []}')]
)
def test_one_answer_without_days_costs_no_page(shop: Shop, operation: str, body: str) -> None:
    shop.fill()
    shop.asked()
    shop.server.faults.add(answer(operation, body, times=1))
    assert shop.sync().left == 0
    assert shop.asked()["events"] == 0
    assert shop.held() == shop.rows()


def test_an_hour_of_a_day_that_is_not_over_does_not_lose_events(shop: Shop) -> None:
    shop.now = shop.now.replace(day=16, hour=10, minute=20)
    shop.fill()
    before = shop.held()
    shop.now += timedelta(hours=2)
    shop.server.faults.add(answer("events", "[]"))
    assert "has fewer events than before" in shop.sync().failed[0].message
    assert shop.held() == before
    shop.server.faults.clear()
    shop.now += timedelta(days=1)
    assert shop.sync().left == 0
    assert shop.held() == shop.rows()


@pytest.mark.parametrize(("times", "is_done"), [(1, True), (None, False)])
def test_an_empty_hour_of_a_day_that_is_not_over_is_asked_for_again(
    shop: Shop, hourly: None, times: int | None, is_done: bool
) -> None:
    shop.now = shop.now.replace(day=16, hour=10, minute=20)
    due = [r for r in shop.rows() if (r["event_date"], r["event_hour"]) <= (SECOND, 10)]
    begin = shop.price(FIRST) + 2
    shop.server.faults.add(answer("events", "[]", after=begin, times=times))
    report = shop.sync()
    assert (report.left == 0, shop.held() == due) == (is_done, is_done), report.failed
    shop.server.faults.clear()
    assert shop.sync().left == 0
    assert shop.held() == due


def test_an_empty_hour_is_not_confirmed_by_a_kill(shop: Shop, hourly: None) -> None:
    shop.server.faults.add(answer("events", "[]", after=1, times=1))
    assert shop.sync(requests=8).left > 0
    assert shop.sync().left == 0
    assert shop.held() == shop.rows()


@pytest.mark.parametrize("body", ["{}", "null", "[]", ""])
def test_an_order_that_cannot_be_taken_up_is_ordered_anew(shop: Shop, body: str) -> None:
    shop.server.faults.add(answer("start_export", body, times=1))
    assert shop.sync(via="export").left in {0, 48}
    assert shop.sync(via="export").left == 0
    assert shop.held() == shop.rows()


def test_a_repull_uses_no_page_from_before_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 100)
    assert shop.sync(requests=5).left > 0
    assert list((shop.folder / "_adanalytics").glob("spool/*/page-*"))
    shop.now += timedelta(minutes=5)
    shop.asked()
    assert shop.sync(repull=2).left == 0
    # The last page is full, so that one behind it is asked for; then both days are counted.
    assert shop.asked() == {**FIRST_LOOK, "events": 12 + 1 + 1}
    assert shop.held() == shop.rows()
    assert not list((shop.folder / "_adanalytics").glob("spool/*/*"))


def test_signed_addresses_are_private(shop: Shop) -> None:
    shop.server.faults.add("503 always on download")
    shop.sync(via="export", requests=4)
    (order,) = (shop.folder / "_adanalytics").glob("exports/*/query.json")
    assert stat.S_IMODE(order.stat().st_mode) == 0o600


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
