"""`dates --chart` in the folder of a dataset: the hours that it holds, and no request."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from adanalytics_client.dataset import Dataset

Shop = Any
PERIOD = ("2026-01-14", "2026-01-16")


@pytest.fixture
def dataset(shop: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset with a whole day, and with ten hours of another one; one stands in it."""
    assert shop.sync("2026-01-14", "2026-01-15", "--to", folder).exit_code == 0
    shop.now = shop.now.replace(day=16, hour=9, minute=30)
    assert shop.sync("2026-01-16", "--to", folder).exit_code == 0
    monkeypatch.chdir(folder)
    shop.asked()
    return folder


def test_the_hours_of_a_dataset(shop: Shop, dataset: Path) -> None:
    shown = shop.run("dates", *PERIOD, "--chart")
    said = "Hours in the dataset of this folder:\n"
    assert (shown.exit_code, shown.stderr) == (0, said)
    assert shown.stdout.splitlines() == [
        "        1   5    10   15   20   25   30",
        "2026-01              ·█▒                  2/3",
        "",
        "hours: · 0  ░ 1-8  ▒ 9-16  ▓ 17-23  █ 24",
        "Data on 2 of 3 days.",
        "Missing:",
        "  2026-01-14 no events",
        "Last hour with data: 09:00 UTC, this hour.",
    ]
    assert not shop.asked()
    assert "2026-01              ·█▒" in shop.run("dates", "--chart").stdout


def test_hours_that_are_missing_are_named(
    shop: Shop, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour without events is no hour with data, and an hour to come is not missing."""
    shop.now = shop.now.replace(hour=14, minute=10)
    holdings = Dataset(dataset).holdings()
    assert holdings
    holdings.events[date(2026, 1, 15)] |= dict.fromkeys((3, 4, 20), 0)
    with monkeypatch.context() as patched:
        patched.setattr(Dataset, "holdings", lambda _self: holdings)
        _check_gaps(shop, dataset)


def _check_gaps(shop: Shop, dataset: Path) -> None:
    shown = shop.run("dates", "2026-01-15", "2026-01-16", "--chart").stdout
    assert "▓▒" in shown
    for gap in (
        "2026-01-15 03:00 to 04:59 no events",
        "2026-01-15 20:00 to 20:59 no events",
        "2026-01-16 10:00 to 13:59 not pulled",
    ):
        assert f"  {gap}\n" in shown
    rows = json.loads(shop.run("dates", "--in", dataset, "-f", "json").stdout)
    assert [(row["date"][-2:], row["hours"]) for row in rows] == [("14", 0), ("15", 21), ("16", 10)]
    assert [row["missing"] for row in rows[::2]] == ["no events", "10:00 to 13:59 not pulled"]
    assert rows[2]["events"] > 0
    assert not shop.asked()


def test_nothing_need_be_set_to_look(
    shop: Shop, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BASE_URL", "PARTNER", "API_KEY"):
        monkeypatch.delenv(f"ADANALYTICS_{name}")
    shown = shop.run("dates", *PERIOD, "--chart", "-v")
    assert "·█▒ " in shown.stdout
    assert shown.stderr == "Hours in the dataset of this folder:\n"


@pytest.mark.parametrize("other", [("--partner", "other"), ("--base-url", "http://127.0.0.1:9")])
def test_what_is_set_otherwise_is_asked_of_the_service(
    shop: Shop, dataset: Path, other: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADANALYTICS_API_KEY", "")
    shown = shop.run("dates", "--chart", *other)
    assert shown.exit_code == 4
    assert "Not signed in" in shown.stderr


def test_without_the_picture_the_service_is_asked(shop: Shop, dataset: Path) -> None:
    assert shop.run("dates", "-f", "csv").stdout == "date\n2026-01-15\n2026-01-16\n"
    assert shop.asked() == {"dates": 1}


def test_a_damaged_day_is_told_and_drawn_empty(shop: Shop, dataset: Path) -> None:
    (dataset / "_adanalytics/manifest/2026-01-15.json").write_text("{")
    shown = shop.run("dates", *PERIOD, "--chart")
    assert "··▒ " in shown.stdout
    assert shown.stderr.startswith("the manifest of 2026-01-15 is damaged: ")


def test_a_dataset_without_a_day_has_nothing_to_show(shop: Shop, dataset: Path) -> None:
    for manifest in (dataset / "_adanalytics/manifest").iterdir():
        manifest.unlink()
    assert "█ data  · none" in shop.run("dates", "--chart").stdout
    assert shop.asked() == {"dates": 1, "events": 1}


def test_the_status_tells_how_fresh_the_dataset_is(shop: Shop, dataset: Path) -> None:
    shown = shop.run("status").stdout.splitlines()
    assert shown[-1].split("  ")[0] == "data until"
    assert "2026-01-16 09:00 UTC" in shown[-1]
    assert "last hour in the dataset of this folder, this hour" in shown[-1]
    found = json.loads(shop.run("status", "--json").stdout)
    assert found["dataset"] == {"last_hour": "2026-01-16T09:00:00Z"}
    assert not shop.asked()
