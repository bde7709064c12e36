"""What the summary derives from counts and money, worked out anew with exact fractions."""

from decimal import Decimal
from fractions import Fraction

from adanalytics_cli.demo.tally import Metrics

_DIGITS = 6

# Name of a rate: what is divided by what.
_FRACTIONS = {
    "fill_rate": ("impressions", "ad_requests"),
    "ctr": ("clicks", "impressions"),
    "vcr": ("completions", "impressions"),
    "completion_rate_started": ("completions", "starts"),
    "error_rate": ("errors", "ad_requests"),
}


def rates(metrics: Metrics) -> dict[str, Decimal | None]:
    """Profit and every rate of a group, to six digits; None where there is nothing to divide by.

    Examples:
        >>> rates(Metrics(revenue=Decimal("0.3"), cost=Decimal("0.1")))["margin"]
        Decimal('0.666667')
    """
    counts, revenue, cost = metrics.counts, metrics.revenue, metrics.cost
    profit = revenue - cost
    return {
        "profit": profit,
        **{name: _divided(counts[a], counts[b]) for name, (a, b) in _FRACTIONS.items()},
        "margin": _divided(profit, revenue),
        "ecpm": _divided(revenue * 1000, counts["impressions"]),
        "rpm": _divided(revenue * 1000, counts["ad_requests"]),
        "cpm_cost": _divided(cost * 1000, counts["impressions"]),
    }


def _divided(numerator: Decimal | int, denominator: Decimal | int) -> Decimal | None:
    if not denominator:
        return None
    # round() of a Fraction is exact and goes half to even.
    scaled = round(Fraction(numerator) / Fraction(denominator) * 10**_DIGITS)
    return Decimal(scaled).scaleb(-_DIGITS)
