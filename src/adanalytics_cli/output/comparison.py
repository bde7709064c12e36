"""Two summaries side by side: a row for each group and metric, with the change between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from adanalytics_cli.console.table_view import Amount, Cell, Column, Total, plain, thousands
from adanalytics_cli.console.table_view import percent as percent_of
from adanalytics_cli.core.periods import days_of, span
from adanalytics_client import ProtocolError, SummaryRow
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.columns import GROUP_COLUMNS

from .formats import TABLE, Format
from .row_output import Listing
from .summary_output import (
    EVENTS,
    MONEY,
    PARTNER,
    RATIOS,
    SUMS,
    Answer,
    Order,
    View,
    about_answers,
    field_names,
    key_columns,
    labelled,
    name_column,
    summary_columns,
    table_note,
)

VALUES = ("before", "after", "change", "percent")
"""The columns of a comparison."""

K = TypeVar("K")
_METRICS = tuple(name for name in SummaryRow.model_fields if name not in GROUP_COLUMNS)
# Few enough for one screen.
_OF_GROUPS = ("impressions", "revenue")
# Enough digits for every difference of two amounts.
_EXACT = Context(prec=400)

Number = int | Decimal
Row = dict[str, object]


class Pair(NamedTuple):
    """One group in both periods.

    A period without events of the group has an empty row; None is a day that one period does not
    have, because the other is longer.
    """

    key: Mapping[str, object]
    before: Mapping[str, object] | None
    after: Mapping[str, object] | None

    def values(self, metric: str) -> dict[str, Number | None]:
        """Return before, after, change, and the change in percent of the amount before."""
        before = _value(self.before, metric, self.after)
        after = _value(self.after, metric, self.before)
        change = None
        percent = None
        if before is not None and after is not None:
            difference = _EXACT.subtract(Decimal(after), Decimal(before))
            change = int(difference) if isinstance(after, int) else difference
            if before:
                exact = _exact(self.before, metric, before)
                change_of_rate = _EXACT.subtract(_exact(self.after, metric, after), exact)
                part = _EXACT.divide(change_of_rate, exact.copy_abs())
                percent = Decimal(format(part.scaleb(2), "z.2f"))
        return dict(zip(VALUES, (before, after, change, percent), strict=True))

    def per_day(self, days: tuple[int, int]) -> "Pair":
        """Return the sums of both periods divided by their numbers of days."""
        sides = [
            row
            and {
                name: _EXACT.divide(Decimal(value), days_of_row)
                for name, value in row.items()
                if name in SUMS and isinstance(value, int | Decimal)
            }
            for row, days_of_row in zip((self.before, self.after), days, strict=True)
        ]
        return Pair(self.key, *sides)


def _exact(row: Mapping[str, object] | None, metric: str, value: Number) -> Decimal:
    """Return a value, a rate without its rounding if numerator and denominator explain it."""
    above, below, factor = RATIOS.get(metric, Total())
    numerator, denominator = ((row or {}).get(name) for name in (above, below))
    # A service of its own may have other metrics under these names.
    if not (isinstance(numerator, Number) and isinstance(denominator, Number) and denominator):
        return Decimal(value)
    ratio = _EXACT.divide(Decimal(numerator) * factor, Decimal(denominator))
    # More digits than the service states, if they are those of its own rate.
    is_same = ratio.quantize(Decimal(value), context=_EXACT) == value
    return ratio if is_same else Decimal(value)


def _value(
    row: Mapping[str, object] | None, metric: str, other_row: Mapping[str, object] | None
) -> Number | None:
    is_empty = row == {} and metric in SUMS
    value = ((other_row if is_empty else row) or {}).get(metric)
    if not isinstance(value, int | Decimal):
        return None
    # Zero, with the digits of the other amount.
    return value * 0 if is_empty else value


class Comparison(NamedTuple):
    """The summaries of one partner for two periods."""

    before: Answer
    after: Answer
    view: View

    @property
    def _answers(self) -> tuple[Answer, Answer]:
        return self.before, self.after

    def file_rows(self, form: Format) -> Sequence[Mapping[str, object]]:
        """Return the rows of a file: key, metric, values and what they are about."""
        names = field_names(self._answers)
        metrics = self._metrics([name for name in (*_METRICS, EVENTS) if name in names])
        facts = self.after.facts() | {
            "before_start_date": self.before.first,
            "before_end_date": self.before.last,
        }
        return [
            {"partner": facts["partner"], **pair.key, "metric": metric + "_per_day" * per_day}
            | self._values(metric, side, per_day, form)
            | facts
            for pair in self._sorted(metrics)
            for metric, side, per_day in self._lines(pair, metrics)
        ]

    def table_rows(self) -> list[Row]:
        """Return the rows of a table, whose values are text; with groups, the totals come last."""
        group_by = self.view.group_by
        usual = _OF_GROUPS if group_by else [column.key for column in summary_columns(None)]
        if EVENTS in field_names(self._answers):
            usual = [EVENTS, "revenue"]
        metrics = self._metrics(usual)
        pairs = self._sorted(metrics)
        totals = [answer.summary.totals for answer in self._answers]
        # Totals of an unknown shape are kept by the client as they came.
        if group_by and pairs and all(isinstance(total, BaseModel) for total in totals):
            totals_of_sides = (dict(total or ()) for total in totals)
            pairs.append(Pair({name_column(group_by): "total"}, *totals_of_sides))
        return [
            self.after.facts() | labelled(pair.key, group_by) | self._shown(*line)
            for pair in pairs
            for line in self._lines(pair, metrics)
        ]

    def _metrics(self, usual: Sequence[str]) -> list[str]:
        keys = (column.key for column in key_columns(self.view.group_by))
        facts = {*GROUP_COLUMNS, *keys, *self.after.facts()}
        return [name for name in self.view.names if name not in facts] or [*usual]

    def _lines(self, pair: Pair, metrics: Sequence[str]) -> Iterator[tuple[str, Pair, bool]]:
        """Yield each metric with its pair, and again per day where the periods differ in length."""
        average = pair.per_day(self.lengths) if self.are_averaged else None
        for metric in metrics:
            yield metric, pair, False
            if average and metric in SUMS:
                yield metric, average, True

    @property
    def lengths(self) -> tuple[int, int]:
        """The numbers of days before and after."""
        before, after = ((answer.last - answer.first).days + 1 for answer in self._answers)
        return before, after

    @property
    def are_averaged(self) -> bool:
        """Whether sums are also shown per day; rows by day have a day on either side."""
        return len({*self.lengths}) > 1 and self.view.group_by != "day"

    def _values(self, metric: str, pair: Pair, per_day: bool, form: Format) -> Row:
        """Return the values of a metric; money is text where a number may be read as a float."""
        values: Row = {**pair.values(metric)}
        is_money, (column,) = metric in MONEY, summary_columns(None, [metric])
        for name in VALUES[:3]:
            value = values[name]
            # An average has no exact digits.
            if per_day and isinstance(value, Decimal):
                value = Decimal(format(value, "z.9f" if is_money else "z.2f"))
            if is_money:
                value = self.after.money(value, self.view.digits, form)
            elif form.is_typed:
                value = Cell(value, Amount(2) if per_day else column.show)
            values[name] = value
        if form.is_typed and isinstance(percent := values["percent"], Decimal):
            values["percent"] = Cell(percent.scaleb(-2), percent_of)
        return values

    def _shown(self, metric: str, pair: Pair, per_day: bool) -> Row:
        (column,) = summary_columns(None, [metric], is_rounded=self.view.rounded)
        if per_day:
            column = column._replace(heading=f"{column.title} per day", show=thousands)
        values = self._values(metric, pair, per_day, TABLE)
        texts = {name: column.show(value) for name, value in values.items()}
        change, percent = values["change"], values["percent"]
        if isinstance(change, int | Decimal) and change > 0:
            texts["change"] = f"+{texts['change']}"
        if column.show is percent_of:
            # Points, as the change of 2 % to 3 % is not 1 %.
            texts["change"] = texts["change"].replace("%", "pp")
        sign = "+" if percent else ""
        texts["percent"] = plain(None) if percent is None else f"{percent:{sign}} %"
        return {"metric": column.title, **texts}

    def _sorted(self, metrics: Sequence[str]) -> list[Pair]:
        """Return the groups in the order of the service, or by one column of what is after."""

        def value_of(pair: Pair, name: str) -> object:
            if name in VALUES:
                return pair.values(metrics[0])[name]
            return pair.key.get(name, pair.values(name)["after"])

        order = self.view.order or (Order("revenue") if self.view.top else None)
        pairs = [*self.pairs()]
        return order.sort(pairs, value_of)[: self.view.top] if order else pairs

    def pairs(self) -> Iterator[Pair]:
        """Yield the groups in the order of the service."""
        if self.view.group_by == "day":
            return self._days()
        if self.view.group_by:
            # An id tells groups apart whose names are the same.
            keys = [column.key for column in reversed(key_columns(self.view.group_by))]
            return _match(keys, *(map(dict, answer.summary.rows) for answer in self._answers))
        rows = (answer.summary.rows for answer in self._answers)
        return iter([Pair({}, *(dict(pair[0]) if pair else {} for pair in rows))])

    def _days(self) -> Iterator[Pair]:
        """Yield the days by their place: the first day of a period beside that of the other."""
        sides = []
        for answer in self._answers:
            # A service may send anything as a day, such as "(other)".
            rows = _by_group(
                (row.date, dict(row)) for row in answer.summary.rows if isinstance(row.date, date)
            )
            days = days_of(answer.first, answer.last)
            sides.append([(day, rows.get(day, {})) for day in days])
        # By place: months of other lengths have no common dates.
        for (before_day, before), (day, after) in zip_longest(*sides, fillvalue=(None, None)):
            if before or after:
                yield Pair({"date": day, "before_date": before_day}, before, after)
        rest = (
            [dict(row) for row in answer.summary.rows if not isinstance(row.date, date)]
            for answer in self._answers
        )
        yield from _match(["date"], *rest)


def _match(keys: Sequence[str], *sides: Iterable[Row]) -> Iterator[Pair]:
    """Yield the groups of both periods by the first key that they have, those of before last."""

    def key_of(row: Row) -> tuple[str, ...]:
        return next(((key, str(row[key])) for key in keys if row.get(key) is not None), ())

    before, after = (_by_group((key_of(row), row) for row in rows) for rows in sides)
    for group in dict.fromkeys([*after, *before]):
        row = after.get(group) or before[group]
        names = {key: row.get(key) for key in keys}
        yield Pair(names, before.get(group, {}), after.get(group, {}))


def _by_group(pairs: Iterable[tuple[K, Row]]) -> dict[K, Row]:
    """Return rows by what names their group."""
    rows = [*pairs]
    by_group = dict(rows)
    if len(by_group) < len(rows):
        raise ProtocolError(
            "The rows of the summary cannot be compared, because some have the same group, or none "
            "in a column that is known.",
            remedy="Leave out --compare: csv has the rows with all columns.",
        )
    return by_group


def list_changes(
    before: Sequence[Answer], after: Sequence[Answer], view: View, form: Format, omission: str
) -> Listing:
    """Return the rows of each partner that compare the two periods; the note says what is not."""
    comparisons = [Comparison(*pair, view) for pair in zip(before, after, strict=True)]
    is_several = len(after) > 1
    # On a narrow terminal what can be worked out from the others leaves first.
    values = [
        Column(name, to_the_right=True, rank=rank)
        for name, rank in zip(VALUES, (2, 1, 4, 3), strict=True)
    ]
    if form.is_table:
        key = summary_columns(view.group_by)[:1] if view.group_by else []
        key += [Column("before_date", heading="before date")] if view.group_by == "day" else []
        columns = [
            *(PARTNER if is_several else []),
            *key,
            Column("metric", rank=0),
            *values,
        ]
        rows = [row for comparison in comparisons for row in comparison.table_rows()]
        note = f"{table_note(after, view)} Before is {span(before[0].first, before[0].last)}."
        if comparisons[0].are_averaged:
            days_before, days = comparisons[0].lengths
            note += f" It has {counted(days_before, 'day')}, not {days}: see the rows per day."
        note += f" {omission}" if omission else ""
        groups = sum(len([*comparison.pairs()]) for comparison in comparisons)
        if view.top and groups > view.top * len(comparisons):
            note += f" {view.top * len(comparisons)} of {groups} groups."
        return Listing(rows, columns, note)
    lines = [row for comparison in comparisons for row in comparison.file_rows(form)]
    if not is_several:
        lines = [{name: row[name] for name in row if name != "partner"} for row in lines]
    facts = {
        **about_answers(after),
        "first day before": before[0].first,
        "last day before": before[0].last,
    }
    return Listing(lines, [Column("metric"), *values], "", facts)
