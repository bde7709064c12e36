"""Compare what pages, summaries and the bulk export say about the same day, to the last digit."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from adanalytics_cli.demo.rates import rates
from adanalytics_cli.demo.tally import COLUMN_OF_TYPE, Metrics, Tally

if TYPE_CHECKING:
    from adanalytics_client import Summary, SummaryRow

_MOST_SHOWN = 5
_KEYS = {"day": "date", "campaign": "campaign_id", "demand_tag": "demand_tag_id"}


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: what was compared, and where the two sides differ; nowhere if it holds."""

    what: str
    differences: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether both sides are the same."""
        return not self.differences


def compare_files(events: Tally, export: Tally) -> Check:
    """The events file and the export hold the same events, with the same money."""
    found = []
    if events.events != len(events.ids):
        found.append(
            f"{events.events - len(events.ids):,} events of the events file are there twice"
        )
    if events.events != export.events:
        found.append(f"events: {events.events:,} in pages, {export.events:,} in the export")
    if only := sorted(events.ids - export.ids):
        found.append(f"{len(only):,} events are missing in the export, such as {only[0]}")
    if only := sorted(export.ids - events.ids):
        found.append(f"{len(only):,} events are only in the export, such as {only[0]}")
    if events.filtered != export.filtered:
        found.append(f"filtered: {events.filtered:,} in pages, {export.filtered:,} in the export")
    for key in sorted({*events.groups, *export.groups}, key=str):
        sides = (events.groups.get(key, Metrics()), export.groups.get(key, Metrics()))
        found += _differences(str(key), *sides, names=("events", "export"))
    return Check(f"pages and export hold the same {events.events:,} events", tuple(found))


def compare_summary(events: Tally, summary: "Summary", group_by: str | None) -> Check:
    """Each row of the summary, and its totals, are the arithmetic over the events file."""
    counted = events.by(group_by)
    told = {_key(row, group_by): row for row in summary.rows}
    found: list[str] = []
    for key in sorted({*counted, *told}, key=str):
        found += _row_differences(str(key), counted.get(key, Metrics()), told.get(key))
    if summary.totals is None:
        found.append("the summary has no totals")
    else:
        total = events.by(None).get("total", Metrics())
        found += _row_differences("totals", total, summary.totals)
    rows = f"{len(summary.rows)} row{'' if len(summary.rows) == 1 else 's'}"
    grouping = f"by {group_by.replace('_', ' ')}" if group_by else "in total"
    return Check(f"summary {grouping}, {rows}", tuple(found))


def shortened(check: Check) -> list[str]:
    """The differences that fit on a screen, and how many more there are."""
    more = len(check.differences) - _MOST_SHOWN
    return [*check.differences[:_MOST_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]


def _key(row: "SummaryRow", group_by: str | None) -> str | int | None:
    if group_by is None:
        return "total"
    key: date | int | None = row[_KEYS[group_by]]
    return str(key) if isinstance(key, date) else key


def _metrics(row: "SummaryRow") -> Metrics:
    metrics = Metrics(revenue=row["revenue"], cost=row["cost"])
    metrics.counts.update({name: row[name] for name in COLUMN_OF_TYPE.values()})
    return metrics


def _row_differences(where: str, counted: Metrics, row: "SummaryRow | None") -> Iterator[str]:
    told = Metrics() if row is None else _metrics(row)
    yield from _differences(where, counted, told, names=("events", "summary"))
    if row is None:
        return
    for name, expected in rates(counted).items():
        if row[name] != expected:
            yield f"{where}, {name}: {expected} by events, {row[name]} by summary"


def _differences(
    where: str, left: Metrics, right: Metrics, *, names: tuple[str, str]
) -> Iterator[str]:
    for column, (one, other) in _pairs(left, right).items():
        if one != other:
            yield f"{where}, {column}: {one} by {names[0]}, {other} by {names[1]}"


def _pairs(left: Metrics, right: Metrics) -> Mapping[str, tuple[object, object]]:
    counts = {name: (left.counts[name], right.counts[name]) for name in COLUMN_OF_TYPE.values()}
    money = {"revenue": (left.revenue, right.revenue), "cost": (left.cost, right.cost)}
    return {**counts, **money}
