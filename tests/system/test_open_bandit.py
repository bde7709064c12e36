"""Real impressions and clicks, from the files through the whole system and back.

The files are 20,000 real impressions of the Open Bandit Dataset (arXiv 2008.07146); they are not
part of the project, so the test is skipped where they are not beside it.
"""

import csv
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from tests.programs import run_program

from adanalytics_client import Client

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "open-bandit"
FILES = {1: DATA / "random_men.csv", 2: DATA / "random_women.csv"}
DAYS = [date(2019, 11, day) for day in range(24, 31)]
PARTNER = "zozo"
PASSWORD = "a password for one test"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the Open Bandit files are not beside the project"
)
Counts = Counter[tuple[date, int, int, str]]


def adanalytics(*arguments: str | Path, stdin: str = "") -> str:
    """Run a command to its end and return what it printed."""
    done = run_program(
        [sys.executable, "-m", "adanalytics_cli", *map(str, arguments)], text=stdin, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def load(data: Path, campaign: int, file: Path, event_type: str, *options: str) -> None:
    adanalytics(
        *("server", "load", file, "--partner", PARTNER, "--data", data),
        *("--map", "event_time=timestamp", "--map", "creative_id=item_id"),
        *("--set", f"event_type={event_type}", "--set", f"campaign_id={campaign}"),
        *("--set", "supply_tag_id=1", "--set", "demand_tag_id=11"),
        *options,
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with both files, the impressions first and then the clicks among them."""
    folder = tmp_path_factory.mktemp("open-bandit")
    adanalytics(
        *("server", "partner", "add", PARTNER, "--name", "ZOZO"),
        *("--currency", "JPY", "--data", folder),
    )
    cpm = ("--set", "revenue=0.25", "--set", "payment_type=cpm")
    for campaign, file in FILES.items():
        load(folder, campaign, file, "impression", *cpm)
        load(folder, campaign, file, "click", "--where", "click=1")
    return folder


@contextmanager
def serving(data: Path) -> Iterator[str]:
    """Run the server as a process of its own on a free port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "adanalytics_cli", "serve", "--port", "0", "--data", str(data)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            for word in line.split():
                if word.startswith("http://127.0.0.1:"):
                    yield word.rstrip(".,")
                    return
        raise AssertionError(f"the server ended with {process.wait()} before it said its address")
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def client(data: Path) -> Iterator[Client]:
    email = "ops@example.com"
    adanalytics(
        *("server", "user", "add", email, "--role", "admin", "--password-stdin", "--data", data),
        stdin=PASSWORD,
    )
    key = adanalytics(
        *("server", "key", "create", "--user", email, "--name", "test", "--data", data)
    ).strip()
    with serving(data) as url, Client(url, api_key=key, partner=PARTNER) as opened:
        yield opened


def counted_from_the_files() -> Counts:
    counts: Counts = Counter()
    for campaign, path in FILES.items():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                time = datetime.fromisoformat(row["timestamp"])
                counts[time.date(), time.hour, campaign, "impression"] += 1
                if row["click"] == "1":
                    counts[time.date(), time.hour, campaign, "click"] += 1
    return counts


def test_events_pulled_hour_by_hour_are_the_rows_of_the_files(client: Client) -> None:
    assert client.dates() == DAYS
    query = client.events(DAYS[0], DAYS[-1])
    assert query.plan.least_requests == 7 * 24
    counts: Counts = Counter()
    ids = set()
    for event in query:
        day, hour = date.fromisoformat(str(event.event_date)), event.event_hour
        assert event.campaign_id is not None
        assert hour is not None
        counts[day, hour, event.campaign_id, str(event.event_type)] += 1
        ids.add(event.event_id)
    assert counts == counted_from_the_files()
    assert counts.total() == len(ids) == 20_000 + 92


def test_the_summary_gives_the_click_through_rate_of_the_files(client: Client) -> None:
    counts = counted_from_the_files()
    rows = client.summary(DAYS[0], DAYS[-1], group_by="campaign").rows
    assert [row["campaign_id"] for row in rows] == [1, 2]
    for row in rows:
        campaign = row["campaign_id"]
        shown, clicks = (
            sum(n for (_, _, c, kind), n in counts.items() if (c, kind) == (campaign, wanted))
            for wanted in ("impression", "click")
        )
        assert (row["impressions"], row["clicks"]) == (shown, clicks)
        assert row["ctr"] == round(Decimal(clicks) / shown, 6)
        assert row["revenue"] == shown * Decimal("0.25")
    by_day = client.summary(DAYS[0], DAYS[-1], group_by="day").rows
    for row, day in zip(by_day, DAYS, strict=True):
        assert row["impressions"] == sum(
            n for (d, _, _, kind), n in counts.items() if (d, kind) == (day, "impression")
        )


def test_loading_the_files_again_adds_nothing(data: Path, client: Client) -> None:
    before = client.summary(DAYS[0], DAYS[-1])
    load(data, 1, FILES[1], "impression", "--set", "revenue=0.25", "--set", "payment_type=cpm")
    assert client.summary(DAYS[0], DAYS[-1]) == before
