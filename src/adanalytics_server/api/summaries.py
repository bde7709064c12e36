"""Summaries: exact arithmetic over the rollups of a range of days.

Counts and money are sums. Rates are divided as integers and rounded half to even, so that the
last digit is the one that the same arithmetic over the single events gives.
"""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec

from adanalytics_server.api.events import read_events
from adanalytics_server.dialect import REFERENCE, Dialect
from adanalytics_server.storage.days import DayRange, day_of_number
from adanalytics_server.storage.money import NANOS, divided, text_from_nanos
from adanalytics_server.storage.rollups import CAMPAIGN, DEMAND_TAG, TOTAL
from adanalytics_server.storage.schema import COUNTERS, MEASURES
from adanalytics_server.storage.store import PartnerStore

# What each grouping reads: the dimension of its rollups, and the columns that name a row.
GROUPINGS = {
    "day": (TOTAL, "day"),
    "campaign": (CAMPAIGN, "id_is_null, id"),
    "demand_tag": (DEMAND_TAG, "id_is_null, id"),
}
_LAST_OF_HOUR = timedelta(minutes=59, seconds=59)
_SUMS = ", ".join(f"SUM({measure})" for measure in MEASURES)
_ANY_EVENT = " + ".join(f"SUM({counter})" for counter in COUNTERS)

Row = dict[str, Any]


def read_summary(
    store: PartnerStore, days: DayRange, *, group_by: str | None, currency: str
) -> dict[str, Any]:
    """Return a summary by day, campaign or demand tag, or of the total alone."""
    with store.reading("ledger") as ledger:
        ledger.execute("BEGIN")
        try:
            totals = _totals(ledger, days)
            rows = [totals] if group_by is None else _grouped(ledger, days, group_by)
        finally:
            ledger.execute("ROLLBACK")
    return {
        "summary": rows,
        "totals": totals,
        "group_by": group_by,
        "start_date": days.start.isoformat(),
        "end_date": days.end.isoformat(),
        "currency": currency,
        "timezone": "UTC",
    }


def read_dates(store: PartnerStore, dialect: Dialect = REFERENCE) -> list[str]:
    """List the days that have events, filtered ones included, in order."""
    with store.reading("ledger") as ledger:
        hours = [hour for (hour,) in ledger.execute("SELECT hour FROM hours WHERE n > 0")]
    zone = dialect.zone
    if zone is None:
        return [day_of_number(number).isoformat() for number in sorted({h // 24 for h in hours})]
    days: set[date] = set()
    for hour in hours:
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=hour)
        ends = {time.astimezone(zone).date() for time in (start, start + _LAST_OF_HOUR)}
        if len(ends) > 1:
            # Midnight there is within this hour, so only its events tell.
            events = read_events(store, DayRange(start.date(), start.date(), start.hour), REFERENCE)
            times = (datetime.fromisoformat(event["event_time"]) for event in events)
            ends = {time.astimezone(zone).date() for time in times}
        days |= ends
    return [day.isoformat() for day in sorted(days)]


def _totals(ledger: sqlite3.Connection, days: DayRange) -> Row:
    sums = ledger.execute(
        f"SELECT {_SUMS} FROM rollups WHERE dimension = ? AND day BETWEEN ? AND ?",  # noqa: S608  # column names only
        (TOTAL, days.first_day, days.last_day),
    ).fetchone()
    return measures_of([number or 0 for number in sums])


def _grouped(ledger: sqlite3.Connection, days: DayRange, group_by: str) -> list[Row]:
    dimension, columns = GROUPINGS[group_by]
    rows = ledger.execute(
        f"SELECT {columns}, {_SUMS} FROM rollups"  # noqa: S608  # column names only
        " WHERE dimension = ? AND day BETWEEN ? AND ?"
        # A group whose events were all replaced keeps its rollup, with zeros.
        f" GROUP BY {columns} HAVING {_ANY_EVENT} > 0 ORDER BY {columns}",
        (dimension, days.first_day, days.last_day),
    ).fetchall()
    if group_by == "day":
        return [
            {"date": day_of_number(day).isoformat(), **measures_of(sums)} for day, *sums in rows
        ]
    names = dict(
        ledger.execute("SELECT id, CAST(name AS BLOB) FROM names WHERE dimension = ?", (dimension,))
    )
    return [
        {
            f"{group_by}_id": None if is_null else number,
            f"{group_by}_name": None if is_null or number not in names else names[number].decode(),
            **measures_of(sums),
        }
        for is_null, number, *sums in rows
    ]


def measures_of(sums: Sequence[int]) -> Row:
    """Return the measures of a row of a summary, of the sums of ``MEASURES``."""
    counts = dict(zip(COUNTERS, sums, strict=False))
    revenue_units, revenue_nanos, cost_units, cost_nanos = sums[len(COUNTERS) :]
    revenue = revenue_units * NANOS + revenue_nanos
    cost = cost_units * NANOS + cost_nanos
    profit = revenue - cost
    requests, impressions = counts["requests"], counts["impressions"]
    return {
        **counts,
        "revenue": text_from_nanos(revenue),
        "cost": text_from_nanos(cost),
        "profit": text_from_nanos(profit),
        "fill_rate": _fraction(impressions, requests),
        "ctr": _fraction(counts["clicks"], impressions),
        "vcr": _fraction(counts["completions"], impressions),
        "completion_rate_started": _fraction(counts["completions"], counts["starts"]),
        "error_rate": _fraction(counts["errors"], requests),
        "margin": _fraction(profit, revenue),
        "ecpm": _per_thousand(revenue, impressions),
        "rpm": _per_thousand(revenue, requests),
        "cpm_cost": _per_thousand(cost, impressions),
    }


def _fraction(numerator: int, denominator: int) -> msgspec.Raw | None:
    """Return a JSON number with six digits, written out: a float would lose some of them."""
    text = divided(numerator, denominator, digits=6)
    return None if text is None else msgspec.Raw(text.encode())


def _per_thousand(nanos: int, count: int) -> str | None:
    return divided(nanos * 1000, count * NANOS, digits=6)
