"""Recount the demo's files without the client, and compare them with each summary.

Counts and money are compared to the last digit; rates, which derive from them, are not.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from adanalytics_client._base.quantities import counted

if TYPE_CHECKING:
    from adanalytics_client import Summary, SummaryRow

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
# The field that identifies a group, in an event and in a row of the summary.
_KEYS = {"day": "date", "campaign": "campaign_id", "demand_tag": "demand_tag_id"}
# Sums stay far below 28 digits, the precision of the default context, so none is rounded.
_NOTHING = {
    **dict.fromkeys(COLUMN_OF_TYPE.values(), Decimal(0)),
    **dict.fromkeys(("revenue", "cost"), Decimal("0.000000000")),
}
_MOST_SHOWN = 5

Metrics = dict[str, Decimal]
"""The counts and the money of a group, by the summary's names."""


class Fact(msgspec.Struct, gc=False):
    """The fields of an event that a summary depends on; a cost of None is not visible."""

    event_id: str
    event_type: str
    is_filtered: bool
    event_date: str
    campaign_id: int | None
    demand_tag_id: int | None
    revenue: Decimal
    cost: Decimal | None


@dataclass(slots=True)
class FileTotals:
    """All events of a file: their ids, how many are filtered, and the rest by group."""

    ids: set[str] = field(default_factory=set)
    events: int = 0
    filtered: int = 0
    groups: dict[tuple[str, int | None, int | None], Metrics] = field(default_factory=dict)

    def by(self, group_by: str | None) -> dict[str | int | None, Metrics]:
        """The metrics grouped as the summary groups them; None gives one group, the total."""
        grouped: dict[str | int | None, Metrics] = {} if group_by else {"total": dict(_NOTHING)}
        for key, metrics in self.groups.items():
            name = key[[*_KEYS].index(group_by)] if group_by else "total"
            group = grouped.setdefault(name, dict(_NOTHING))
            for column, amount in metrics.items():
                group[column] += amount
        return grouped


def add_up(facts: Iterable[Fact]) -> FileTotals:
    """Count events; filtered ones count as events and nowhere else, as in the summary."""
    result = FileTotals()
    for fact in facts:
        result.events += 1
        result.ids.add(fact.event_id)
        if fact.is_filtered:
            result.filtered += 1
            continue
        key = (fact.event_date, fact.campaign_id, fact.demand_tag_id)
        group = result.groups.setdefault(key, dict(_NOTHING))
        group[COLUMN_OF_TYPE[fact.event_type]] += 1
        group["revenue"] += fact.revenue
        group["cost"] += fact.cost or 0
    return result


def read_jsonl(path: Path) -> Iterator[Fact]:
    """The events of a file of JSON lines."""
    decode = msgspec.json.Decoder(Fact).decode
    with path.open("rb") as lines:
        yield from map(decode, lines)


def read_csv(path: Path) -> Iterator[Fact]:
    """The events of a csv file with a header; an empty field is None."""
    with path.open(encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            known = {name: row[name] or None for name in Fact.__struct_fields__}
            yield msgspec.convert(known, Fact, strict=False)


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: its subject, and its differences, none if it holds."""

    what: str
    differences: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether both sides are the same."""
        return not self.differences

    def shortened(self) -> list[str]:
        """The first differences, and how many more there are."""
        more = len(self.differences) - _MOST_SHOWN
        return [*self.differences[:_MOST_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]


def compare_files(events: FileTotals, export: FileTotals) -> Check:
    """The events file and the export hold the same events, with the same money."""
    found = []
    if twice := events.events - len(events.ids):
        found.append(f"{counted(twice, 'event')} twice in the events file")
    if events.events != export.events:
        found.append(f"events: {events.events:,} in pages, {export.events:,} in the export")
    if only := sorted(events.ids - export.ids):
        found.append(f"{counted(len(only), 'event')} missing in the export, such as {only[0]}")
    if only := sorted(export.ids - events.ids):
        found.append(f"{counted(len(only), 'event')} only in the export, such as {only[0]}")
    if events.filtered != export.filtered:
        found.append(f"filtered: {events.filtered:,} in pages, {export.filtered:,} in the export")
    for key in sorted({*events.groups, *export.groups}, key=str):
        sides = (events.groups.get(key, _NOTHING), export.groups.get(key, _NOTHING))
        found += _differences(str(key), *sides, other_name="export")
    return Check(f"pages and export hold the same {events.events:,} events", tuple(found))


def compare_summary(events: FileTotals, summary: "Summary", group_by: str | None) -> Check:
    """Each row of the summary, and its totals, are the sums over the events file."""
    groups = events.by(group_by)
    rows = {_key(row, group_by): _metrics(row) for row in summary.rows}
    found: list[str] = []
    for key in sorted({*groups, *rows}, key=str):
        sides = (groups.get(key, _NOTHING), rows.get(key, _NOTHING))
        found += _differences(str(key), *sides, other_name="summary")
    if summary.totals is None:
        found.append("the summary has no totals")
    else:
        sides = (events.by(None)["total"], _metrics(summary.totals))
        found += _differences("totals", *sides, other_name="summary")
    number = counted(len(summary.rows), "row")
    grouping = f"by {group_by.replace('_', ' ')}" if group_by else "in total"
    return Check(f"summary {grouping}, {number}", tuple(found))


def _key(row: "SummaryRow", group_by: str | None) -> str | int | None:
    if group_by is None:
        return "total"
    key: date | int | None = row[_KEYS[group_by]]
    return str(key) if isinstance(key, date) else key


def _metrics(row: "SummaryRow") -> Metrics:
    return {name: row[name] for name in _NOTHING}


def _differences(where: str, events: Metrics, other: Metrics, *, other_name: str) -> Iterator[str]:
    for column, amount in events.items():
        if amount != other[column]:
            yield f"{where}, {column}: {amount} by events, {other[column]} by {other_name}"
