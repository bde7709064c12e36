"""Which queries bring the hours that are needed: tables of what is known and what is asked."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest

from adanalytics_client._base.choices import Via
from adanalytics_client.dataset.planning import (
    DAYS_PER_EXPORT,
    ExpectedCounts,
    plan_queries,
    requests_of,
)
from adanalytics_client.dataset.records.layout import Hour, hours_of
from adanalytics_client.dataset.service import DayState, ServiceDays

FIRST = date(2026, 1, 1)
PAGE = 10_000


def day(number: int) -> date:
    return FIRST + timedelta(number)


def planned(
    counts: dict[date, int], *, hours: list[Hour] | None = None, via: Via = "pages"
) -> list[str]:
    whole = set(counts) if hours is None else set()
    asked = hours or [hour for each in counts for hour in hours_of(each)]
    queries = plan_queries(asked, ExpectedCounts(counts, whole, PAGE), via=via)
    assert sorted(hour for query in queries for hour in query.wanted) == sorted(asked)
    return [f"{query.way} {query}" for query in queries]


def test_thirty_small_days_are_one_query() -> None:
    assert planned({day(n): 5_000 for n in range(30)}) == ["pages 2026-01-01..2026-01-30"]


def test_a_large_day_is_asked_for_by_the_hour() -> None:
    queries = planned({day(0): 5_000, day(1): 900_000, day(2): 5_000})
    assert queries[0] == "pages 2026-01-01"
    assert queries[1:25] == [f"pages 2026-01-02T{hour:02}" for hour in range(24)]
    assert queries[25] == "pages 2026-01-03"


def test_a_day_of_unknown_size_is_asked_for_by_the_hour() -> None:
    assert planned({day(0): 0}) == [f"pages 2026-01-01T{hour:02}" for hour in range(24)]


@pytest.mark.parametrize("via", ["pages", "auto"])
def test_days_that_the_service_has_no_longer_are_one_query(via: Via) -> None:
    gone = {day(0), day(1)}
    asked = [hour for each in gone for hour in hours_of(each)]
    queries = plan_queries(asked, ExpectedCounts({day(2): 5_000}, gone, PAGE), via=via)
    assert [str(query) for query in queries] == ["2026-01-01..2026-01-02"]


def test_a_query_spans_days_without_data_but_not_days_that_are_held() -> None:
    gap = {day(0): 5_000, day(4): 5_000}
    assert planned(gap) == ["pages 2026-01-01..2026-01-05"]
    counts = {**gap, day(2): 5_000}
    asked = [hour for each in gap for hour in hours_of(each)]
    queries = plan_queries(asked, ExpectedCounts(counts, set(gap), PAGE), via="pages")
    assert [str(query) for query in queries] == ["2026-01-01", "2026-01-05"]


@pytest.mark.parametrize(
    ("count", "hours", "told"),
    [
        (50_000, 2, ["pages 2026-01-01T00", "pages 2026-01-01T01"]),
        (5_000, 2, ["pages 2026-01-01"]),
        (0, 1, ["pages 2026-01-01T00"]),
    ],
)
def test_a_few_hours_are_asked_for_in_the_cheaper_way(
    count: int, hours: int, told: list[str]
) -> None:
    assert planned({day(0): count}, hours=[Hour(day(0), n) for n in range(hours)]) == told


def test_exports_are_of_a_bounded_number_of_days() -> None:
    queries = planned({day(n): 1 for n in range(DAYS_PER_EXPORT + 2)}, via="export")
    assert queries == ["export 2026-01-01..2026-01-31", "export 2026-02-01..2026-02-02"]


def test_auto_takes_fewer_requests_and_then_fewer_bytes_for_each_run_of_days() -> None:
    month = {day(n): 400_000 for n in range(30)}
    assert planned(month, via="auto") == ["export 2026-01-01..2026-01-30"]
    assert planned({day(0): 5_000}, via="auto") == ["pages 2026-01-01"]
    # An order, one look at its state and its file.
    assert planned({day(0): 20_000}, via="auto") == ["pages 2026-01-01"]
    assert planned({day(0): 45_000}, via="auto") == ["export 2026-01-01"]
    counts = {day(0): 5_000, day(1): 5_000, day(2): 900_000}
    hours = [hour for number in (0, 2) for hour in hours_of(day(number))]
    expected = ExpectedCounts(counts, {day(0), day(2)}, PAGE)
    queries = plan_queries(hours, expected, via="auto")
    assert [f"{query.way} {query}" for query in queries] == [
        "pages 2026-01-01",
        "export 2026-01-03",
    ]


def test_auto_takes_pages_where_counts_are_unknown_or_some_hours_are_needed() -> None:
    assert len(planned({day(0): 0}, via="auto")) == 24
    some = [Hour(day(0), 3), Hour(day(0), 4)]
    assert {query[:5] for query in planned({day(0): 900_000}, hours=some, via="auto")} == {"pages"}


def test_the_events_of_each_day_are_counted_once() -> None:
    """A plan asks for them in each of its hours, of which 20,000 days have half a million."""
    service = ServiceDays(None, {FIRST: DayState(FIRST, "row", {})})
    assert service.counts is service.counts


class Counted(date):
    """A day that counts how often days are compared."""

    comparisons = 0

    @staticmethod
    def _counting(name: str) -> Callable[[date, object], bool]:
        compare: Callable[[date, object], bool] = getattr(date, name)

        def counted(self: date, other: object) -> bool:
            Counted.comparisons += 1
            return compare(self, other)

        return counted

    __eq__, __lt__, __le__, __gt__, __ge__ = map(
        _counting, ("__eq__", "__lt__", "__le__", "__gt__", "__ge__")
    )
    __hash__ = date.__hash__


@pytest.mark.parametrize("via", ["auto", "pages", "export"])
@pytest.mark.parametrize(("events", "gap"), [(0, 0), (100, 0), (100, 1), (70_000, 0), (400_000, 1)])
def test_planning_takes_steps_in_proportion_to_the_days(via: Via, events: int, gap: int) -> None:
    def steps(days: int) -> int:
        first: date = Counted(1970, 1, 1)
        counts = {first + timedelta(n * (1 + gap)): events for n in range(days)}
        expected = ExpectedCounts(counts, {*counts}, PAGE)
        asked = [Hour(each, number) for each in counts for number in (3, 13)]
        Counted.comparisons = 0
        for query in plan_queries(asked, expected, via=via):
            requests_of(query, expected)
        return Counted.comparisons

    assert steps(1600) < 6 * steps(400)
