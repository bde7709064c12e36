"""A summary as plain rows, and as the columns that people read first."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic import BaseModel

from adanalytics_cli.console.table_view import Column, count, percent

if TYPE_CHECKING:
    from adanalytics_client import Summary, SummaryRow

_KEYS = {
    None: [],
    "day": [Column("date", "date")],
    "campaign": [
        Column("campaign_name", "campaign"),
        Column("campaign_id", "id", to_the_right=True),
    ],
    "demand_tag": [
        Column("demand_tag_name", "demand tag"),
        Column("demand_tag_id", "id", to_the_right=True),
    ],
}
# In the order in which they are given up on a narrow terminal, last first.
_METRICS = [
    Column("impressions", "impressions", count, to_the_right=True),
    Column("clicks", "clicks", count, to_the_right=True),
    Column("ctr", "CTR", percent, to_the_right=True),
    Column("revenue", "revenue", to_the_right=True),
    Column("ecpm", "eCPM", to_the_right=True),
    Column("ad_requests", "requests", count, to_the_right=True),
    Column("fill_rate", "fill rate", percent, to_the_right=True),
    Column("vcr", "VCR", percent, to_the_right=True),
    Column("cost", "cost", to_the_right=True),
    Column("profit", "profit", to_the_right=True),
]


# Text on the wire, so that no reader takes it for a float; fractions are numbers there.
_MONEY = frozenset({"revenue", "cost", "profit", "ecpm", "rpm", "cpm_cost"})


def summary_columns(group_by: str | None) -> list[Column]:
    """The columns of a table: what identifies a row, then the metrics by importance."""
    return [*_KEYS[group_by], *_METRICS]


def wire_columns(group_by: str | None) -> list[Column]:
    """The documented columns in the order of the service, for a file without a single row."""
    from adanalytics_client import SummaryRow

    keys = {column.key for column in _KEYS[group_by]}
    others = {column.key for each in _KEYS.values() for column in each} - keys
    return [Column(name, name) for name in SummaryRow.model_fields if name not in others]


def summary_rows(summary: "Summary") -> list[dict[str, object]]:
    """Each row with the fields that were sent, in their order; money as exact text."""
    return [_as_sent(row) for row in summary.rows]


def _as_sent(row: "SummaryRow") -> dict[str, object]:
    fields = row.model_dump(exclude_unset=True)
    return {name: _on_the_wire(name, value) for name, value in fields.items()}


def _on_the_wire(name: str, value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    return format(value, "f") if name in _MONEY and isinstance(value, Decimal) else value


def name_column(group_by: str) -> str:
    """The field that names a row of this grouping to people."""
    return _KEYS[group_by][0].key


def named_rows(summary: "Summary", group_by: str) -> list[Mapping[str, object]]:
    """The rows of a grouping, with words in the place of a name that is missing."""
    name = name_column(group_by)
    rows = (row.model_dump(exclude_unset=True) for row in summary.rows)
    return [
        row if row.get(name) is not None else {**row, name: _nameless(row, group_by)}
        for row in rows
    ]


def table_rows(summary: "Summary", group_by: str | None) -> list[Mapping[str, object]]:
    """The rows for a table; with groups, a last row of totals where the service sent them."""
    if group_by is None:
        return [row.model_dump(exclude_unset=True) for row in summary.rows]
    rows, name = named_rows(summary, group_by), name_column(group_by)
    # The service may send its totals in another shape, which the client keeps as it came.
    if isinstance(summary.totals, BaseModel) and rows:
        rows.append({**summary.totals.model_dump(exclude_unset=True), name: "total"})
    return rows


def table_note(summary: "Summary") -> str:
    """The units, which a table has no room to repeat."""
    money = f"Money in {summary.currency}, days" if summary.currency else "Days"
    return f"{money} in UTC."


def _nameless(row: Mapping[str, object], group_by: str) -> str:
    return "(no name)" if row.get(f"{group_by}_id") is not None else "(none)"
