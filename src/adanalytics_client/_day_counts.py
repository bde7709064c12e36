"""About how many events each day has, read from a summary whose columns nobody documents."""

import re
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adanalytics_client.models import Summary, SummaryRow


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)
_DAY_FIELDS = ("date", "day", "event_date")
# One event is of one type, so the types of a summary add up to its events.
_TYPES = (
    *("ad_requests", "impressions", "starts", "first_quartiles", "midpoints"),
    *("third_quartiles", "completions", "clicks", "skips", "errors"),
)


def day_counts(summary: "Summary") -> dict[date, int]:
    """Events by day from a summary grouped by day; empty when its rows do not say that.

    Filtered events are not in it, so it is a lower bound.
    """
    counts: dict[date, int] = {}
    for row in summary.rows:
        day, events = _day(row), _events(row)
        if day is None or events is None:
            return {}
        counts[day] = counts.get(day, 0) + events
    return counts


def _day(row: "SummaryRow") -> date | None:
    fields = (row[name] for name in _DAY_FIELDS if name in row.model_fields_set)
    found = (_DAY.match(value) for value in fields if isinstance(value, str))
    text = next((each.group() for each in found if each), "")
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _events(row: "SummaryRow") -> int | None:
    counts = [row[name] for name in _TYPES]
    known = [each for each in counts if isinstance(each, int) and not isinstance(each, bool)]
    return sum(max(0, each) for each in known) if known else None
