"""Count events out of a file anew, with no code of the server or the client."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import msgspec

# VAST event types and the summary's columns that count them.
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
# Sums stay far below 28 digits, the precision of the default context, so none is rounded.
ZERO = Decimal("0.000000000")


class Fact(msgspec.Struct, gc=False):
    """What of an event the summary depends on; money is Decimal, None where it is not visible."""

    event_id: str
    event_type: str
    is_filtered: bool
    event_date: str
    campaign_id: int | None
    demand_tag_id: int | None
    revenue: Decimal
    cost: Decimal | None


@dataclass(slots=True)
class Metrics:
    """Events counted by the summary's columns, with their money."""

    counts: Counter[str] = field(default_factory=Counter)
    revenue: Decimal = ZERO
    cost: Decimal = ZERO

    def add(self, other: "Metrics") -> None:
        """Take another group in."""
        self.counts.update(other.counts)
        self.revenue += other.revenue
        self.cost += other.cost


@dataclass(slots=True)
class Tally:
    """All events of a file: their ids, how many are filtered, and the rest by group."""

    ids: set[str] = field(default_factory=set)
    events: int = 0
    filtered: int = 0
    groups: dict[tuple[str, int | None, int | None], Metrics] = field(default_factory=dict)

    def by(self, group_by: str | None) -> dict[str | int | None, Metrics]:
        """The metrics grouped as the summary groups them; None gives one group, the total."""
        place = {"day": 0, "campaign": 1, "demand_tag": 2}
        grouped: dict[str | int | None, Metrics] = {}
        for key, metrics in self.groups.items():
            name = "total" if group_by is None else key[place[group_by]]
            grouped.setdefault(name, Metrics()).add(metrics)
        return grouped


def tally(facts: Iterable[Fact]) -> Tally:
    """Count events; filtered ones count as events and nowhere else, as in the summary."""
    result = Tally()
    for fact in facts:
        result.events += 1
        result.ids.add(fact.event_id)
        if fact.is_filtered:
            result.filtered += 1
            continue
        key = (fact.event_date, fact.campaign_id, fact.demand_tag_id)
        group = result.groups.get(key)
        if group is None:
            group = result.groups[key] = Metrics()
        group.counts[COLUMN_OF_TYPE[fact.event_type]] += 1
        group.revenue += fact.revenue
        if fact.cost is not None:
            group.cost += fact.cost
    return result


def read_jsonl(path: Path) -> Iterator[Fact]:
    """The events of a file of JSON lines."""
    decode = msgspec.json.Decoder(Fact).decode
    with path.open("rb") as lines:
        yield from map(decode, lines)


def read_csv(path: Path) -> Iterator[Fact]:
    """The events of a csv file, whose header says where each field is."""
    with path.open(encoding="utf-8", newline="") as text:
        rows = csv.reader(text)
        place = {name: index for index, name in enumerate(next(rows))}
        wanted = [place[name] for name in ("event_id", "event_type", "is_filtered", "event_date")]
        amounts = [place[name] for name in ("campaign_id", "demand_tag_id", "revenue", "cost")]
        for row in rows:
            event_id, event_type, is_filtered, day = (row[index] for index in wanted)
            campaign, demand_tag, revenue, cost = (row[index] for index in amounts)
            yield Fact(
                event_id,
                event_type,
                is_filtered == "true",
                day,
                int(campaign) if campaign else None,
                int(demand_tag) if demand_tag else None,
                Decimal(revenue),
                Decimal(cost) if cost else None,
            )
