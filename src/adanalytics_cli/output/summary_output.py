"""A summary as plain rows, and as the columns of a table."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import click
from pydantic import BaseModel

from adanalytics_cli.console.table_view import (
    Amount,
    Cell,
    Column,
    Total,
    count,
    percent,
    thousands,
)
from adanalytics_cli.core.command import near_or_known
from adanalytics_cli.core.periods import span
from adanalytics_client import SummaryRow
from adanalytics_client._json.exact import json_text
from adanalytics_client._json.fields import COLUMN_OF_TYPE, ID_OF
from adanalytics_client._json.rates import RATES

from .formats import TABLE, Format
from .row_output import Listing, Row, facts_about

if TYPE_CHECKING:
    from adanalytics_client import Summary

_KEYS: dict[str | None, list[Column]] = {
    None: [],
    "day": [Column("date", rank=0)],
    **{
        group: [
            Column(f"{group}_name", heading=group.replace("_", " "), rank=0),
            Column(id_field, heading="id", to_the_right=True, rank=2),
        ]
        for group, id_field in ID_OF.items()
    },
}
# On a narrow terminal the last ones leave first, and money stays.
_METRICS = [
    Column("impressions", count),
    Column("clicks", count),
    Column("ctr", percent, "CTR"),
    Column("revenue", to_the_right=True, rank=0),
    Column("ecpm", heading="eCPM", to_the_right=True, rank=0),
    Column("requests", count),
    Column("fill_rate", percent, "fill rate"),
    Column("vcr", percent, "VCR"),
    Column("cost", to_the_right=True, rank=0),
    Column("profit", to_the_right=True, rank=0),
]
_FRACTIONS = frozenset({"completion_rate_started", "error_rate", "margin"})
# The usual definitions: the numerator, the denominator, and the factor of the ratio. A service may
# have others, so they count only where they explain the stated value.
RATIOS = {name: Total(*rate) for name, rate in RATES.items()}
EVENTS = "events"
"""The number of events, in a report about events that no column of a summary counts."""
SUMS = frozenset({EVENTS, *COLUMN_OF_TYPE.values(), "revenue", "cost", "profit"})
"""Of these a group without events has 0; it has no rates and no prices."""
_TOTALS = {**dict.fromkeys(SUMS, Total()), **RATIOS}
# Text on the wire, so that no reader takes it for a float; fractions are numbers there.
MONEY = frozenset({"revenue", "cost", "profit", "ecpm", "rpm", "cpm_cost"})
PARTNER = [Column("partner"), Column("currency", rank=0)]
"""The first columns of several partners, whose money is never added."""

# The decimal digits of a currency, where they are not two. ISO 4217, list one of 2026-01-01:
# https://www.six-group.com/en/products-services/financial-information/data-standards.html
_DIGITS = {
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF"), 0),
    **dict.fromkeys(("UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
}

_FACTS = ("currency", "start_date", "end_date")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?%?", re.ASCII)
# Of money: a number, or as many as its currency has.
Digits = int | Literal["currency"]
T = TypeVar("T")


class Answer(NamedTuple):
    """The summary of one partner, the days that it was asked for, and their time zone."""

    partner: str
    summary: "Summary"
    first: date
    last: date
    zone: str

    @property
    def currency(self) -> str:
        """Return the unit of money as text; empty if the service states none."""
        value: object = self.summary.currency
        return value if isinstance(value, str) else json_text(value) if value else ""

    def facts(self) -> dict[str, object]:
        """Return what each row in a file says besides the metrics."""
        return {
            "partner": self.partner,
            "currency": self.summary.currency,
            "start_date": self.first,
            "end_date": self.last,
        }

    def decimals(self, digits: Digits) -> int:
        """Return how many digits of money to show."""
        usual = _DIGITS.get(self.currency, 2)
        return usual if digits == "currency" else digits

    def money(self, amount: object, digits: Digits | None, form: Format) -> object:
        """Round an amount half to even, without -0.00; a sheet only shows it so.

        For programs it is text.
        """
        if not isinstance(amount, Decimal):
            return amount
        if form.is_typed:
            return Cell(amount, Amount(self.decimals(digits or "currency")))
        if digits is not None:
            # Not quantize, which has no more digits than the context.
            amount = Decimal(format(amount, f"z.{self.decimals(digits)}f"))
        return format(amount, "f") if form.has_text_amounts else amount


class Order(NamedTuple):
    """The column that rows are sorted by: numbers descend, text and days rise, or `turned`.

    A number as text is a number, unless the column `names_group`.
    """

    name: str
    turned: bool = False
    names_group: bool = False

    def sort(self, rows: Iterable[T], value_of: Callable[[T, str], object]) -> list[T]:
        """Return the rows in this order, those without a value last.

        Equal ones stay in the order of the service.
        """
        values = [(row, value_of(row, self.name)) for row in rows]
        present = [pair for pair in values if pair[1] is not None]
        present.sort(key=lambda pair: self._rank(pair[1]), reverse=self.turned)
        return [row for row, _ in [*present, *(pair for pair in values if pair[1] is None)]]

    def _rank(self, value: object) -> tuple[int, Decimal, str]:
        if isinstance(value, str) and not self.names_group and _NUMBER.fullmatch(value):
            value = Decimal(value.removesuffix("%"))
        if isinstance(value, int | Decimal):
            # Not `-value`, which would round to the digits of the context.
            return 0, Decimal(value).copy_negate(), ""
        return 1, Decimal(0), str(value)


class View(NamedTuple):
    """What is shown of a summary: the columns `names`, by default all or the usual ones.

    Of its rows the first `top` in `order` are shown, and of its money so many `digits`: by default
    all. A workbook shows so many, and keeps all.
    """

    group_by: str | None
    names: Sequence[str] = ()
    order: Order | None = None
    top: int | None = None
    digits: Digits | None = None
    today: date = date.max

    @property
    def rounded(self) -> bool:
        return self.digits is not None


def list_rows(answers: Sequence[Answer], view: View, form: Format) -> Listing:
    """Return the rows of each partner; those of a table end in the totals of the service."""
    is_several, all_rows = len(answers) > 1, sum(len(part.summary.rows) for part in answers)
    answers = [in_order(answer, view, gaps=not form.has_text_amounts) for answer in answers]
    document = about_answers(answers)
    if form.is_table:
        columns = summary_columns(view.group_by, view.names, is_rounded=view.rounded)
        rows = [row for answer in answers for row in table_rows(answer, view)]
        note = table_note(answers, view, all_rows)
        if names := [] if view.names else _unusual(answers, columns):
            note += f" Not shown (see --columns): {', '.join(names)}."
        return Listing(rows, [*(PARTNER if is_several else []), *columns], note, document)
    first = (
        [] if not is_several else [column.key for column in PARTNER] if view.names else ["partner"]
    )
    rows, key = [], [] if view.group_by in _KEYS else [str(view.group_by)]
    for answer in answers:
        facts = answer.facts()
        for row in _fields(answer.summary.rows, answer, view, form):
            columns_of_row = [*first, *(view.names or [*key, *row, *_FACTS])]
            rows.append({name: (facts | row).get(name) for name in columns_of_row})
    names = [*first, *(view.names or [*key, *_documented(view.group_by), *_FACTS])]
    columns = summary_columns(view.group_by, list(dict.fromkeys(names)))
    # Amounts of several partners may be of several currencies, so nothing is added up.
    totals = {} if is_several else {name: _TOTALS[name] for name in names if name in _TOTALS}
    return Listing(rows, columns, "", document, totals)


def in_order(answer: Answer, view: View, *, gaps: bool) -> Answer:
    """Return the summary in the order of the view; one by day, for people, with its gaps."""
    summary = answer.summary
    if view.order or view.top:
        order = view.order or Order("revenue")
        rows = order.sort(summary.rows, lambda row, name: dict(row).get(name))[: view.top]
        summary = summary.model_copy(update={"rows": rows})
    # People miss a day that is not there; programs expect the service's rows.
    elif view.group_by == "day" and gaps:
        summary = fill_gaps(summary, min(answer.last, view.today))
    return answer._replace(summary=summary)


def summary_columns(
    group_by: str | None, names: Sequence[str] = (), *, is_rounded: bool = False
) -> list[Column]:
    """Return the columns `names` of a table; by default the keys of a row and the main metrics."""
    usual = [*key_columns(group_by), *_METRICS]
    columns_by_key = {column.key: column for column in usual}
    columns = [columns_by_key.get(name) or _column(name) for name in names] or usual
    if not is_rounded:
        return columns
    return [
        column._replace(show=thousands) if column.key in MONEY else column for column in columns
    ]


def key_columns(group_by: str | None) -> list[Column]:
    """Return the columns that name a group; of a report that is the field itself."""
    return _KEYS.get(group_by) or ([Column(group_by, rank=0)] if group_by else [])


def field_names(answers: Iterable[Answer]) -> set[str]:
    """Return the fields that any row has."""
    rows = chain.from_iterable(answer.summary.rows for answer in answers)
    return {name for row in rows for name in row.model_fields_set}


def usual_columns(answers: Sequence[Answer], group_by: str) -> list[str]:
    """Return the columns of a table, of the usual ones only those that the rows have."""
    names = field_names(answers)
    columns = [*key_columns(group_by), Column(EVENTS), *_METRICS]
    return [column.key for column in columns if column.key in names]


def _unusual(answers: Sequence[Answer], columns: Iterable[Column]) -> list[str]:
    """Return the columns that nobody expects in these rows, and that a table does not show."""
    usual = {*SummaryRow.model_fields, *_FACTS, *(column.key for column in columns)}
    return sorted(field_names(answers) - usual)


def _column(name: str) -> Column:
    return Column(name, percent if name in _FRACTIONS else count)


def _documented(group_by: str | None) -> list[str]:
    """Return the documented columns in the order of the service."""
    key_names = {column.key for key_column in _KEYS.values() for column in key_column}
    key_names -= {column.key for column in key_columns(group_by)}
    return [name for name in SummaryRow.model_fields if name not in key_names]


def find_names(
    summary: "Summary", group_by: str | None, words: Iterable[str], more_names: Iterable[str] = ()
) -> list[str]:
    """Return the columns that `words` name, each by its name or its heading, in any case.

    Raises click.UsageError for a column that is neither documented, nor in any row, nor one of the
    `more_names`.
    """
    row_names = [name for row in summary.rows for name in row.model_fields_set]
    keys = [column.key for column in key_columns(group_by)]
    documented = _documented(group_by)
    all_names = list(
        dict.fromkeys([*keys, *documented, *_FACTS, "partner", *more_names, *row_names])
    )
    # People type what the table shows above a column. A name that is exactly a field's wins.
    headings = {column.title.casefold(): column.key for column in summary_columns(group_by)}
    names = (
        headings
        | {name.casefold(): name for name in all_names}
        | {name: name for name in all_names}
    )
    matches = []
    for word in words:
        name = names.get(word) or names.get(word.casefold())
        if name is None:
            hint = near_or_known(word, all_names, "columns")
            raise click.UsageError(f"The summary has no column '{word}'. {hint}")
        matches.append(name)
    return matches


def fill_gaps(summary: "Summary", last: date) -> "Summary":
    """Add a row for each day without data between the first row of a summary by day and `last`.

    A row of an unknown day may belong to any of them, so then nothing is filled in.
    """
    # A service may send anything as the day, such as "(other)".
    rows = {row.date: row for row in summary.rows if isinstance(row.date, date)}
    if not rows or len(rows) < len(summary.rows):
        return summary
    days = map(date.fromordinal, range(min(rows).toordinal(), last.toordinal() + 1))
    rows_by_day = {day: SummaryRow(date=day) for day in days} | rows
    return summary.model_copy(update={"rows": [rows_by_day[day] for day in sorted(rows_by_day)]})


def _fields(
    rows: Iterable[SummaryRow], answer: Answer, view: View, form: Format = TABLE
) -> list[dict[str, object]]:
    """Return what the service sent, its money as the view shows it."""
    fields = [row.model_dump(exclude_unset=True) for row in rows]
    for row in fields:
        row |= {name: answer.money(row[name], view.digits, form) for name in MONEY & row.keys()}
    return fields


def name_column(group_by: str) -> str:
    """Return the field that names a row of this grouping to people."""
    return key_columns(group_by)[0].key


def labelled(row: Row, group_by: str | None) -> dict[str, object]:
    """Return a row of a grouping with a label for a missing name: its id, which charts lack."""
    name, id_of = group_by and name_column(group_by), f"{group_by}_id"
    if not name or row.get(name) is not None or {name, id_of}.isdisjoint(row):
        return {**row}
    id_ = row.get(id_of)
    return {**row, name: "(none)" if id_ is None else str(id_)}


def table_rows(answer: Answer, view: View) -> list[dict[str, object]]:
    """Return the rows for a table; with groups, the totals that the service sent come last.

    Chosen columns without the one that would call it the total have no such row.
    """
    group_by, totals = view.group_by, answer.summary.totals
    fields = _fields(answer.summary.rows, answer, view)
    rows = [answer.facts() | labelled(row, group_by) for row in fields]
    name = group_by and name_column(group_by)
    # Totals of an unknown shape are kept by the client as they came.
    if name and isinstance(totals, BaseModel) and rows and name in (view.names or [name]):
        (total,) = _fields([totals], answer, view)
        rows.append(answer.facts() | total | {name: "total"})
    return rows


def table_note(
    answers: Sequence[Answer], view: View, all_rows: int = 0, metrics: Iterable[str] = MONEY
) -> str:
    """Tell the days, the unit of money if it is among the metrics, and how many rows are shown."""
    currency = answers[0].currency
    money = f", money in {currency}" if currency else ""
    if len(answers) > 1:
        money = ", money in each partner's currency"
    # A unit of money below a table without money would puzzle its reader.
    if MONEY.isdisjoint(metrics):
        money = ""
    elif view.rounded:
        money = f"{money or ', money'} rounded (see --round)"
    row_count = sum(len(answer.summary.rows) for answer in answers)
    # The service's own word wins.
    zones = dict.fromkeys(str(answer.summary.timezone or answer.zone) for answer in answers)
    note = f"{span(answers[0].first, answers[0].last)} in {' and '.join(zones)}{money}."
    return note + (f" {row_count} of {all_rows} rows." if row_count < all_rows else "")


def about_answers(answers: Sequence[Answer]) -> Row:
    currencies = [answer.currency for answer in answers]
    facts = facts_about((answer.partner for answer in answers), (answers[0].first, answers[0].last))
    return facts | {"currency": ", ".join(currencies)}
