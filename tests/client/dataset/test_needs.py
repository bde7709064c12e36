"""Which hours of a day are pulled: tables of what is held and what the service says."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from adanalytics_client.dataset.hours.totals import NOTHING
from adanalytics_client.dataset.needs import DayNeed, Reason, find_need
from adanalytics_client.dataset.records.layout import Hour
from adanalytics_client.dataset.records.manifest import UNCONFIRMED, DayRecord, HourRecord
from adanalytics_client.dataset.service import NO_DATA, DayState, ServiceDays

DAY = date(2026, 1, 15)
LATER = datetime(2026, 1, 17, 12, tzinfo=UTC)
LISTED, UNLISTED = DayState(DAY, "row", {}), DayState(DAY, NO_DATA, NOTHING)


def held(
    hours: range, fingerprint: str = "row", *, at: datetime = LATER, rows: int = 5
) -> DayRecord:
    record = HourRecord(rows, 100, "sha", at, fingerprint)
    return DayRecord(DAY, dict.fromkeys(hours, record))


def test_hours_that_are_missing_are_pulled() -> None:
    need = find_need(held(range(10)), LISTED, LATER)
    assert need.asked == {Hour(DAY, hour): Reason.MISSING for hour in range(10, 24)}
    assert find_need(held(range(24)), LISTED, LATER) == DayNeed()


def test_a_day_that_nobody_has_is_recorded_as_empty() -> None:
    need = find_need(DayRecord(DAY), UNLISTED, LATER)
    assert (len(need.empty), need.asked) == (24, {})


def test_hours_that_were_open_are_pulled_once_they_are_over_or_changed() -> None:
    early = datetime(2026, 1, 15, 10, 20, tzinfo=UTC)
    record = held(range(11), at=early)
    assert find_need(record, LISTED, early) == DayNeed()
    changed = find_need(record, DayState(DAY, "other", {}), early)
    assert changed.asked == {Hour(DAY, hour): Reason.OPEN for hour in (8, 9, 10)}
    assert changed.doubtful == tuple(Hour(DAY, hour) for hour in range(8))
    over = find_need(record, LISTED, LATER)
    assert [hour.hour for hour, why in over.asked.items() if why is Reason.OPEN] == [8, 9, 10]


@pytest.mark.parametrize(
    ("fingerprint", "asked", "doubtful"), [("old", 24, 0), (UNCONFIRMED, 0, 24)]
)
def test_a_changed_summary_restates_a_day_that_agreed_with_it(
    fingerprint: str, asked: int, doubtful: int
) -> None:
    need = find_need(held(range(24), fingerprint), LISTED, LATER)
    assert (len(need.asked), len(need.doubtful)) == (asked, doubtful)
    assert {*need.asked.values()} <= {Reason.RESTATED}


def test_a_repull_pulls_regardless_unless_nobody_has_events() -> None:
    force = [Hour(DAY, 3), Hour(DAY, 4)]
    need = find_need(held(range(24)), LISTED, LATER, force=force)
    assert need.asked == dict.fromkeys(force, Reason.FORCED)
    assert not find_need(DayRecord(DAY), UNLISTED, LATER, force=force).asked


def test_a_listed_day_is_not_in_the_future() -> None:
    behind = datetime(2025, 1, 15, 12, tzinfo=UTC)
    assert len(find_need(DayRecord(DAY), LISTED, behind).asked) == 24
    assert find_need(DayRecord(DAY), UNLISTED, behind) == DayNeed()


def test_the_events_of_each_day_are_counted_once() -> None:
    """A plan asks for them in each of its hours, of which 20,000 days have half a million."""
    service = ServiceDays(None, {DAY: LISTED})
    assert service.counts is service.counts
