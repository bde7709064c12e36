"""What a restated day held before: said by `sync`, kept in the dataset, listed by `changes`."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

Shop = Any
FIRST, SECOND = "2026-01-15", "2026-01-16"


def restate(shop: Shop) -> tuple[str, str]:
    """Take an impression with revenue from the second day; return its revenue before and after."""
    rows = [row for row in shop.rows() if row["event_date"] == SECOND]
    counted = [row for row in rows if not row["is_filtered"]]
    gone = next(
        row for row in counted if row["event_type"] == "impression" and Decimal(row["revenue"])
    )
    before = sum((Decimal(row["revenue"]) for row in counted), Decimal(0))
    kept = [row for row in rows if row["event_hour"] == gone["event_hour"] and row != gone]
    shop.load(kept, replace=True)
    after = before - Decimal(gone["revenue"])
    return (f"{before:f}".rstrip("0"), f"{after:f}".rstrip("0"))


@pytest.fixture
def restated(shop: Shop, folder: Path, copy_of_sync: Callable[..., Path]) -> tuple[str, str]:
    copy_of_sync(shop, folder)
    return restate(shop)


def test_a_sync_says_what_was_restated(shop: Shop, folder: Path, restated: tuple[str, str]) -> None:
    before, after = restated
    done = shop.sync("--to", folder)
    text = f"{SECOND} restated: 599 events instead of 600, revenue {after} instead of {before}, and"
    assert (done.exit_code, text in done.stderr) == (0, True), done.stderr
    assert "restated" not in shop.sync("--to", folder).stderr


def test_changes_are_listed_with_the_moment_when_they_were_noticed(
    shop: Shop, folder: Path, restated: tuple[str, str]
) -> None:
    told = json.loads(shop.sync("--to", folder, "--json").stdout)
    shop.asked()
    listed = json.loads(shop.run("changes", "--in", folder, "-f", "json").stdout)
    assert (listed, shop.asked().total()) == (told["restated"], 0)
    first = {"date": SECOND, "noticed_at": "2026-01-20T12:00:00Z", "figure": "events"}
    assert listed[0] == {**first, "before": 600, "after": 599}
    assert {row["figure"] for row in listed} >= {"events", "impressions", "revenue"}
    assert shop.run("changes", FIRST, "--in", folder, "-f", "json").stdout == "[]\n"
    csv = shop.run("changes", SECOND, SECOND, "--in", folder).stdout.splitlines()
    assert csv[:2] == [
        "date,noticed_at,figure,before,after",
        f"{SECOND},2026-01-20T12:00:00Z,events,600,599",
    ]
    table = shop.run("changes", "-7d", "--in", folder, "-f", "table").stdout
    assert "noticed at" in table.splitlines()[0]


def test_each_restatement_is_kept(shop: Shop, folder: Path, restated: tuple[str, str]) -> None:
    shop.sync("--to", folder)
    shop.now = shop.now.replace(day=21)
    restate(shop)
    shop.sync("--to", folder)
    rows = json.loads(shop.run("changes", "--in", folder, "-f", "json").stdout)
    events = [(row["noticed_at"][:10], row["before"]) for row in rows if row["figure"] == "events"]
    assert events == [("2026-01-20", 600), ("2026-01-21", 599)]


def test_without_a_change(shop: Shop, folder: Path) -> None:
    shop.sync(FIRST, "--to", folder)
    result = shop.run("changes", "--in", folder, "-f", "table")
    assert (result.exit_code, "No day was restated." in result.stdout) == (0, True)
