"""A sync believes nothing that contradicts the summary, and a healthy run mends everything."""

import json
import stat
from datetime import timedelta

import pytest
from tests.client.dataset.shop import FIRST, FIRST_LOOK, LOOK, NAMES, SECOND, Shop
from tests.server_answers import answer

from adanalytics_client.dataset.pull import fetch


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
