"""Decimal text to nanos and back: exact or an error, never rounded by accident."""

from decimal import ROUND_HALF_EVEN, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.storage.money import (
    NANOS,
    InexactMoney,
    divided,
    nanos_from_canonical,
    nanos_from_text,
    text_from_nanos,
)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("-0", 0),
        ("-0.0000000000000", 0),
        ("0e999", 0),
        ("1", NANOS),
        ("+1.", NANOS),
        (".5", 500_000_000),
        ("0.000000001", 1),
        ("-0.0000000010000", -1),
        ("2.5E-3", 2_500_000),
        ("999999999.999999999", 10**18 - 1),
    ],
)
def test_exact_amounts(text: str, nanos: int) -> None:
    assert nanos_from_text(text) == nanos


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a decimal number"),
        (".", "is not a decimal number"),
        ("1,5", "is not a decimal number"),
        (" 1", "is not a decimal number"),
        ("1_000", "is not a decimal number"),
        ("٣", "is not a decimal number"),
        ("NaN", "is not a decimal number"),
        ("-Infinity", "is not a decimal number"),
        ("1e99999", "is not a decimal number"),
        ("0" * 65, "is not a decimal number"),
        ("0.0000000001", "has more than 9 digits after the point"),
        ("1e-10", "has more than 9 digits after the point"),
        ("1e-9999", "has more than 9 digits after the point"),
        ("1000000000", "is not below 1000000000 units"),
        ("-1e9", "is not below 1000000000 units"),
        ("1000000000.000000001", "is not below 1000000000 units"),
        ("-1e10", "is not below 1000000000 units"),
        ("1e9999", "is not below 1000000000 units"),
        ("0." + "1" * 63, "is not a decimal number"),
    ],
)
def test_amounts_that_nanos_cannot_hold(text: str, message: str) -> None:
    with pytest.raises(InexactMoney, match=message):
        nanos_from_text(text)


@given(st.integers(1 - 10**18, 10**18 - 1))
def test_text_holds_every_nano(nanos: int) -> None:
    text = text_from_nanos(nanos)
    assert len(text.partition(".")[2]) == 9
    assert Decimal(text) * NANOS == nanos
    assert nanos_from_text(text) == nanos_from_canonical(text) == nanos


@given(st.integers(-(10**30), 10**30), st.integers(-(10**12), 10**12), st.integers(1, 9))
def test_division_rounds_half_to_even(numerator: int, denominator: int, digits: int) -> None:
    text = divided(numerator, denominator, digits=digits)
    if denominator == 0:
        assert text is None
        return
    assert text is not None
    exact = Context(prec=200).divide(Decimal(numerator), Decimal(denominator))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN, Context(prec=200))
    assert Decimal(text) == rounded
    assert text[-digits - 1] == "."


@pytest.mark.parametrize(
    ("numerator", "denominator", "text"),
    [
        (1, 2, "0.5"),
        (1, 20, "0.0"),
        (3, 20, "0.2"),
        (-1, 20, "0.0"),
        (-3, 20, "-0.2"),
        (1, -2, "-0.5"),
    ],
)
def test_ties_and_signs(numerator: int, denominator: int, text: str) -> None:
    assert divided(numerator, denominator, digits=1) == text
