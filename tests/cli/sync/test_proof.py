"""`verify` says which figures it compared with the service, and which it could not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Shop = Any
FIRST, SECOND = "2026-01-15", "2026-01-16"


def state(shop: Shop, *rows: dict[str, object]) -> None:
    """Let the summary by day have these rows."""
    shop.answer("summary", {"data": rows})


def sums(shop: Shop, day: str) -> tuple[int, str]:
    """Return the impressions and the revenue of a day, to two digits."""
    rows = [row for row in shop.rows() if row["event_date"] == day and not row["is_filtered"]]
    revenue = sum(round(float(row["revenue"]) * 1e9) for row in rows)
    return sum(row["event_type"] == "impression" for row in rows), f"{revenue / 1e9:.2f}"


@pytest.fixture
def dataset(shop: Shop, folder: Path, copy_of_sync: Callable[..., Path]) -> Path:
    return copy_of_sync(shop, folder)


def test_what_was_compared_is_named(shop: Shop, dataset: Path) -> None:
    result = shop.run("verify", dataset)
    assert shop.asked() == {"dates": 1, "summary": 1, "events": 1}
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith(
        "OK: 48 hours, 1,200 events; compared with the summary: requests, impressions, starts, "
        "first_quartiles, midpoints, third_quartiles, completions, clicks, skips, errors, revenue, "
        "cost, and with the service's count; 3 requests, "
    )
    assert shop.run("verify", dataset, "--strict").exit_code == 0


def test_money_is_compared_at_the_precision_of_the_summary(shop: Shop, dataset: Path) -> None:
    rows = []
    for day in (FIRST, SECOND):
        impressions, revenue = sums(shop, day)
        rows.append({"date": day, "impressions": impressions, "revenue": revenue, "views": 5})
    state(shop, *rows)
    result = shop.run("verify", dataset)
    assert result.stderr.startswith(
        "OK: 48 hours, 1,200 events; compared with the summary: impressions, revenue (to 2 digits),"
        " and with the service's count; not compared: views, no event field sums to it; "
    )
    told = json.loads(shop.run("verify", dataset, "--json").stdout)
    assert told["compared"] == [
        {"name": "impressions", "digits": None},
        {"name": "revenue", "digits": 2},
        {"name": "total", "digits": None},
    ]
    assert told["not_compared"] == [{"name": "views", "reason": "no event field sums to it"}]
    assert told["without_id"] == 0


@pytest.mark.parametrize("command", ["sync", "verify"])
def test_sync_and_verify_refuse_the_same_summary(shop: Shop, dataset: Path, command: str) -> None:
    state(shop, {"date": FIRST, "revenue": 7200}, {"date": SECOND, "revenue": 7200})
    words = ("--to", dataset) if command == "sync" else (dataset,)
    result = shop.run(command, *words)
    assert result.exit_code == (3 if command == "sync" else 7)
    assert "instead of 7,200" in result.stdout + result.stderr


def test_without_a_figure_nothing_is_called_a_match(shop: Shop, dataset: Path) -> None:
    state(shop, {"date": FIRST, "views": 1}, {"date": SECOND, "views": 2})
    shop.server.faults.add("403 always on events")
    result = shop.run("verify", dataset)
    assert (result.exit_code, "matching" in result.stderr) == (0, False), result.stderr
    assert (
        "OK: 48 hours, 1,200 events; not compared with the service; not compared: views, no "
        in (result.stderr)
    )
    assert "Warning: no figure could be compared." in result.stderr
    strict = shop.run("verify", dataset, "--strict")
    assert (strict.exit_code, "could be compared with the service" in strict.stderr) == (7, True)


def test_a_count_that_differs_is_a_problem(shop: Shop, dataset: Path) -> None:
    shop.answer("events", {"data": [], "meta": {"total": 1201, "page": 1, "per_page": 1}})
    result = shop.run("verify", dataset)
    assert (result.exit_code, f"{FIRST}  the service counts" in result.stdout) == (7, True)
    assert f"sync {FIRST} {SECOND} --to {dataset} --repull 2" in result.stderr
