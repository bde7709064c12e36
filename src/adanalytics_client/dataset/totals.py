"""Counts and money of events, in the terms of a summary row: to compare what is held with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

# Event types by VAST's names, and the column of a summary that counts each of them.
COLUMN_OF_TYPE = {
    "ad_request": "ad_requests",
    "impression": "impressions",
    "start": "starts",
    "first_quartile": "first_quartiles",
    "midpoint": "midpoints",
    "third_quartile": "third_quartiles",
    "complete": "completions",
    "click": "clicks",
    "skip": "skips",
    "error": "errors",
}
_MONEY = ("revenue", "cost")


@dataclass(frozen=True, slots=True)
class Tally:
    """Events by column of a summary, and exact money; filtered events are not in it.

    >>> Tally({"clicks": 2}, revenue=Decimal("0.5")) + Tally({"clicks": 1})
    Tally(counts={'clicks': 3}, revenue=Decimal('0.5'), cost=Decimal('0'))
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    revenue: Decimal = Decimal(0)
    cost: Decimal = Decimal(0)

    def __add__(self, other: Self) -> "Tally":
        names = self.counts.keys() | other.counts.keys()
        counts = {name: self.counts.get(name, 0) + other.counts.get(name, 0) for name in names}
        return Tally(counts, self.revenue + other.revenue, self.cost + other.cost)

    @classmethod
    def total(cls, tallies: Iterable["Tally"]) -> "Tally":
        """The sum of all of them."""
        return sum(tallies, Tally())

    @classmethod
    def of_summary(cls, row: Mapping[str, Any]) -> Self:
        """What a row of a summary says; a column that is missing or odd counts as nothing."""
        counts = {name: row.get(name) for name in COLUMN_OF_TYPE.values()}
        whole = {name: value for name, value in counts.items() if isinstance(value, int)}
        money = {name: row.get(name) for name in _MONEY}
        exact = {name: value for name, value in money.items() if isinstance(value, Decimal)}
        return cls(whole, **exact)

    def differences(self, other: "Tally") -> list[str]:
        """Each figure in which `other` is not the same, as text; empty when all agree.

        >>> Tally({"clicks": 2}).differences(Tally({"clicks": 3}))
        ['clicks 2 instead of 3']
        """
        mine, theirs = self.figures(), other.figures()
        return [
            f"{name} {mine[name]} instead of {theirs[name]}"
            for name in mine
            if mine[name] != theirs[name]
        ]

    @property
    def events(self) -> int:
        """How many events it counts."""
        return sum(self.counts.values())

    def as_json(self) -> dict[str, Any]:
        """For a manifest; money as text with all its digits."""
        counts = {name: count for name, count in self.counts.items() if count}
        return {"counts": counts, "revenue": str(self.revenue), "cost": str(self.cost)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """What `as_json` gave. Raises KeyError, TypeError or ArithmeticError for anything else."""
        counts = {str(name): int(count) for name, count in record["counts"].items()}
        return cls(counts, Decimal(record["revenue"]), Decimal(record["cost"]))

    def figures(self) -> dict[str, int | Decimal]:
        """Every figure by the name of its column in a summary."""
        counts = {name: self.counts.get(name, 0) for name in COLUMN_OF_TYPE.values()}
        return {**counts, "revenue": self.revenue, "cost": self.cost}
