"""A sync during each fault of the server, and one after it: nothing is lost or hidden."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner
from tests.datasets import read_rows
from tests.server_answers import answer

from adanalytics_cli.main import cli
from adanalytics_client import Client, QuotaPolicy
from adanalytics_client._base.clock import SystemClock
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.pull import fetch as dataset_fetch
from adanalytics_client.testing import MovableClock, reference_client
from adanalytics_server.faults import EFFECTS, Fault, parse_fault
from adanalytics_server.local import LocalServer

Shop = Any
Row = dict[str, Any]

NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)
DAY = "2026-01-15"
# Some 30 events in three hours: pages of the day, pages of each hour, and one export.
PAGE_SIZES = {"pages": 15, "hours": 2, "export": 10_000}


def answers(operation: str, *bodies: str) -> list[Fault]:
    """Whole answers that are not what the service has: once, and always."""
    return [answer(operation, body, times=times) for body in bodies for times in (1, None)]


FAULTS: dict[str, list[str | Fault]] = {
    "pages": [
        "503 always on events",
        "400 once on events",
        "429 retry-after 5 once per hour",
        "reset always on events after 1",
        "empty reply once per request on GET",
        "truncated body always on events",
        "truncated gzip always on events",
        "bad json always on events after 1",
        "wrong content type on events",
        "html page always on summary",
        "latency 5ms on events",
        "slow body 20ms on events",
        "page drift 2 once",
        "page drift 2 always",
        "204 once on dates",
        "204 once on summary",
        "204 once on events",
        "204 once on events after 1",
        "204 always on events after 1",
        *answers("summary", "[]"),
        *answers("events", "[]", "{}"),
    ],
    "hours": [
        "503 always on events after 9",
        "204 once on events after 2",
        "204 twice on events after 2",
        *answers("events", "[]"),
    ],
    "export": [
        "503 once on start_export",
        "reset once on download",
        "empty reply once on start_export",
        "truncated body always on download",
        "bad json always on export_status",
        "html page always on download",
        "failed export once",
        "expired url",
        "204 once on download",
        *answers("download", ""),
        *answers("start_export", "", "{}", "null", "[]"),
        *answers("export_status", "", "{}", "null", "[]"),
    ],
}
CASES = [(via, each) for via, faults in FAULTS.items() for each in faults]


def name_of(part: str | Fault) -> str:
    if isinstance(part, Fault):
        return f"{part.body or 'nothing'} {'once' if part.times else 'always'} on {part.operation}"
    return part


@pytest.fixture(scope="module")
def clock() -> MovableClock:
    return MovableClock(NOW)


@pytest.fixture(scope="module")
def running(clock: MovableClock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A service with three hours of events, whose exports are done by its worker."""
    folder = tmp_path_factory.mktemp("service")
    with reference_client(seed=7, events_per_day=300) as client:
        rows = [row for hour in (3, 13, 14) for row in client.events(DAY, hour=hour).rows()]
    with LocalServer(data=folder / "data") as server:
        load(server, rows, folder / "rows.jsonl")
    # What is there at the start is what each reset brings back.
    options: dict[str, Any] = {"rate_limit": 0, "export_inline_max": 5, "dialect": "retry-none"}
    with LocalServer(data=folder / "data", clock=clock.of_server, **options) as server:
        yield server


def load(server: LocalServer, rows: list[Row], file: Path) -> None:
    """Load events in the place of what their hours had."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["server", "load", str(file), "--partner", "acme", "--replace-hours", "--data"]
    loaded = CliRunner().invoke(cli, [*words, str(server.settings.data)])
    assert loaded.exit_code == 0, loaded.stderr


@pytest.fixture(scope="module")
def older(running: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset from before the day was restated: one event in four was missing."""
    folder = tmp_path_factory.mktemp("older")
    # A test that failed leaves its faults; `shop` resets later than this is made.
    running.reset()
    key = running.api_key
    with Client(
        running.url, api_key=key, partner="acme", quota=QuotaPolicy(log="memory")
    ) as client:
        rows = list(client.events(DAY).rows())
        load(running, [row for row in rows if row not in rows[::4]], folder / "rows.jsonl")
        Dataset(folder / "events", clock=lambda: NOW).sync(client)
    return folder / "events"


@pytest.fixture
def moved(clock: MovableClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let waits of the command line move the clock instead of taking their time."""
    for name in ("time", "monotonic", "sleeping", "running"):
        told = getattr(clock, name)
        monkeypatch.setattr(SystemClock, name, lambda _self, *given, told=told: told(*given))


@pytest.fixture
def check(
    shop: Shop, moved: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str | Fault], None]:
    """Sync during a fault, then twice without it, and compare with what the service has."""

    def check_one(via: str, fault: str | Fault) -> None:
        monkeypatch.setattr(dataset_fetch, "EVENTS_PER_PAGE", PAGE_SIZES[via])
        words = ("--to", folder, "--via", "export" if via == "export" else "pages")
        right = shop.rows()
        before = read_rows(folder) if folder.exists() else []
        shop.server.faults.add(fault)
        faulty = shop.sync(*words)
        assert any(each.struck for each in shop.server.faults.counts())
        rows = read_rows(folder) if (folder / "data").exists() else []
        assert (faulty.exit_code == 0) == (rows == right), faulty.stderr
        for hour in range(24):
            # An hour is what it was, or what it should be.
            assert of(hour, rows) in (of(hour, before), of(hour, right))
        shop.server.faults.clear()
        healthy = shop.sync(*words)
        assert (healthy.exit_code, read_rows(folder) == right) == (0, True), healthy.stderr
        files = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        shop.asked()
        assert shop.sync(*words).exit_code == 0
        assert shop.asked() == {"dates": 1, "summary": 1}
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == files

    return check_one


def of(hour: int, rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["event_hour"] == hour]


@pytest.mark.parametrize(("via", "fault"), CASES, ids=name_of)
def test_a_fault_costs_no_event(
    check: Callable[[str, str | Fault], None], via: str, fault: str | Fault
) -> None:
    check(via, fault)


RESTATED = [
    (via, fault)
    for via, operation in (("pages", "events"), ("hours", "events"), ("export", "start_export"))
    for fault in ("503 always on " + operation, *answers(operation, "[]"))
]


@pytest.mark.parametrize(("via", "fault"), RESTATED, ids=name_of)
def test_a_fault_costs_no_event_that_is_held(
    check: Callable[[str, str | Fault], None],
    older: Path,
    folder: Path,
    via: str,
    fault: str | Fault,
) -> None:
    copytree(older, folder)
    check(via, fault)


def test_an_export_that_never_ends_is_ordered_anew(shop: Shop, moved: None, folder: Path) -> None:
    words = ("--to", folder, "--via", "export")
    shop.server.faults.add("stuck export once")
    stuck = shop.sync(*words, "--json")
    (failure,) = json.loads(stuck.stdout)["failed"]
    assert (stuck.exit_code, "Run the same command again" in failure["remedy"]) == (3, True)
    with Client(shop.server.url, api_key=shop.server.api_key, partner="acme") as client:
        # The server repeats the order that is stuck; one of another range has the same events.
        other = client.start_export(DAY, "2026-01-16", format="csv").wait().answer
    once, _ = answers("start_export", json.dumps({**other, "end_date": DAY}))
    shop.server.faults.add(once)
    result = shop.sync(*words)
    assert (result.exit_code, read_rows(folder) == shop.rows()) == (0, True), result.stderr


def test_no_effect_is_forgotten() -> None:
    faults = [each if isinstance(each, Fault) else parse_fault(each) for _, each in CASES]
    assert {"stuck_export", *(each.effect for each in faults)} == {*EFFECTS}
