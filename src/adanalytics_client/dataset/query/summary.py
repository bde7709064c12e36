"""A summary of a dataset by any field: the columns of the service's own, from its traffic.

How events count depends on their vocabulary:

1. Events have a type that a summary counts: each is counted in the column that is named after it.
2. Events are counters: the sums of the fields that are named as columns of a summary.
3. Neither: the events are counted, as `events`.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from adanalytics_client._json.fields import (
    COLUMN_OF_TYPE,
    EVENT_KINDS,
    ID_OF,
    FieldNames,
    GroupBy,
    column_of_type,
)
from adanalytics_client._json.rates import RATE_DECIMALS, RATES
from adanalytics_client._json.types import Base, Types
from adanalytics_client.dataset.hours.totals import AMOUNTS
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.models import Summary, SummaryRow

from .names import literal

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement and returns its rows."""

# What people call a field: by itself, or without the end of its name.
_ENDS = ("", "_id", "_type", "_name")
_OURS = {"day": "date", "date": "date", "hour": "hour", "partner": "partner"}
MOST_GROUPS = 250_000
"""More groups would need gigabytes."""
_AS_TEXT: Collection[Base] = ("time", "epoch", "pairs")


class EventSource(NamedTuple):
    """The events of a dataset as a SELECT, and the names in it.

    Attributes:
        select: the SELECT of its traffic.
        columns: the fields of its events and their types.
        names: the service's names of documented fields.
        quoted: the SQL names of its fields, and of `date`, `hour` and `currency`, by their names.
        labels: the name of each id, which is a text, by the group of a summary.
    """

    select: str
    columns: Types
    names: FieldNames
    quoted: Mapping[str, str]
    labels: Mapping[GroupBy, Mapping[str, str]]

    def group_of(self, field: str) -> GroupBy | None:
        """Return the group of a summary by a field, if names of its ids are known."""
        part = self.names.documented(field)
        return next((g for g in self.labels if self.labels[g] and ID_OF[g] == part), None)


def find_field(word: str, source: EventSource) -> str | None:
    """Return the field or column of ours that a word means, such as `creative` or `day`.

    Examples:
        >>> source = EventSource("", {"creative_id": TEXT}, FieldNames(), {}, {})
        >>> find_field("creative", source), find_field("day", source)
        ('creative_id', 'date')
    """
    if word in source.columns:
        return word
    name = word.replace("-", "_").casefold()
    if name in _OURS:
        return _OURS[name]
    # People say `creative`, and the field is creative_id or creative_name.
    for end in _ENDS:
        part = f"{name}{end}"
        sent = source.names.sent(part, source.columns) if part in EVENT_KINDS else None
        sent = sent or next((own for own in source.columns if own.casefold() == part), None)
        if sent is not None:
            return sent
    return None


def summarize(
    source: EventSource,
    field: str,
    first: date,
    last: date,
    ask: Ask,
    *,
    group: GroupBy | None = None,
) -> list[Summary]:
    """Return a summary by a field, one for each currency, because amounts of several never add up.

    Args:
        source: the events.
        field: the field or column of ours to group by.
        first: the first day.
        last: the last day.
        ask: runs a statement.
        group: the group of the service's own summary whose ids these are, to add their names.

    Raises:
        ConfigurationError: for a field that is a figure itself, or has too many values.
    """
    figures = figures_of(source, first, last, ask)
    if field in figures:
        raise ConfigurationError(
            f"{field!r} is a figure, not a group.", remedy="Name a field such as country."
        )
    # Another dataset of the query may have the field.
    by, currency = source.quoted.get(field, "NULL"), source.quoted["currency"]
    if field in source.columns and source.columns[field].base in _AS_TEXT:
        by = f"CAST({by} AS VARCHAR)"
    # Where no event has the field, the sum is 0, as in a summary of the service.
    sums = ", ".join(f"coalesce({figure}, 0)" for figure in figures.values())
    rows = ask(
        f"SELECT {currency} AS c, {by} AS k, {sums} FROM ({source.select}) "  # noqa: S608  # quoted
        f"WHERE {_days(source, first, last)} GROUP BY ALL "
        f"ORDER BY c NULLS LAST, k NULLS LAST LIMIT {MOST_GROUPS + 1}"
    )
    if len(rows) > MOST_GROUPS:
        raise ConfigurationError(
            f"{field!r} has more than {MOST_GROUPS:,} values.",
            remedy="Take fewer days, or query the dataset in SQL.",
        )

    def key_of(value: Any) -> dict[str, Any]:  # noqa: ANN401  # of any column
        if group is None:
            return {field: value}
        label = source.labels.get(group, {}).get(str(value))
        return {ID_OF[group]: value, f"{group}_name": label}

    summaries = []
    for code in dict.fromkeys(row[0] for row in rows) or [None]:
        groups = [
            {**key_of(value), **dict(zip(figures, values, strict=True))}
            for label, value, *values in rows
            if label == code
        ]
        totals = {name: sum(row[name] for row in groups) for name in figures}
        summaries.append(
            Summary(
                rows=[SummaryRow.model_validate(_with_rates(row)) for row in groups],
                totals=SummaryRow.model_validate(_with_rates(totals)) if groups else None,
                currency=code,
                start_date=first,
                end_date=last,
                group_by=group or field,
            )
        )
    return summaries


def figures_of(source: EventSource, first: date, last: date, ask: Ask) -> dict[str, str]:
    """Return the counts and amounts of a group, each as an expression."""
    columns, names = source.columns, source.names
    figures = {}
    of_type = names.sent("event_type", columns)
    # Services write types in their own way, such as AdRequest: first those that occur, then a
    # filter for each column.
    if of_type is not None:
        kind = f"CAST({source.quoted[of_type]} AS VARCHAR)"
        rows = ask(
            f"SELECT DISTINCT {kind} FROM ({source.select}) WHERE {_days(source, first, last)}"  # noqa: S608  # as above
        )
        texts = defaultdict[str, list[str]](lambda: ["NULL"])
        for (text,) in rows:
            if column := column_of_type(text):
                texts[column].append(literal(text))
        # Other types may be those of lines with counters.
        if texts or not rows:
            figures = {
                column: f"count(*) FILTER (WHERE {kind} IN ({', '.join(texts[column])}))"
                for column in COLUMN_OF_TYPE.values()
            }
    # Events with types are counted; only events without one may be counters themselves.
    for name in (*(() if figures else COLUMN_OF_TYPE.values()), *AMOUNTS):
        sent = names.sent(name, columns)
        if sent is not None and columns[sent].base in {"number", "bit", "flag"}:
            value = source.quoted[sent]
            value = value if columns[sent].base == "number" else f"CAST({value} AS INT)"
            figures[name] = f"sum({value})"
    # Neither types nor counters are known: at least how many events there are.
    if not figures.keys() & {*COLUMN_OF_TYPE.values()}:
        figures = {"events": "count(*)", **figures}
    return figures


def _with_rates(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with profit, rates and prices, where it has what they divide."""
    full = dict(row)
    if full.keys() >= {*AMOUNTS}:
        full["profit"] = full["revenue"] - full["cost"]
    for name, rate in RATES.items():
        if {rate.numerator, rate.denominator} <= full.keys():
            above, below = full[rate.numerator], full[rate.denominator]
            full[name] = (
                _rounded(Fraction(above) * rate.factor / Fraction(below)) if below else None
            )
    return full


def _rounded(rate: Fraction) -> Decimal:
    # Of a fraction, round() goes half to even exactly.
    return Decimal(round(rate * 10**RATE_DECIMALS)).scaleb(-RATE_DECIMALS)


def _days(source: EventSource, first: date, last: date) -> str:
    return f"{source.quoted['date']} BETWEEN DATE '{first}' AND DATE '{last}'"
