"""What a sync pulls, and at what cost; where a dataset may be, and what it says of changes."""

import json
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.datasets import everything_in, read_rows

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
from adanalytics_client._base.clock import SystemClock
from adanalytics_client._json.fields import ID_OF
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.pull import fetch as dataset_fetch

Shop = Any
LOOK = {"dates": 1, "summary": 1}
# The service's own count of the days that are over, in one request.
COUNT = 1
# At most, by each group with names.
NAMES = 2 * len(ID_OF)
FIRST, SECOND = "2026-01-15", "2026-01-16"
# Where requests are counted by the hour: a pull of 48 hours each by itself costs four times more.
BY_HOUR = pytest.mark.usefixtures("hourly")


@BY_HOUR
def test_max_requests_stops_and_the_command_goes_on(shop: Shop, folder: Path) -> None:
    result = shop.sync("2026-01-15", "2026-01-16", "--to", folder, "--max-requests", "12")
    assert result.exit_code == 5
    assert "Stopped: reached --max-requests 12; " in result.stderr
    assert " of 48 hours done" in result.stderr
    assert f"adanalytics sync 2026-01-15 2026-01-16 --to {folder}" in result.stderr
    assert sum(shop.asked().values()) == 12
    assert shop.sync("--to", folder).exit_code == 0
    assert shop.asked()["events"] == shop.price(FIRST) + shop.price(SECOND) - 10 + COUNT
    assert read_rows(folder) == shop.rows()


def test_a_dry_run_says_the_price_and_leaves_everything_alone(
    shop: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_fetch, "EVENTS_PER_PAGE", 500)

    def dry(*words: str, look: dict[str, int] = LOOK) -> dict[str, Any]:
        before = everything_in(folder)
        shop.asked()
        done = shop.sync("--to", folder, "--dry-run", "--json", *words)
        assert (done.exit_code, shop.asked(), everything_in(folder)) == (0, look, before)
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    # As long as the dataset has none, one event shows whether events tell their hours.
    first_look = {**LOOK, "events": 1}
    told = dry(FIRST, SECOND, look=first_look)
    assert not folder.exists()
    assert told["asked"] == [{"start": FIRST, "end": SECOND, "hours": 48, "why": "missing"}]
    assert (told["hours"], told["requests"], told["spent_requests"]) == (48, 3 + COUNT + NAMES, 3)
    assert told["page"] == 500
    assert told["command"] == f"adanalytics sync {FIRST} {SECOND} --to {folder} --via pages"
    assert told["prices"] == {"pages": 3, "export": 3}
    # Pages that a stopped sync kept cost nothing again.
    stopped = shop.sync("--to", folder, "--max-requests", "4")
    assert (stopped.exit_code, "0 of 48 hours done, 2 pages kept\n" in stopped.stderr) == (5, True)
    assert dry(look=first_look)["requests"] == 1 + COUNT + NAMES
    shop.sync("--to", folder)
    assert (dry()["requests"], dry()["asked"]) == (0, [])
    again = dry("--repull", "1")
    assert [(run["start"], run["why"]) for run in again["asked"]] == [
        (SECOND, "pulled again on demand")
    ]
    assert (dry("--repull", "1", "--via", "export")["exports"], again["requests"]) == (1, 2 + COUNT)


def test_the_result_as_json(shop: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_fetch, "EVENTS_PER_PAGE", 500)
    stopped = shop.sync("--to", folder, "--json", "-f", "jsonl", "--max-requests", "4")
    told, error = json.loads(stopped.stdout), json.loads(stopped.stderr)
    assert (told["requests"], told["wanted"], told["hours"] + told["left"]) == (4, 48, 48)
    assert (error["exit_code"], stopped.exit_code) == (5, 5)
    done = shop.sync("--to", folder, "--json")
    told = json.loads(done.stdout)
    assert (len(told["changed"]), [*told["changed"][0]]) == (48, ["hour", "before", "after"])
    assert (told["changed"][0]["hour"], told["changed"][0]["before"]) == (f"{FIRST}T00", 0)
    assert (told["events"] > 0, told["left"], told["failed"], told["report"]) == (True, 0, [], None)
    assert type(told["seconds"]) is float
    assert list(folder.glob("data/**/part-0.jsonl"))
    (folder / "data/date=2026-01-15/hour=13/part-0.jsonl").unlink()
    checked = shop.run("verify", folder, "--json")
    told = json.loads(checked.stdout)
    assert (checked.exit_code, told["whole"], told["hours"], told["events"]) == (7, False, 48, 1200)
    assert told["problems"] == [
        {
            "day": FIRST,
            "what": "data/date=2026-01-15/hour=13/part-0.jsonl was deleted",
            "hour": 13,
            "remedy": "sync",
            "missing": False,
            "changed": "",
        }
    ]
    assert shop.sync("--to", folder, "-f", "parquet", "-f", "jsonl").exit_code == 2


def test_the_files_of_a_dataset_become_others(shop: Shop, folder: Path) -> None:
    hours = shop.sync("--to", folder, "--partition", "hour")
    assert (hours.exit_code, len([*folder.glob("data/date=*/hour=*/*")])) == (0, 48)
    shop.asked()
    days = shop.sync("--to", folder, "--partition", "day", "--repartition")
    assert (days.exit_code, [*folder.glob("data/*/*")]) == (0, [*folder.glob("data/*/day.parquet")])
    assert shop.asked() == {"dates": 1, "summary": 1}


def test_off_a_terminal_one_line_says_what_was_done(
    shop: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_fetch, "EVENTS_PER_PAGE", 1000)
    done = shop.sync(FIRST, "--to", folder)
    line = r"600 events in 24 hours of 2026-01-15, [\d.]+ kB, \d+ requests, [\d.]+ s -> .*\n"
    assert re.fullmatch(line, done.stderr)
    assert shop.sync(FIRST, "--to", folder, "-q").stderr == ""
    assert shop.sync(FIRST, "--to", folder).stderr.startswith("2026-01-15 up to date, ")
    # The days that a word means.
    week = r"600 events in \d+ hours of 2026-01-13 to 2026-01-19, .*\n"
    assert re.fullmatch(week, shop.sync("-7d", "yesterday", "--to", folder).stderr)
    checked = shop.run("verify", folder)
    assert checked.stderr.startswith("OK: 168 hours, 1,200 events; compared with the summary: ")


@pytest.mark.parametrize("limit", [(), ("--rate-limit", "500"), ("--rate-limit", "0")])
def test_the_command_that_goes_on_has_the_options(
    shop: Shop, folder: Path, limit: tuple[str, ...]
) -> None:
    words = (FIRST, SECOND, "--to", folder, "--check", "none")
    stopped = shop.sync(*words, *limit, "--max-requests", "2")
    command = " ".join(["adanalytics", *limit, "sync", *map(str, words)])
    command = command.replace(" --check", " --via pages --check") + "\n"
    assert (stopped.exit_code, f"Continue with: {command}" in stopped.stderr) == (5, True)


@BY_HOUR
def test_one_bad_hour_leaves_the_others_alone(shop: Shop, folder: Path) -> None:
    shop.answer("events", {"nothing": 1}, after=5, times=1)
    result = shop.sync("--to", folder)
    assert result.exit_code == 3
    assert "1 of 48 hours not done: 2026-01-15T0" in result.stderr
    assert f"Finish with: adanalytics sync --to {folder}" in result.stderr
    (report,) = (folder / "_adanalytics/reports").iterdir()
    told = json.loads(report.read_text())
    assert [(each["kind"], len(each["hours"])) for each in told["bad"]] == [("ProtocolError", 1)]
    shop.asked()
    assert shop.sync("--to", folder).exit_code == 0
    assert shop.asked()["events"] <= 3
    assert read_rows(folder) == shop.rows()


@pytest.mark.parametrize(
    ("operation", "code", "said"),
    [
        ("dates", 6, "The service failed"),
        ("summary", 6, "The service failed"),
        ("events", 3, "48 of 48 hours not done"),
    ],
)
def test_a_service_that_fails_is_6_until_it_is_known_what_is_missing(
    shop: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch, operation: str, code: int, said: str
) -> None:
    monkeypatch.setattr(SystemClock, "sleeping", lambda _self, _until: ())
    shop.server.faults.add(f"500 always on {operation}")
    result = shop.sync("--to", folder)
    assert (result.exit_code, said in result.stderr) == (code, True)


PAGE_META = {"total", "page", "per_page"}


def test_what_the_service_calls_partial_is_not_kept(
    shop: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stated(around: tuple[dict[str, Any], ...]) -> str:
        # A page of events, not a summary.
        return "shard 3 timed out" if around[0].get("meta", {}).keys() == PAGE_META else ""

    with monkeypatch.context() as patched:
        patched.setattr("adanalytics_client._json.rows.stated_error", stated)
        result = shop.sync("2026-01-15", "--to", folder)
    assert (result.exit_code, "shard 3 timed out" in result.stderr) == (3, True)
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0


def test_a_service_that_moved_keeps_its_dataset(shop: Shop, folder: Path) -> None:
    shop.sync(FIRST, "--to", folder)
    former = shop.server.url
    moved = ("--base-url", former.replace("127.0.0.1", "localhost"), "--to", folder)
    refused = shop.sync(FIRST, *moved)
    assert (
        refused.exit_code,
        "sync takes its former address as --moved-from" in refused.stderr,
    ) == (1, True)
    plan = shop.sync(*moved, "--moved-from", former, "--dry-run", "--json")
    assert f"--moved-from {former}" in json.loads(plan.stdout)["command"]
    assert shop.sync(FIRST, *moved, "--moved-from", former).exit_code == 0
    assert shop.sync(FIRST, *moved).exit_code == 0


def test_a_dataset_of_json_lines_holds_what_the_service_sends(shop: Shop, folder: Path) -> None:
    assert shop.sync("2026-01-15", "--to", folder, "--format", "jsonl").exit_code == 0
    part = folder / "data/date=2026-01-15/hour=13/part-0.jsonl"
    rows = [
        row for row in shop.rows() if (row["event_date"], row["event_hour"]) == ("2026-01-15", 13)
    ]
    assert [json.loads(line) for line in part.read_text().splitlines()] == rows


def test_pages_finish_what_exports_leave_out(
    httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, place = ServiceOfRows(httpserver), str(tmp_path / "export")
    service.rows = {
        (day, 0): [f'{{"event_id":"{day}","event_time":"{day}T00:00:00Z"}}']
        for day in (FIRST, SECOND)
    }
    service.export = lambda texts: (
        b"event_id,event_time\n"
        + b"".join(",".join(json.loads(text).values()).encode() + b"\n" for text in texts[:1])
    )
    monkeypatch.setenv("ADANALYTICS_API_KEY", "key")
    words = ["--base-url", service.url, "--partner", "acme"]

    def sync(*more: str) -> Any:
        command = ["sync", FIRST, SECOND, "--to", place, *more, *words]
        return CliRunner().invoke(cli, command, obj=Invocation())

    done = sync("--via", "export")
    assert done.exit_code == 3
    assert done.stderr.endswith(f"--to {place} --via pages\n")
    assert sync("--via", "pages").exit_code == 0


Readers = dict[str, Callable[[Path], tuple[int, Decimal]]]


def paths_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.mark.parametrize("name", ["thesis.txt", "data/date=2026-01-15/hour=13/part-0.parquet"])
def test_a_folder_with_other_files_is_left_alone(shop: Shop, folder: Path, name: str) -> None:
    other = folder / name
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    before = paths_in(folder)
    result = shop.sync("--to", folder)
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: {folder} is not a dataset and holds {name.partition('/')[0]}.\n"
        f"Name a new or an empty folder, such as {folder}/events\n"
    )
    assert paths_in(folder) == before
    assert not shop.asked()


@pytest.mark.parametrize(
    "name", [".DS_Store", "lost+found/x", "_adanalytics/lock", "_adanalytics/scratch/cafe0123"]
)
def test_a_folder_with_nothing_of_anybody_is_taken(shop: Shop, folder: Path, name: str) -> None:
    """Also what the very first moments of a sync leave, when it is killed in them."""
    (folder / name).parent.mkdir(parents=True)
    (folder / name).touch()
    assert shop.run("verify", folder).exit_code == 1
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0
    assert shop.run("verify", folder, "--until", "2026-01-15").exit_code == 0


def test_what_others_put_beside_a_dataset_is_no_matter(shop: Shop, folder: Path) -> None:
    shop.sync("2026-01-15", "--to", folder)
    (folder / "README").touch()
    assert shop.sync("2026-01-15", "--to", folder).exit_code == 0


def test_a_name_that_readers_cannot_have_is_refused(shop: Shop, folder: Path) -> None:
    result = shop.sync("--to", f"{folder}\udcff")
    assert result.exit_code == 2
    assert "is not UTF-8 text" in result.stderr


def test_a_folder_that_cannot_be_read_is_told(shop: Shop, folder: Path) -> None:
    """A loop of links cannot be read by anybody, not even by root."""
    folder.symlink_to(folder)
    result = shop.sync("--to", folder)
    assert result.exit_code in (1, 2)
    assert str(folder) in result.stderr
    assert "defect" not in result.stderr


@pytest.mark.skipif(find_spec("fsspec") is None, reason="not installed: fsspec")
def test_an_address_with_other_objects_is_left_alone(shop: Shop) -> None:
    files = import_module("fsspec").filesystem("memory")
    files.pipe_file("/elsewhere/thesis.txt", b"mine")
    try:
        result = shop.sync("--to", "memory://elsewhere")
        assert result.exit_code == 2
        assert "memory://elsewhere is not a dataset and holds thesis.txt." in result.stderr
        assert files.find("/elsewhere") == ["/elsewhere/thesis.txt"]
        assert shop.sync("--to", "memory://elsewhere/events").exit_code == 0
    finally:
        files.rm("/elsewhere", recursive=True)


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
