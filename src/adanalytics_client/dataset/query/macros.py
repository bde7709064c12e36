"""The rates of a summary as functions of SQL, which round as summaries do."""

from collections.abc import Iterator

from adanalytics_client._json.rates import RATE_DECIMALS, RATES

# DuckDB divides decimals as floats, which would round some halves the wrong way. So both sides
# become whole numbers of billionths, which divide exactly.
_BILLIONTHS = "adanalytics_billionths"
_ROUNDED = "adanalytics_rounded"
_DECIMALS = f"CAST(0.{1:0{RATE_DECIMALS}} AS DECIMAL({RATE_DECIMALS}, {RATE_DECIMALS}))"


def create_macros() -> Iterator[str]:
    """Yield the statements that create the functions: `ecpm(revenue, impressions)` and so on.

    Each returns a decimal of six places, or NULL where the denominator is zero or an argument is
    NULL or no number.
    """
    yield (
        f"CREATE MACRO {_BILLIONTHS}(x) AS "
        "CAST(TRY_CAST(x AS DECIMAL(38, 9)) * CAST(1000000000 AS DECIMAL(10, 0)) AS HUGEINT)"
    )
    # Half to even: a remainder of half the divisor goes up from an odd quotient only.
    yield (
        f"CREATE MACRO {_ROUNDED}(n, d) AS CASE WHEN d <> 0 THEN n // d + CASE "
        "WHEN 2 * abs(n % d) + abs((n // d) % 2) > abs(d) THEN sign(n) * sign(d) ELSE 0 END END"
    )
    for name, rate in RATES.items():
        factor = rate.factor * 10**RATE_DECIMALS
        numerator = f"{_BILLIONTHS}({rate.numerator}) * {factor}"
        quotient = f"{_ROUNDED}({numerator}, {_BILLIONTHS}({rate.denominator}))"
        yield (
            f"CREATE MACRO {name}({rate.numerator}, {rate.denominator}) AS CAST("
            f"CAST({quotient} AS DECIMAL(32, 0)) * {_DECIMALS} AS DECIMAL(38, {RATE_DECIMALS}))"
        )
