"""A summary as plain rows, and as the columns of a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import click
from pydantic import BaseModel

from adanalytics_cli.console.table_view import Column, count, percent, rounded
from adanalytics_cli.core.command import near_or_known
from adanalytics_client import SummaryRow

if TYPE_CHECKING:
    from adanalytics_client import Summary

_KEYS = {
    None: [],
    "day": [Column("date", "date")],
    "campaign": [
        Column("campaign_name", "campaign"),
        Column("campaign_id", "id", to_the_right=True, rank=2),
    ],
    "demand_tag": [
        Column("demand_tag_name", "demand tag"),
        Column("demand_tag_id", "id", to_the_right=True, rank=2),
    ],
}
# On a narrow terminal the last ones leave first, and money stays.
_METRICS = [
    Column("impressions", "impressions", count, to_the_right=True),
    Column("clicks", "clicks", count, to_the_right=True),
    Column("ctr", "CTR", percent, to_the_right=True),
    Column("revenue", "revenue", to_the_right=True, rank=0),
    Column("ecpm", "eCPM", to_the_right=True, rank=0),
    Column("ad_requests", "requests", count, to_the_right=True),
    Column("fill_rate", "fill rate", percent, to_the_right=True),
    Column("vcr", "VCR", percent, to_the_right=True),
    Column("cost", "cost", to_the_right=True, rank=0),
    Column("profit", "profit", to_the_right=True, rank=0),
]
_FRACTIONS = frozenset({"completion_rate_started", "error_rate", "margin"})
# Text on the wire, so that no reader takes it for a float; fractions are numbers there.
_MONEY = frozenset({"revenue", "cost", "profit", "ecpm", "rpm", "cpm_cost"})


def summary_columns(
    group_by: str | None, names: Sequence[str] = (), *, digits: int | None = None
) -> list[Column]:
    """Return the columns `names` of a table; by default the keys of a row and the main metrics.

    `digits` is to how many money is rounded; None shows all of them.
    """
    usual = [*_KEYS[group_by], *_METRICS]
    known = {column.key: column for column in usual}
    columns = [known.get(name) or _column(name) for name in names] or usual
    if digits is None:
        return columns
    amount = rounded(digits)
    return [replace(each, show=amount) if each.key in _MONEY else each for each in columns]


def _column(name: str) -> Column:
    return Column(name, name, percent if name in _FRACTIONS else count, to_the_right=True)


def wire_columns(group_by: str | None) -> list[Column]:
    """Return the documented columns in the order of the service, for a file without rows."""
    keys = {column.key for column in _KEYS[group_by]}
    others = {column.key for each in _KEYS.values() for column in each} - keys
    return summary_columns(
        group_by, [name for name in SummaryRow.model_fields if name not in others]
    )


def find_names(summary: "Summary", group_by: str | None, words: Iterable[str]) -> list[str]:
    """Return the columns that `words` name, each by its name or its heading, in any case.

    Raises click.UsageError for a column that is neither documented nor in any row.
    """
    documented = [column.key for column in wire_columns(group_by)]
    sent = [name for row in summary.rows for name in row.model_fields_set]
    known = list(dict.fromkeys([*documented, *sent]))
    headings = {each.heading.casefold(): each.key for each in summary_columns(group_by)}
    names = headings | {name.casefold(): name for name in known} | {name: name for name in known}
    found = []
    for word in words:
        name = names.get(word) or names.get(word.casefold())
        if name is None:
            hint = near_or_known(word, known, "columns")
            raise click.UsageError(f"The summary has no column '{word}'. {hint}")
        found.append(name)
    return found


def fill_gaps(summary: "Summary", last: date) -> "Summary":
    """Add to a summary by day an empty row for each day without data after the first with data.

    A row of an unknown day may belong to any of them, so then nothing is filled in.
    """
    held = {row.date: row for row in summary.rows if row.date}
    if not held or len(held) < len(summary.rows):
        return summary
    days = map(date.fromordinal, range(min(held).toordinal(), last.toordinal() + 1))
    filled = {day: SummaryRow(date=day) for day in days} | held
    return summary.model_copy(update={"rows": [filled[day] for day in sorted(filled)]})


def sort_rows(summary: "Summary", name: str, top: int | None, *, turned: bool = False) -> "Summary":
    """Keep the first `top` rows by one column: numbers descending, text and days ascending.

    `turned` is the other way round. Rows without the value come last; equal ones stay in the order
    of the service.
    """

    def rank(row: SummaryRow) -> tuple[int, Decimal, str]:
        value = dict(row).get(name)
        if isinstance(value, int | Decimal):
            # Not `-value`, which would round to the digits of the context.
            return 0, Decimal(value).copy_negate(), ""
        return 1, Decimal(0), str(value)

    held = [row for row in summary.rows if dict(row).get(name) is not None]
    others = [row for row in summary.rows if dict(row).get(name) is None]
    rows = [*sorted(held, key=rank, reverse=turned), *others]
    return summary.model_copy(update={"rows": rows[:top]})


def summary_rows(summary: "Summary", names: Sequence[str]) -> list[dict[str, object]]:
    """Return each row with the fields `names`, by default those sent."""
    sent = (row.model_dump(exclude_unset=True) for row in summary.rows)
    return [{name: fields.get(name) for name in names or fields} for fields in sent]


def as_text(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return the rows as they are written for programs: days and money as exact text."""
    return [{name: _on_the_wire(name, value) for name, value in row.items()} for row in rows]


def _on_the_wire(name: str, value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    return format(value, "f") if name in _MONEY and isinstance(value, Decimal) else value


def name_column(group_by: str) -> str:
    """Return the field that names a row of this grouping to people."""
    return _KEYS[group_by][0].key


def named_rows(summary: "Summary", group_by: str) -> list[dict[str, object]]:
    """Return the rows of a grouping, with a label for a missing name."""
    name = name_column(group_by)
    rows = [row.model_dump(exclude_unset=True) for row in summary.rows]
    for row in rows:
        if row.get(name) is None:
            row[name] = "(no name)" if row.get(f"{group_by}_id") is not None else "(none)"
    return rows


def table_rows(
    summary: "Summary", group_by: str | None, names: Sequence[str] = ()
) -> list[dict[str, object]]:
    """Return the rows for a table; with groups, the totals that the service sent come last.

    Columns `names` without the one that would call it the total have no such row.
    """
    if group_by is None:
        return [row.model_dump(exclude_unset=True) for row in summary.rows]
    rows, name = named_rows(summary, group_by), name_column(group_by)
    # Totals of an unknown shape are kept by the client as they came.
    if isinstance(summary.totals, BaseModel) and rows and name in (names or [name]):
        rows.append({**summary.totals.model_dump(exclude_unset=True), name: "total"})
    return rows


def table_note(summary: "Summary", *, exact: bool = True, rows: int = 0) -> str:
    """Tell the units of the table, and how many of all `rows` are shown."""
    money = f"Money in {summary.currency}, " if summary.currency else ""
    if not exact:
        money = f"{money or 'Money '}rounded (see --exact), "
    shown = len(summary.rows)
    units = f"{money}days in UTC." if money else "Days in UTC."
    return units + (f" {shown} of {rows} rows." if shown < rows else "")
