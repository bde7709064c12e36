"""Where squares and bars go, and how numbers are written, at the edges of what can come in."""

from collections.abc import Callable
from datetime import date
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from adanalytics_server.clock import MILLISECONDS_PER_HOUR
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.money import text_from_nanos
from adanalytics_server.storage.store import PartnerStore
from adanalytics_server.web.coverage import DayCoverage, read_coverage
from adanalytics_server.web.drawings import (
    CALENDAR_ROW,
    CHART_HEIGHT,
    COLUMN,
    bar_chart,
    month_labels,
    round_up,
    year_grid,
)
from adanalytics_server.web.format import exact_amount, hour_list


@given(st.lists(st.integers(-(10**18), 10**18), min_size=1, max_size=31))
def test_bars_stay_inside_and_keep_their_order(values: list[int]) -> None:
    chart = bar_chart(values, [str(value) for value in values], tick_text=str)
    assert 0 <= chart.zero <= CHART_HEIGHT
    for value, bar in zip(values, chart.bars, strict=True):
        assert -1 <= bar.y <= CHART_HEIGHT
        assert bar.y + bar.height <= CHART_HEIGHT + 1
        assert (bar.height == 0) == (value == 0)
        assert bar.title == str(value)
        end = bar.y + bar.height if value < 0 else bar.y
        assert (end > chart.zero) == (value < 0) or end == chart.zero
    heights = [
        bar.height
        for _, bar in sorted(
            zip(map(abs, values), chart.bars, strict=True), key=lambda pair: pair[0]
        )
    ]
    assert all(after >= before - 1 for before, after in pairwise(heights))


def test_an_axis_is_marked_at_its_ends_and_at_zero() -> None:
    def marks(values: list[int]) -> list[tuple[int, str]]:
        chart = bar_chart(values, [""] * len(values), tick_text=str)
        return [(tick.y, tick.text) for tick in chart.ticks]

    assert marks([0, 3]) == [(0, "4"), (80, "2"), (160, "0")]
    assert marks([6, -2]) == [(0, "6"), (120, "0"), (160, "-2")]
    assert marks([-5]) == [(0, "0"), (160, "-6")]
    assert marks([0]) == [(0, "2"), (80, "1"), (160, "0")]


@given(st.integers(1, 10**30))
def test_a_round_end_is_not_below_nor_far_above(value: int) -> None:
    assert value <= round_up(value) <= 2 * value


@settings(max_examples=30)
@given(st.integers(1, 9999))
def test_a_year_has_a_square_a_day_and_a_label_a_month(year: int) -> None:
    first = date(year, 1, 1)
    numbers = range(first.toordinal(), date(year, 12, 31).toordinal() + 1)
    days = [DayCoverage(date.fromordinal(number), (0,) * 24, ()) for number in numbers]
    grid = year_grid(days)
    assert len(grid.squares) == (date(year, 12, 31) - first).days + 1
    assert len({(square.x, square.y) for square in grid.squares}) == len(grid.squares)
    for number, square in enumerate(grid.squares):
        assert square.y // CALENDAR_ROW == (first.weekday() + number) % 7
    assert max(square.x for square in grid.squares) == grid.width - COLUMN
    labels = month_labels(days)
    assert len(labels) in {53, 54}
    assert [label.month for label in labels if label] == list(range(1, 13))


def test_a_gap_lies_between_hours_with_data_also_of_other_years(
    store: PartnerStore, make_record: Callable[..., Record]
) -> None:
    new_year = 1_767_225_600_000  # 2026-01-01T00:00:00Z
    times = [new_year - 2 * MILLISECONDS_PER_HOUR, new_year + 3 * MILLISECONDS_PER_HOUR]
    ingest(store, [make_record(time, number) for number, time in enumerate(times)])
    assert read_coverage(store, 2025)[-1].gaps == (23,)
    assert read_coverage(store, 2025)[-2].gaps == ()
    assert read_coverage(store, 2026)[0].gaps == (0, 1, 2)
    assert read_coverage(store, 2026)[0].covered == 1
    assert read_coverage(store, 2024)[0].gaps == ()


@given(st.integers(-(10**27), 10**27))
def test_an_exact_amount_loses_nothing(nanos: int) -> None:
    text = text_from_nanos(nanos)
    assert exact_amount(text).replace(",", "") == text


@given(st.sets(st.integers(0, 23)))
def test_a_list_of_hours_names_each_of_them(hours: set[int]) -> None:
    named: set[int] = set()
    for part in filter(None, hour_list(sorted(hours)).split(", ")):
        first, _, last = part.partition(" to ")
        named |= set(range(int(first), int(last or first) + 1))
    assert named == hours
