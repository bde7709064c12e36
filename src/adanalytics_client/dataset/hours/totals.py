"""Counts and money of events, as a summary states them: to compare a dataset with the service."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from adanalytics_client._json.columns import count_events
from adanalytics_client._json.fields import COLUMN_OF_TYPE

Figures = Mapping[str, int | Decimal]
"""Counts and money by the name of their summary column."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Event counts by summary column, and exact sums of money; filtered events are left out."""

    counts: Mapping[str, int] = field(default_factory=dict)
    revenue: Decimal = Decimal(0)
    cost: Decimal = Decimal(0)

    @classmethod
    def sum(cls, parts: "Iterable[Totals | None]") -> "Totals | None":
        """Return the sum of all parts, or None if one of them is unknown."""
        counts, revenue, cost = Counter[str](), Decimal(0), Decimal(0)
        for part in parts:
            if part is None:
                return None
            counts.update(part.counts)
            revenue += part.revenue
            cost += part.cost
        return cls(dict(counts), revenue, cost)

    def difference(self, stated: Figures) -> str:
        """Describe how these totals differ from the stated figures; return "" if they agree."""
        mine = {**self.counts, "revenue": self.revenue, "cost": self.cost}
        differing = [
            f"{name} {mine.get(name, 0)} instead of {figure}"
            for name, figure in stated.items()
            if mine.get(name, 0) != figure
        ]
        more = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
        return f"{differing[0]}{more}" if differing else ""


NOTHING: Figures = {
    **dict.fromkeys(COLUMN_OF_TYPE.values(), 0),
    "revenue": Decimal(0),
    "cost": Decimal(0),
}
"""The figures of a day without events."""


def stated_figures(row: Mapping[str, Any]) -> Figures:
    """Pick the figures that a summary row states, without missing or malformed columns."""
    # Not isinstance: a flag is an int, too.
    counts = {name: row[name] for name in COLUMN_OF_TYPE.values() if type(row.get(name)) is int}
    money = {name: row[name] for name in ("revenue", "cost") if isinstance(row.get(name), Decimal)}
    return {**counts, **money}


def events_in(figures: Figures) -> int:
    return count_events(figures) or 0
