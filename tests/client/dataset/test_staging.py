"""The third stage alone: hours that replace events wait until their day adds up."""

from datetime import UTC, date, datetime
from pathlib import Path
from unittest.mock import DEFAULT, MagicMock

import pytest
from msgspec.structs import replace

from adanalytics_client import Observer
from adanalytics_client.dataset.changes import DayChange, changes_of
from adanalytics_client.dataset.hours.totals import Totals
from adanalytics_client.dataset.planning import PullQuery
from adanalytics_client.dataset.pull.fetch import Pulled
from adanalytics_client.dataset.pull.spool import Spool
from adanalytics_client.dataset.records.contents import Contents
from adanalytics_client.dataset.records.layout import JOURNAL, Hour, hours_of
from adanalytics_client.dataset.records.manifest import (
    FORMER_KEPT,
    UNCONFIRMED,
    FinishedHour,
    HourRecord,
    Identity,
    Manifest,
    seal,
)
from adanalytics_client.dataset.report import SyncReport
from adanalytics_client.dataset.service import DayState, ServiceDays
from adanalytics_client.dataset.staging import Staging
from adanalytics_client.dataset.storage.local import open_store

DAY = date(2026, 1, 15)
HOURS = [*hours_of(DAY)]
NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)


class Summary:
    """What the service says about the day: how many clicks it has."""

    def __init__(self, clicks: int) -> None:
        self._state = DayState(DAY, f"{clicks} clicks", {"clicks": clicks})

    def state(self, _day: date) -> DayState:
        return self._state


def says(clicks: int) -> ServiceDays:
    return Summary(clicks)  # type: ignore[return-value]


def stage(contents: Contents, clicks: int, report: SyncReport | None = None) -> Staging:
    return Staging(contents, says(clicks), report or SyncReport(NOW), Observer())


class Bench:
    """A dataset of text files, and results of queries for it that nobody sent."""

    def __init__(self, folder: Path) -> None:
        self.store = open_store(str(folder / "dataset"))
        self.contents = Contents.open(self.store, Identity("acme", "http://localhost", "jsonl"))
        self._folder = folder

    def pulled(self, clicks: int, *hours: Hour) -> Pulled:
        """Make the result of a query whose hours have this many clicks each."""
        query = PullQuery("pages", DAY, DAY, None, hours)
        spool = Spool.open(self.store, query, "basis")
        spool.begin(NOW)
        finished = []
        for hour in hours:
            path = self._folder / str(hour)
            path.write_text("x" * clicks)
            totals = Totals(clicks, {"clicks": clicks})
            record = HourRecord(clicks, clicks, "sha256", NOW, UNCONFIRMED, totals)
            finished.append(FinishedHour(hour, record, str(path)))
        return Pulled(finished, spool)

    def held(self) -> set[int]:
        """Return the different numbers of events in the hours that are in place."""
        return {record.rows for record in self.contents.manifest.day(DAY).hours.values()}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    first = stage(made.contents, 48)
    first.expect(HOURS)
    first.add(made.pulled(2, *HOURS))
    first.take_counts({})
    assert (made.held(), first.differing) == ({2}, {})
    return made


def test_a_stop_before_the_rename_keeps_the_record_of_the_file_in_place(bench: Bench) -> None:
    """The note was written, the file is still the earlier one, of the same length."""
    held = bench.contents.manifest.record(HOURS[3])
    assert held is not None
    prepared = seal({"prepared": replace(held, rows=9, sha256="of the new file")})
    bench.store.write(f"{JOURNAL}/{HOURS[3]}.json", prepared)
    assert Contents.open(bench.store, bench.contents.identity).manifest.record(HOURS[3]) == held


def test_a_new_summary_may_explain_a_difference(bench: Bench) -> None:
    staging = stage(bench.contents, 48)
    staging.expect(HOURS)
    staging.add(bench.pulled(3, *HOURS))
    assert (bench.held(), len(staging.differing)) == ({2}, 1)
    assert staging.compare_again(says(72), set()) == []
    staging.take_counts({})
    assert (bench.held(), staging.differing) == ({3}, {})


def test_a_folder_for_files_leaves_those_of_another_alone(bench: Bench) -> None:
    with bench.store.scratch() as outer:
        (outer / "hour").write_text("staged")
        with bench.store.scratch() as inner:
            (inner / "hour").write_text("anew")
        assert (outer / "hour").read_text() == "staged"
    assert not bench.store.sizes("_adanalytics/scratch")


def test_an_empty_hour_that_gets_events_waits_for_its_day(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    restated: list[DayChange] = []
    for clicks in (2, 4):
        report = SyncReport(NOW)
        staging = stage(bench.contents, 2 * clicks, report)
        staging.expect(HOURS)
        staging.add(bench.pulled(0, *HOURS[clicks:], *HOURS[: clicks - 2]))
        staging.add(bench.pulled(clicks, *HOURS[clicks - 2 : clicks]))
        staging.take_counts({})
        restated = report.restated
    (change,) = restated
    assert (change.before["events"], change.after["events"]) == (4, 8)


def test_a_restatement_is_noticed_when_it_is_first_rejected(bench: Bench) -> None:
    report = SyncReport(NOW)
    first = stage(bench.contents, 73, report)
    first.expect(HOURS)
    first.add(bench.pulled(3, *HOURS))
    assert [*first.reject()]
    assert (report.restated, changes_of(bench.contents.manifest.day(DAY))) == ([], [])
    later = stage(bench.contents, 72, report)
    later.expect(HOURS)
    later.add(bench.pulled(3, *HOURS))
    later.take_counts({})
    (change,) = report.restated
    assert (change.before["clicks"], change.after["clicks"]) == (48, 72)
    assert len(bench.contents.manifest.day(DAY).former) == 1


def test_a_stop_while_hours_are_replaced_does_not_lose_the_former_totals(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging = stage(bench.contents, 72)
    staging.expect(HOURS)
    staging.add(bench.pulled(3, *HOURS))
    moves = MagicMock(wraps=bench.store.move_in, side_effect=[DEFAULT, DEFAULT, MemoryError])
    with monkeypatch.context() as patched:
        patched.setattr(bench.store, "move_in", moves)
        with pytest.raises(MemoryError):
            staging.take_counts({})
    bench.contents = Contents.open(bench.store, bench.contents.identity)
    again = stage(bench.contents, 72)
    again.expect(HOURS)
    again.add(bench.pulled(3, *HOURS))
    again.take_counts({})
    (change,) = changes_of(bench.contents.manifest.day(DAY))
    assert (change.before["clicks"], change.after["clicks"]) == (48, 72)


def test_a_day_keeps_a_bounded_number_of_former_totals(tmp_path: Path) -> None:
    manifest = Manifest(open_store(str(tmp_path)))
    for _ in range(FORMER_KEPT + 2):
        manifest.keep_totals(DAY, NOW)
    assert len(manifest.day(DAY).former) == FORMER_KEPT
