"""A sync that is killed at random moments: what is there can be read, and little is asked again.

Two moments by default; `make test-kill` and `ADANALYTICS_KILLS` choose another number.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.processes import TIMEOUT
from tests.datasets import READERS, read_rows

from adanalytics_client.dataset.pull import fetch as dataset_fetch

Shop = Any
Row = dict[str, Any]

# Seconds between two looks at what was asked.
LOOK = 0.005
KILLS = int(os.environ.get("ADANALYTICS_KILLS", "2"))
# Small pages, so that hours have several and a kill often comes between two of them.
PROGRAM = """
from adanalytics_client.dataset.pull import fetch as dataset_fetch
dataset_fetch.EVENTS_PER_PAGE = 12
from adanalytics_cli.__main__ import main
main()
"""


def start(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "sync", "--to", str(folder), "--via", "pages"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def run_until_asked(process: "subprocess.Popen[bytes]", shop: Shop) -> None:
    """Wait until the process has begun to ask for events, or has ended."""
    for _ in range(round(TIMEOUT / LOOK)):
        if any(entry.operation == "events" for entry in shop.server.journal.entries()):
            return
        try:
            process.wait(LOOK)
        except subprocess.TimeoutExpired:
            continue
        return
    process.kill()
    raise AssertionError("it asks for nothing and does not end")


def give_another_hour() -> None:
    """Forget what was sent: many kills take more than the thousand requests of an hour."""
    shutil.rmtree(Path(os.environ["XDG_STATE_HOME"]) / "adanalytics" / "quota")


def pages_asked(shop: Shop) -> list[tuple[str, int, int]]:
    """Day, hour and page of every request for events since the last look; no counts of days."""
    queries = [dict(e.query) for e in shop.server.journal.entries() if e.operation == "events"]
    shop.server.journal.clear()
    return [(q["start_date"], int(q["hour"]), int(q["page"])) for q in queries if "hour" in q]


def pages_safe(folder: Path) -> set[tuple[str, int, int]]:
    """Pages that need not be asked for: spooled, or of an hour that is committed."""
    safe = set()
    for page in folder.glob("_adanalytics/spool/*/page-*.jsonl"):
        day, _, hour = page.parent.name.partition("T")
        safe.add((day, int(hour), int(page.stem.rpartition("-")[2])))
    for manifest in folder.glob("_adanalytics/manifest/*.json"):
        hours = json.loads(manifest.read_text())["hours"]
        safe |= {(manifest.stem, int(hour), page) for hour in hours for page in range(1, 40)}
    return safe


def test_a_kill_costs_only_what_was_under_way(
    shop: Shop, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    with monkeypatch.context() as patch:
        patch.setattr(dataset_fetch, "EVENTS_PER_PAGE", 12)
        assert shop.sync("--to", whole).exit_code == 0
    give_another_hour()
    planned = pages_asked(shop)
    assert len(set(planned)) == len(planned) > 100
    service = {row["event_id"]: row for row in shop.rows()}
    asked: list[tuple[str, int, int]] = []
    dice = random.Random(20260115)
    kills = 0
    for attempt in range(5 * KILLS):
        if kills == KILLS:
            break
        safe = pages_safe(folder)
        process = start(folder)
        run_until_asked(process, shop)
        try:
            process.wait(dice.uniform(0, 0.25))
        except subprocess.TimeoutExpired:
            process.kill()
        code = process.wait()
        now = pages_asked(shop)
        assert not safe & {*now}
        asked += now
        check_readable(folder, service)
        if code == 0:
            # It was faster than the dice: begin once more from nothing.
            assert {*asked} >= {*planned}
            give_another_hour()
            folder = tmp_path / f"again-{attempt}"
            asked = []
        else:
            assert code == -9
            kills += 1
    assert kills == KILLS
    assert start(folder).wait(TIMEOUT) == 0
    asked += pages_asked(shop)
    assert {*asked} == {*planned}
    assert len(asked) <= len(planned) + 4 * 2 * KILLS
    assert read_rows(folder) == read_rows(whole) == shop.rows()


def check_readable(folder: Path, service: dict[str, Row]) -> None:
    """Every library sees the same events, and they are the service's, hours as a whole."""
    if not [*folder.glob("data/*/*.parquet")]:
        return
    rows = read_rows(folder)
    assert all(service[row["event_id"]] == row for row in rows)
    hours = {(row["event_date"], row["event_hour"]) for row in rows}
    all_of_them = [r for r in service.values() if (r["event_date"], r["event_hour"]) in hours]
    assert len(rows) == len(all_of_them)
    seen = {name: read(folder) for name, read in READERS.items()}
    assert set(seen.values()) == {(len(rows), sum(Decimal(r["revenue"]) for r in rows))}, seen


def test_two_at_a_time(shop: Shop, folder: Path) -> None:
    """The second one says so and stops, and costs no request."""
    shop.server.faults.add("latency 300ms always on events")
    first = start(folder)
    run_until_asked(first, shop)
    second = shop.sync("--to", folder)
    shop.server.faults.clear()
    assert second.exit_code == 1
    assert "Another process works on" in second.stderr
    assert first.wait() == 0
    assert (
        len([entry for entry in shop.server.journal.entries() if entry.operation == "dates"]) == 1
    )
    assert read_rows(folder) == shop.rows()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_around_the_exchange(
    shop: Shop, folder: Path, copy_of_sync: Callable[..., Path], moment: str
) -> None:
    """The two moments between which the note in the journal tells what happened."""
    copy_of_sync(shop, folder, "--partition", "hour")
    name = "_adanalytics/manifest/2026-01-15.json"
    manifest = folder / name
    record = json.loads(manifest.read_text())
    del record["sha256"]
    part = folder / "data/date=2026-01-15/hour=13/part-0.parquet"
    prepared = record["hours"].pop("13")
    write_sealed(manifest, record)
    write_sealed(folder / "_adanalytics/journal/2026-01-15T13.json", {"prepared": prepared})
    if moment == "before":
        part.unlink()
    shop.asked()
    assert shop.sync("--to", folder).exit_code == 0
    # The hour, and the count of its day.
    assert shop.asked()["events"] == (2 if moment == "before" else 0)
    assert read_rows(folder) == shop.rows()
    assert not list((folder / "_adanalytics").glob("journal/*"))


def write_sealed(path: Path, record: dict[str, Any]) -> None:
    from adanalytics_client.dataset.records.manifest import seal

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(seal(record))
