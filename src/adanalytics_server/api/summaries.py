"""Summaries: exact arithmetic over the rollups of a range of days.

Counts and money are sums. Rates are divided as integers and rounded half to even, so that the
last digit is the one that the same arithmetic over the single events gives.
"""

import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from adanalytics_server.clock import EPOCH
from adanalytics_server.dialect import REFERENCE, Dialect
from adanalytics_server.storage.days import DayRange, day_of_number
from adanalytics_server.storage.dimensions import DIMENSIONS, TOTAL, Grouping
from adanalytics_server.storage.money import NANOS, divided, text_from_nanos
from adanalytics_server.storage.schema import COUNTERS, MEASURES
from adanalytics_server.storage.store import PartnerStore

from .events import read_events

_DIMENSION_OF = {dimension.name: dimension for dimension in DIMENSIONS}
FRACTIONS = {
    "fill_rate": ("impressions", "requests"),
    "ctr": ("clicks", "impressions"),
    "vcr": ("completions", "impressions"),
    "completion_rate_started": ("completions", "starts"),
    "error_rate": ("errors", "requests"),
    "margin": ("profit", "revenue"),
}
"""The columns that are fractions: what is divided, and by what."""
PRICES = {
    "ecpm": ("revenue", "impressions"),
    "rpm": ("revenue", "requests"),
    "cpm_cost": ("cost", "impressions"),
}
"""The columns that are money for a thousand: the money, and the count."""
_LAST_OF_HOUR = timedelta(minutes=59, seconds=59)
_SUMS = ", ".join(f"SUM({measure})" for measure in MEASURES)
_ANY_EVENT = " + ".join(f"SUM({counter})" for counter in COUNTERS)

Row = dict[str, Any]


def read_summary(
    store: PartnerStore, days: DayRange, *, group_by: Grouping | None, currency: str
) -> dict[str, Any]:
    """Return a summary by one of its groupings, or of the total alone."""
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
    days = set()
    for hour in hours:
        start = EPOCH + timedelta(hours=hour)
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


def _grouped(ledger: sqlite3.Connection, days: DayRange, group_by: Grouping) -> list[Row]:
    dimension = _DIMENSION_OF.get(group_by)
    number, columns = (dimension.number, "id_is_null, id") if dimension else (TOTAL, "day")
    rows = ledger.execute(
        f"SELECT {columns}, {_SUMS} FROM rollups"  # noqa: S608  # column names only
        " WHERE dimension = ? AND day BETWEEN ? AND ?"
        # A group whose events were all replaced keeps its rollup, with zeros.
        f" GROUP BY {columns} HAVING {_ANY_EVENT} > 0 ORDER BY {columns}",
        (number, days.first_day, days.last_day),
    ).fetchall()
    if dimension is None:
        return [
            {"date": day_of_number(day).isoformat(), **measures_of(sums)} for day, *sums in rows
        ]
    names = dict(
        ledger.execute("SELECT id, CAST(name AS BLOB) FROM names WHERE dimension = ?", (number,))
    )
    return [
        {
            dimension.id_field: None if is_null else id_,
            dimension.name_field: None if is_null or id_ not in names else names[id_].decode(),
            **measures_of(sums),
        }
        for is_null, id_, *sums in rows
    ]


def measures_of(sums: Sequence[int]) -> Row:
    """Return the measures of a row of a summary, of the sums of ``MEASURES``."""
    counts = dict(zip(COUNTERS, sums, strict=False))
    revenue_units, revenue_nanos, cost_units, cost_nanos = sums[len(COUNTERS) :]
    revenue = revenue_units * NANOS + revenue_nanos
    cost = cost_units * NANOS + cost_nanos
    nanos = {"revenue": revenue, "cost": cost, "profit": revenue - cost}
    both = counts | nanos
    return {
        **counts,
        **{name: text_from_nanos(amount) for name, amount in nanos.items()},
        **{name: _fraction(both[part], both[whole]) for name, (part, whole) in FRACTIONS.items()},
        **{
            name: divided(both[part] * 1000, both[unit] * NANOS, digits=6)
            for name, (part, unit) in PRICES.items()
        },
    }


def _fraction(numerator: int, denominator: int) -> msgspec.Raw | None:
    """Return a JSON number with six digits, written out: a float would lose some of them."""
    text = divided(numerator, denominator, digits=6)
    return None if text is None else msgspec.Raw(text.encode())
