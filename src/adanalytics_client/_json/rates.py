"""The rates and prices of a summary, as published: what is divided by what."""

from collections.abc import Mapping
from typing import NamedTuple


class Rate(NamedTuple):
    """A column of a summary that is a quotient of two others, times a factor.

    Attributes:
        numerator: the column above.
        denominator: the column below; where it is zero, there is no rate.
        factor: 1000 for amounts per thousand, else 1.
    """

    numerator: str
    denominator: str
    factor: int = 1


RATES: Mapping[str, Rate] = {
    "fill_rate": Rate("impressions", "requests"),
    "ctr": Rate("clicks", "impressions"),
    "vcr": Rate("completions", "impressions"),
    "completion_rate_started": Rate("completions", "starts"),
    "error_rate": Rate("errors", "requests"),
    "margin": Rate("profit", "revenue"),
    "ecpm": Rate("revenue", "impressions", 1000),
    "rpm": Rate("revenue", "requests", 1000),
    "cpm_cost": Rate("cost", "impressions", 1000),
}
"""The usual definitions, by the column of the summary. A service may have others."""

RATE_DECIMALS = 6
"""Summaries round rates and prices half to even to these decimals."""
