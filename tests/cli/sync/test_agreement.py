"""A sync believes nothing that contradicts the summary, and a healthy run mends everything."""

import json
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adanalytics_client.dataset.pull import fetch as dataset_fetch
from adanalytics_server.faults import Fault

Shop = Any
Held = Callable[[Path], list[dict[str, Any]]]
LOOK = {"dates": 1, "summary": 1}
FIRST, SECOND = "2026-01-15", "2026-01-16"


def answer(operation: str, body: str, **when: Any) -> Fault:
    """Complete answers of an operation that differ from the data of the service."""
    return Fault(
        effect="status",
        operation=operation,
        status=200,
        body=body,
        content_type="application/json",
        **when,
    )


@pytest.mark.parametrize("size", [25, 10_000])
@pytest.mark.parametrize("after", [0, 2])
def test_one_empty_answer_loses_nothing(
    shop: Shop, held: Held, folder: Path, monkeypatch: pytest.MonkeyPatch, size: int, after: int
) -> None:
    monkeypatch.setattr(dataset_fetch, "EVENTS_PER_PAGE", size)
    shop.server.faults.add(answer("events", "[]", after=after, times=1))
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == shop.rows()


WITHOUT_FIGURES = '{"data": []}'


def test_an_empty_answer_that_only_the_count_contradicts_loses_nothing(
    shop: Shop, held: Held, folder: Path
) -> None:
    shop.server.faults.add(answer("summary", WITHOUT_FIGURES))
    shop.server.faults.add(answer("events", "[]", times=1))
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == shop.rows()


def test_without_a_check_only_the_summary_contradicts_an_empty_answer(
    shop: Shop, folder: Path
) -> None:
    shop.server.faults.add(answer("summary", WITHOUT_FIGURES))
    shop.server.faults.add(answer("events", "[]", times=1))
    assert shop.sync("--to", folder, "--check", "none").exit_code == 0
    # Each hour by itself, as the size of the days is not known.
    assert shop.asked() == {**LOOK, "events": 48}
    assert len([*folder.rglob("*.parquet")]) == 47


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


def test_a_day_that_differs_from_its_count_is_pulled_once_more(
    shop: Shop, held: Held, folder: Path
) -> None:
    count_more(shop, 1, *ONE_MORE_IN_EACH)
    assert shop.sync("--to", folder).exit_code == 0
    # A pull, four counts, a pull and a count.
    assert shop.asked() == {"dates": 2, "summary": 2, "events": 7}
    assert held(folder) == shop.rows()


def test_a_day_that_differs_from_its_count_is_reported_and_mended(
    shop: Shop, held: Held, folder: Path
) -> None:
    count_more(shop, 2, *ONE_MORE_IN_EACH)
    result = shop.sync("--to", folder)
    assert result.exit_code == 3
    assert f"48 of 48 hours not done: {FIRST}: " in result.stderr
    assert "the service counts more than its 600 events" in result.stderr
    # Not even `verify` would find the lost event, so no reader is to have the others.
    assert not [*folder.rglob("*.parquet")]
    assert "24 of 24 hours are missing" in shop.run("verify", folder).stdout
    shop.server.faults.clear()
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == shop.rows()
    shop.asked()
    assert shop.sync("--to", folder).exit_code == 0
    assert shop.asked() == LOOK


def test_held_events_are_replaced_only_by_a_day_that_agrees_with_its_count(
    shop: Shop, held: Held, folder: Path
) -> None:
    shop.sync("--to", folder)
    before = held(folder)
    gone = next(row for row in shop.rows() if not row["is_filtered"])
    hour = gone["event_date"], gone["event_hour"]
    rows = [row for row in shop.rows() if (row["event_date"], row["event_hour"]) == hour]
    shop.load([row for row in rows if row != gone], folder.parent, replace=True)
    count_more(shop, 2, 600, 600)
    result = shop.sync("--to", folder)
    assert (result.exit_code, f"24 of 24 hours not done: {FIRST}: " in result.stderr) == (3, True)
    assert held(folder) == before
    shop.server.faults.clear()
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == shop.rows()


def test_check_none_asks_for_no_count(shop: Shop, held: Held, folder: Path) -> None:
    result = shop.sync("--to", folder, "--check", "none")
    assert (result.exit_code, shop.asked()) == (0, {**LOOK, "events": 1})
    assert held(folder) == shop.rows()
    shop.sync("--to", folder, "--repull", "2")
    assert shop.asked() == {**LOOK, "events": 2}


def test_check_none_is_part_of_the_command_that_goes_on(shop: Shop, folder: Path) -> None:
    words = (FIRST, SECOND, "--to", folder, "--check", "none")
    stopped = shop.sync(*words, "--max-requests", "2")
    command = f"Continue with: adanalytics sync {FIRST} {SECOND} --to {folder} --check none\n"
    assert (stopped.exit_code, command in stopped.stderr) == (5, True)


def test_a_stop_before_the_count_leaves_the_count_to_the_next_sync(
    shop: Shop, held: Held, folder: Path
) -> None:
    assert shop.sync("--to", folder, "--max-requests", "3").exit_code == 5
    shop.asked()
    assert shop.sync("--to", folder).exit_code == 0
    assert shop.asked() == {**LOOK, "events": 1}
    assert shop.sync("--to", folder).exit_code == 0
    assert shop.asked() == LOOK
    assert held(folder) == shop.rows()


def test_empty_answers_are_reported_and_mended(shop: Shop, held: Held, folder: Path) -> None:
    shop.server.faults.add(answer("events", "[]"))
    result = shop.sync("--to", folder)
    assert result.exit_code == 3
    assert "do not agree with the service: requests 0 instead of" in result.stderr
    shop.server.faults.clear()
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == shop.rows()
    assert not list((folder / "_adanalytics").glob("*/*/query.json"))


def test_held_events_are_replaced_only_by_a_day_that_adds_up(
    shop: Shop, held: Held, folder: Path
) -> None:
    shop.sync("--to", folder)
    before = held(folder)
    kept = [row for row in shop.rows() if row["event_date"] == FIRST and row["event_hour"] == 13]
    shop.load([row for row in kept if not row["is_filtered"]][1:], folder.parent, replace=True)
    shop.server.faults.add(answer("events", "[]"))
    shop.asked()
    result = shop.sync("--to", folder)
    assert result.exit_code == 3
    assert f"24 of 24 hours not done: {FIRST}: " in result.stderr
    # Asked for again, once, with a new summary; each list without a total is counted at once.
    assert shop.asked() == {"dates": 2, "summary": 2, "events": 4}
    assert held(folder) == before
    shop.server.faults.clear()
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == shop.rows()
    shop.asked()
    assert shop.sync("--to", folder).exit_code == 0
    assert shop.asked() == LOOK


@pytest.mark.parametrize(
    ("operation", "body"), [("dates", '{"dates": []}'), ("summary", '{"summary": []}')]
)
def test_one_answer_without_days_costs_no_page(
    shop: Shop, held: Held, folder: Path, operation: str, body: str
) -> None:
    shop.sync("--to", folder)
    shop.asked()
    shop.server.faults.add(answer(operation, body, times=1))
    assert shop.sync("--to", folder).exit_code == 0
    assert shop.asked()["events"] == 0
    assert held(folder) == shop.rows()


def test_an_hour_of_a_day_that_is_not_over_does_not_lose_events(
    shop: Shop, held: Held, folder: Path
) -> None:
    shop.now = shop.now.replace(day=16, hour=10, minute=20)
    shop.sync("--to", folder)
    before = held(folder)
    shop.now += timedelta(hours=2)
    shop.server.faults.add(answer("events", "[]"))
    result = shop.sync("--to", folder)
    assert (result.exit_code, "has fewer events than before" in result.stderr) == (3, True)
    assert held(folder) == before
    shop.server.faults.clear()
    shop.now += timedelta(days=1)
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == shop.rows()


@pytest.mark.parametrize(("times", "code"), [(1, 0), (None, 3)])
def test_an_empty_hour_of_a_day_that_is_not_over_is_asked_for_again(
    shop: Shop, held: Held, folder: Path, hourly: None, times: int | None, code: int
) -> None:
    shop.now = shop.now.replace(day=16, hour=10, minute=20)
    due = [r for r in shop.rows() if (r["event_date"], r["event_hour"]) <= (SECOND, 10)]
    begin = shop.price(FIRST) + 2
    shop.server.faults.add(answer("events", "[]", after=begin, times=times))
    result = shop.sync("--to", folder)
    assert (result.exit_code, held(folder) == due) == (code, code == 0), result.stderr
    shop.server.faults.clear()
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == due


def test_an_empty_hour_is_not_confirmed_by_a_kill(
    shop: Shop, held: Held, folder: Path, hourly: None
) -> None:
    shop.server.faults.add(answer("events", "[]", after=1, times=1))
    assert shop.sync("--to", folder, "--max-requests", "8").exit_code == 5
    assert shop.sync("--to", folder).exit_code == 0
    assert held(folder) == shop.rows()


@pytest.mark.parametrize("body", ["{}", "null", "[]", ""])
def test_an_order_that_cannot_be_taken_up_is_ordered_anew(
    shop: Shop, held: Held, folder: Path, body: str
) -> None:
    shop.server.faults.add(answer("start_export", body, times=1))
    assert shop.sync("--to", folder, "--via", "export").exit_code in {0, 3}
    assert shop.sync("--to", folder, "--via", "export").exit_code == 0
    assert held(folder) == shop.rows()


def test_a_repull_uses_no_page_from_before_it(
    shop: Shop, held: Held, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_fetch, "EVENTS_PER_PAGE", 100)
    assert shop.sync("--to", folder, "--max-requests", "5").exit_code == 5
    assert list((folder / "_adanalytics").glob("spool/*/page-*"))
    shop.now += timedelta(minutes=5)
    shop.asked()
    assert shop.sync("--to", folder, "--repull", "2").exit_code == 0
    # The last page is full, so that one behind it is asked for; then both days are counted.
    assert shop.asked() == {**LOOK, "events": 12 + 1 + 1}
    assert held(folder) == shop.rows()
    assert not list((folder / "_adanalytics").glob("spool/*/*"))


def test_signed_addresses_are_private(shop: Shop, folder: Path) -> None:
    shop.server.faults.add("503 always on download")
    shop.sync("--to", folder, "--via", "export", "--max-requests", "4")
    (order,) = (folder / "_adanalytics").glob("exports/*/query.json")
    assert stat.S_IMODE(order.stat().st_mode) == 0o600
