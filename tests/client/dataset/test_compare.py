"""What of a day can be compared with the summary, what differs, and what cannot be told."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from adanalytics_client._json.fields import FieldNames
from adanalytics_client.dataset.hours.compare import DayComparison, compare_day, merge
from adanalytics_client.dataset.hours.totals import (
    NOTHING,
    OTHER,
    Figure,
    Totals,
    figure_text,
    stated_figures,
)

DAY, NEXT = date(2026, 1, 15), date(2026, 1, 16)
TYPED = Totals(5, {"impressions": 3, "clicks": 2}, {"revenue": Decimal("0.9876")})
COUNTERS = Totals(
    4,
    {},
    {"usable_requests": 4, "impressions": 3, "revenue": Decimal("0.9876"), "note": None},
    4,
    {"usable_requests": (0, 2)},
)
HALVES = Decimal("0.5"), Decimal("0.5")
FLAGGED = Totals(4, {}, {"views": 3, "floor": Decimal(2)}, 0, {"views": (0, 1), "floor": HALVES})


@pytest.mark.parametrize(
    ("totals", "stated", "equal"),
    [
        (TYPED, {"impressions": 3, "clicks": 2, "skips": 0}, {"impressions", "clicks", "skips"}),
        (TYPED, {"Impressions": 3}, {"Impressions"}),
        # A row for each auction, with counters.
        (COUNTERS, {"impressions": 3, "usable_requests": 4}, {"impressions", "usable_requests"}),
        (COUNTERS, {"usableRequests": 4}, {"usableRequests"}),
        # Rows that state a type, and yet count several events of it.
        (Totals(1, {"impressions": 1}, {"impressions": 3}), {"impressions": 3}, {"impressions"}),
        # A summary may count filtered events, too.
        (
            replace(TYPED, filtered=Totals(2, {"impressions": 2})),
            {"impressions": 5},
            {"impressions"},
        ),
        (
            replace(TYPED, filtered=Totals(2, {"impressions": 2})),
            {"impressions": 3},
            {"impressions"},
        ),
        # Nothing is nothing, whatever the fields.
        (Totals(), NOTHING, {*NOTHING}),
    ],
)
def test_what_is_equal_is_compared(
    totals: Totals, stated: Mapping[str, Figure], equal: set[str]
) -> None:
    assert compare_day(totals, stated) == DayComparison(dict.fromkeys(equal))


@pytest.mark.parametrize(
    ("stated", "digits"),
    [("0.9876", None), ("0.98760", None), ("0.99", 2), ("0.988", 3), ("1.0", 1), (1, 0)],
)
def test_money_is_equal_at_the_precision_of_the_summary(
    stated: str | int, digits: int | None
) -> None:
    figure = stated if isinstance(stated, int) else Decimal(stated)
    assert compare_day(TYPED, {"revenue": figure}) == DayComparison({"revenue": digits})


@pytest.mark.parametrize("half", ["0.12", "0.13"])
def test_half_a_digit_may_be_rounded_either_way(half: str) -> None:
    totals = Totals(1, sums={"revenue": Decimal("0.125")})
    assert not compare_day(totals, {"revenue": Decimal(half)}).difference


def test_the_noise_of_a_float_is_no_difference() -> None:
    totals = Totals(1, sums={"revenue": Decimal("0.3")})
    compared = compare_day(totals, {"revenue": Decimal("0.30000000000000004")})
    assert compared == DayComparison({"revenue": 9})


@pytest.mark.parametrize("money", ["revenue", "cost"])
def test_a_billionth_of_money_is_a_difference(money: str) -> None:
    totals = Totals(1, sums={money: Decimal(1)})
    stated = {money: Decimal("1.000000001")}
    assert compare_day(totals, stated).difference == f"{money} 1 instead of 1.000000001"


@pytest.mark.parametrize(
    ("totals", "stated", "difference"),
    [
        (TYPED, {"clicks": 3, "skips": 1}, "clicks 2 instead of 3, and 1 more"),
        (TYPED, {"clicks": 1}, "clicks 2 instead of 1"),
        (TYPED, {"revenue": Decimal("0.98")}, "revenue 0.9876 instead of 0.98"),
        (COUNTERS, {"revenue": 7200}, "revenue 0.9876 instead of 7,200"),
        # The summary adds up what has the name of a field, also one that is not documented.
        (COUNTERS, {"usable_requests": 7200}, "usable_requests 4 instead of 7,200"),
        (FLAGGED, {"views": 4}, "views 3 instead of 4"),
        (FLAGGED, {"views": 2}, "views 3 instead of 2"),
        (FLAGGED, {"views": 0}, "views 3 instead of 0"),
        (FLAGGED, {"floor": 1}, "floor 2 instead of 1"),
        # Without events there is no field, and yet the sum is known.
        (Totals(), {"impressions": 1200}, "impressions 0 instead of 1,200"),
    ],
)
def test_what_differs(totals: Totals, stated: Mapping[str, Figure], difference: str) -> None:
    assert compare_day(totals, stated).difference == difference


@pytest.mark.parametrize(
    ("totals", "stated", "reason"),
    [
        (COUNTERS, {"requests": 4}, "no event field sums to it"),
        (COUNTERS, {"note": 4}, "some values of its field are no numbers"),
        # No event has a value, or the values are not known.
        (Totals(1, {}, {"views": 0}), {"views": 4}, "no event field sums to it"),
        # An average may have the name of what it is the average of.
        (FLAGGED, {"views": Decimal("0.75")}, "0.75 may be an average of its field"),
        (FLAGGED, {"floor": Decimal("0.5")}, "0.5 may be an average of its field"),
        (
            COUNTERS,
            {"usable_requests": 1},
            "4 in the events, 1 in the summary, and 4 events may be filtered ones",
        ),
        (
            COUNTERS,
            {"impressions": 2},
            "3 in the events, 2 in the summary, and 4 events may be filtered ones",
        ),
        (Totals(5, {"clicks": 2, OTHER: 3}), {"clicks": 4}, "3 events may be of its type"),
        (Totals(5, {"clicks": 2}), {"clicks": 4}, "3 events may be of its type"),
        (None, {"clicks": 4}, "the totals of the events are not known"),
    ],
)
def test_what_cannot_be_compared(
    totals: Totals | None, stated: Mapping[str, Figure], reason: str
) -> None:
    (name,) = stated
    assert compare_day(totals, stated) == DayComparison(uncompared={name: reason})


def test_quotients_and_zeros_need_no_field() -> None:
    quotients = dict.fromkeys(("fill_rate", "ecpm", "profit"), Decimal("0.75"))
    stated: dict[str, Figure] = {**quotients, "skips": 0}
    assert compare_day(COUNTERS, stated) == DayComparison()


@pytest.mark.parametrize("column", ["revenue", "rev"])
def test_a_mapped_field_is_the_one_that_the_summary_adds_up(column: str) -> None:
    names = FieldNames({"revenue": "rev", "requests": "usable_requests"})
    totals = Totals(1, sums={"rev": Decimal(2), "usable_requests": 1})
    stated: dict[str, Figure] = {column: 2, "requests": 1}
    equal = compare_day(totals, stated, names).equal
    assert {*equal} == {column, "requests"}
    assert compare_day(totals, {column: 3}, names).difference == f"{column} 2 instead of 3"


def test_a_summary_row_states_counts_and_amounts() -> None:
    row = {
        "date": DAY,
        "campaign_id": 7,
        "partnerId": 8,
        "event_hour": 3,
        "clicks": "12",
        "revenue": Decimal("1.50"),
        "rev": "-1.50",
        "flag": True,
        "note": "n/a",
        "cost": None,
    }
    assert stated_figures(row) == {"clicks": 12, "revenue": Decimal("1.50"), "rev": Decimal("-1.5")}


def test_days_are_merged_to_what_was_proved() -> None:
    compared, uncompared = merge(
        {
            DAY: DayComparison({"clicks": None, "revenue": 3}, {}, {"requests": "no"}),
            NEXT: DayComparison(
                {"revenue": 2}, {"skips": (1, 2)}, {"requests": "no", "clicks": "odd"}
            ),
        }
    )
    assert [*map(str, compared)] == ["clicks", "revenue (to 2 digits)", "skips"]
    assert [*map(str, uncompared)] == ["requests, no", "clicks, on 2026-01-16: odd"]


def test_sums_are_exact_and_unknown_ones_stay_unknown() -> None:
    large = Totals(1, {"clicks": 1}, {"a": Decimal("9" * 38), "b": 1, "c": None}, 1, {"b": (1, 1)})
    small = Totals(2, {"clicks": 1}, {"a": Decimal("1E-38"), "b": 2, "c": 1}, 0, {"b": (0, 2)})
    added = Totals.sum([large, small])
    assert added == Totals(
        3,
        {"clicks": 2},
        {"a": Decimal("9" * 38 + "." + "0" * 37 + "1"), "b": 3, "c": None},
        1,
        {"b": (0, 2)},
    )
    assert Totals.sum([large, None]) is None


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (11940, "11,940"),
        (Decimal("7146.020"), "7,146.02"),
        (Decimal("0E-9"), "0"),
        (Decimal(10), "10"),
    ],
)
def test_figures_are_written_without_zeros_at_their_end(figure: Figure, text: str) -> None:
    assert figure_text(figure) == text
