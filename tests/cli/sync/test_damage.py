"""Damage is named and pulled again; `verify` compares with the service, and says what it did."""

import json
import shlex
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from tests.datasets import flip, read_rows

from adanalytics_client.dataset.staging import Staging
from adanalytics_server.faults import Fault

Shop = Any
PART = "data/date=2026-01-15/hour=13/part-0.parquet"
MANIFEST = "_adanalytics/manifest/2026-01-15.json"


@pytest.fixture
def hour_files(shop: Shop, folder: Path, copy_of_sync: Callable[..., Path]) -> Path:
    """Of files of hours, so that damage of one shows what else is left alone."""
    return copy_of_sync(shop, folder, "--partition", "hour")


def delete(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def commands_in(stderr: str) -> list[str]:
    """The command lines that the message of `verify` names."""
    return stderr.splitlines()[1].partition(": ")[2].split(" && ")


@pytest.mark.parametrize("harm", [cut, flip])
def test_a_sync_pulls_a_day_again_whose_manifest_is_broken(
    shop: Shop, hour_files: Path, harm: Callable[[Path], None]
) -> None:
    harm(hour_files / MANIFEST)
    (line,) = shop.run("verify", hour_files).stdout.splitlines()
    assert line.startswith("2026-01-15  its manifest is damaged")
    result = shop.sync("--to", hour_files)
    assert result.exit_code == 0
    assert "the manifest of 2026-01-15" in result.stderr
    assert read_rows(hour_files) == shop.rows()
    assert shop.run("verify", hour_files).exit_code == 0


def put_stray(hour_files: Path, hour: str) -> Path:
    """A part of an hour that nobody committed."""
    stray = hour_files / f"data/date={hour}/part-0.parquet"
    stray.parent.mkdir(parents=True)
    stray.write_bytes((hour_files / PART).read_bytes())
    return stray


def test_parts_that_nobody_committed_are_to_be_deleted(shop: Shop, hour_files: Path) -> None:
    hours = ["1970-01-01/hour=13", "2026-01-17/hour=00", "2026-01-20/hour=13", "9999-12-31/hour=23"]
    strays = [put_stray(hour_files, hour) for hour in hours]
    result = shop.run("verify", hour_files)
    assert result.stdout.splitlines() == [
        f"{stray.relative_to(hour_files)} does not belong here; delete it" for stray in strays
    ]
    assert (result.exit_code, result.stderr.splitlines()[1]) == (
        7,
        "Delete the files named above.",
    )
    for stray in strays:
        stray.unlink()
    assert shop.run("verify", hour_files).exit_code == 0


def test_a_file_of_somebody_is_for_somebody_to_delete(shop: Shop, hour_files: Path) -> None:
    """A sync leaves it alone, so no command can mend that it is there."""
    (hour_files / "data/date=2026-01-15/notes.txt").touch()
    result = shop.run("verify", hour_files)
    assert result.stdout == "data/date=2026-01-15/notes.txt does not belong here; delete it\n"
    assert result.stderr.splitlines()[1] == "Delete the files named above."
    delete(hour_files / PART)
    told = shop.run("verify", hour_files).stderr.splitlines()[1]
    assert told.startswith(
        "Delete the files that do not belong. To fix: adanalytics sync 2026-01-15 "
    )


@pytest.mark.parametrize(
    ("harm", "message", "remark"),
    [
        (delete, "was deleted", "was deleted"),
        (cut, "is corrupt (checksum mismatch)", "has "),
        (flip, "is corrupt (checksum mismatch)", "was deleted"),
    ],
)
def test_verify_names_a_broken_part_and_a_sync_mends_it(
    shop: Shop, hour_files: Path, harm: Callable[[Path], None], message: str, remark: str
) -> None:
    harm(hour_files / PART)
    result = shop.run("verify", hour_files)
    assert result.exit_code == 7
    assert result.stdout == f"2026-01-15T13  {PART} {message}\n"
    *before, command = commands_in(result.stderr)
    assert command == f"adanalytics sync 2026-01-15 2026-01-15 --to {hour_files}"
    if before:
        assert (before, harm) == ([f"rm {hour_files / PART}"], flip)
        delete(hour_files / PART)
    shop.asked()
    mended = shop.run(*shlex.split(command)[1:])
    assert (mended.exit_code, f"Damaged, pulled again: {PART} {remark}" in mended.stderr) == (0, 1)
    # The hour, and the count of its day.
    assert shop.asked()["events"] == 2
    assert shop.run("verify", hour_files).exit_code == 0
    assert read_rows(hour_files) == shop.rows()


def test_many_changed_parts_are_pulled_again_by_day(shop: Shop, hour_files: Path) -> None:
    """A command that names each of them would be longer than a terminal."""
    for hour in range(4):
        flip(hour_files / PART.replace("13", f"{hour:02}"))
    (command,) = commands_in(shop.run("verify", hour_files).stderr)
    assert command == f"adanalytics sync 2026-01-15 2026-01-15 --to {hour_files} --repull 1"


def test_verify_finds_gaps(shop: Shop, hour_files: Path) -> None:
    (hour_files / MANIFEST).rename(hour_files / "_adanalytics/manifest/2026-01-10.json")
    for part in (hour_files / "data/date=2026-01-15").rglob("*.parquet"):
        part.unlink()
    result = shop.run("verify", hour_files)
    assert result.exit_code == 7
    assert "2026-01-15  24 of 24 hours are missing" in result.stdout
    parts = [line for line in result.stdout.splitlines() if line.startswith("2026-01-10T")]
    assert (len(parts), parts) == (24, sorted(parts))


def test_verify_offline_asks_nobody(
    shop: Shop, hour_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BASE_URL", "API_KEY", "PARTNER"):
        monkeypatch.delenv(f"ADANALYTICS_{name}")
    shop.asked()
    result = shop.run("verify", hour_files, "--offline", "--until", "2026-01-16")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (
        "1,200 events, complete and as recorded; the service was not asked, 0 req" in result.stderr
    )
    late = shop.run("verify", hour_files, "--offline", "--until", "2026-01-17")
    assert (late.exit_code, late.stdout.splitlines()[-1]) == (
        3,
        "2026-01-17  24 of 24 hours are missing",
    )
    flip(hour_files / PART)
    result = shop.run("verify", hour_files, "--offline", "--json")
    assert (result.exit_code, json.loads(result.stdout)["requests"]) == (7, 0)
    assert "is corrupt (checksum mismatch)" in result.stdout
    assert shop.asked() == Counter()


def kill_sync(shop: Shop, monkeypatch: pytest.MonkeyPatch, *words: str | Path) -> None:
    """End a sync before its first hour is in place."""
    with monkeypatch.context() as patched:
        patched.setattr(Staging, "add", MagicMock(side_effect=MemoryError))
        assert shop.sync(*words).exit_code == 1


def test_verify_names_what_a_killed_first_sync_left_out(
    shop: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_sync(shop, monkeypatch, "--to", folder)
    result = shop.run("verify", folder)
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        "2026-01-15  24 of 24 hours are missing",
        "2026-01-16  24 of 24 hours are missing",
    ]
    (command,) = commands_in(result.stderr)
    assert shop.run(*shlex.split(command)[1:]).exit_code == 0
    assert shop.run("verify", folder).exit_code == 0
    assert read_rows(folder) == shop.rows()


def test_verify_keeps_to_the_first_query_that_was_begun(
    shop: Shop, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync of the second day alone was killed, so the first day is not meant to be there."""
    kill_sync(shop, monkeypatch, "2026-01-16", "--to", folder)
    result = shop.run("verify", folder)
    assert (result.exit_code, result.stdout) == (3, "2026-01-16  24 of 24 hours are missing\n")


def test_verify_notices_the_days_after_the_last_that_is_held(shop: Shop, folder: Path) -> None:
    shop.sync("2026-01-15", "--to", folder)
    result = shop.run("verify", folder)
    assert (result.exit_code, result.stdout) == (3, "2026-01-16  24 of 24 hours are missing\n")
    command = f"adanalytics sync 2026-01-16 2026-01-16 --to {folder}"
    assert result.stderr.splitlines()[1] == (
        f"If the dataset is meant to end on 2026-01-15, give --until 2026-01-15. To fix: {command}"
    )
    assert shop.run("verify", folder, "--until", "2026-01-15").exit_code == 0
    assert shop.run(*shlex.split(command)[1:]).exit_code == 0
    assert shop.run("verify", folder).exit_code == 0


def test_verify_expects_only_hours_that_are_over(shop: Shop, folder: Path) -> None:
    shop.now = datetime(2026, 1, 16, 10, 20, tzinfo=UTC)
    shop.sync("2026-01-15", "--to", folder)
    # The nightly job has not run yet for a day that is not over.
    assert shop.run("verify", folder).exit_code == 0
    result = shop.run("verify", folder, "--until", "today")
    assert (result.exit_code, result.stdout) == (3, "2026-01-16  8 of 8 hours are missing\n")
    shop.sync("--to", folder)
    result = shop.run("verify", folder)
    assert result.exit_code == 0
    # It is not to be read as if the day's later events had been looked for.
    assert "on 2026-01-16: the day was not over when it was pulled" in result.stderr
    shop.now += timedelta(hours=4)
    result = shop.run("verify", folder)
    assert (result.exit_code, result.stdout.splitlines()) == (
        3,
        ["2026-01-16  1 of 12 hours is missing", "2026-01-16  3 of 12 hours were open when pulled"],
    )


def test_verify_compares_with_the_summary(shop: Shop, hour_files: Path) -> None:
    gone = [row for row in shop.rows() if row["event_date"] == "2026-01-16"]
    fewer = [row for row in gone if row["event_hour"] == 9 and not row["is_filtered"]][1:]
    shop.load(fewer, replace=True)
    result = shop.run("verify", hour_files)
    assert result.exit_code == 7
    assert "2026-01-16  its totals differ from the summary: " in result.stdout
    (command,) = commands_in(result.stderr)
    assert command == f"adanalytics sync 2026-01-16 2026-01-16 --to {hour_files}"
    assert shop.run(*shlex.split(command)[1:]).exit_code == 0
    assert shop.run("verify", hour_files).exit_code == 0


def test_a_deep_look_compares_every_event_with_an_export(shop: Shop, hour_files: Path) -> None:
    assert shop.run("verify", hour_files, "--deep").exit_code == 0
    assert shop.asked()["bulk-export"] == 1
    rows = [row for row in shop.rows() if row["event_date"] == "2026-01-16"]
    nine = [row for row in rows if row["event_hour"] == 9]
    # The sums stay as they are: only a look at every event can tell.
    shop.load([{**row, "os": "plan9"} for row in nine], replace=True)
    result = shop.run("verify", hour_files, "--deep")
    assert result.exit_code == 7
    assert result.stdout == "2026-01-16T09  its events differ from the export: os\n"


@pytest.mark.parametrize("operation", ["dates", "start_export"])
def test_an_error_of_the_service_hides_no_damage(
    shop: Shop, hour_files: Path, operation: str
) -> None:
    delete(hour_files / PART)
    shop.server.faults.add(Fault(effect="status", operation=operation, status=403))
    result = shop.run("verify", hour_files, "--deep")
    assert (result.exit_code, result.stdout) == (7, f"2026-01-15T13  {PART} was deleted\n")
    assert "The comparison with the service is incomplete: " in result.stderr


def test_a_broken_identity_is_told_with_a_way_out(shop: Shop, hour_files: Path) -> None:
    identity = hour_files / "_adanalytics/dataset.json"
    identity.write_text(json.dumps({"partner": "acme"}))
    result = shop.sync("--to", hour_files)
    assert result.exit_code == 7
    assert "dataset.json is damaged" in result.stderr
    identity.unlink()
    assert shop.sync("--to", hour_files).exit_code == 0
    assert read_rows(hour_files) == shop.rows()


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
