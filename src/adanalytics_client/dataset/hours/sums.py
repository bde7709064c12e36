"""Add up the events of an Arrow table, whatever its columns are."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adanalytics_client._base.spelling import fold
from adanalytics_client._json.fields import (
    DOCUMENTED,
    EVENT_KINDS,
    SUMMARY_KINDS,
    FieldNames,
    Kind,
    column_of_type,
)

from .events import TEXT, Table, names_with_values
from .totals import OTHER, Figure, Totals

MOST_SUMS = 200
"""The most fields of an event that are added up, because each hour keeps its sums."""
MOST_CURRENCIES = 300
"""The most currencies of an hour that its record keeps; ISO 4217 has fewer."""

_SUMMARY_NAMES = frozenset(map(fold, SUMMARY_KINDS))
_MOST_INTEGER, _MOST_DIGITS = 2**63 - 1, 10**37


def totals_of(table: Table, names: FieldNames = DOCUMENTED) -> Totals:
    """Add up the events of a `pyarrow.Table` that are not filtered.

    Args:
        table: events with any columns.
        names: the names by which the service sends the documented fields.
    """
    columns = names_with_values(table)
    folds = {*map(fold, columns)}
    # A column of a former spelling has no values.
    fields = [part for part in table.schema if part.name in columns or fold(part.name) not in folds]
    summed = [*_summed(fields, names)]
    of_type, flag = (names.sent(part, columns) for part in ("event_type", "is_filtered"))
    currencies = _currencies(table, names)
    if flag is None or not pa.types.is_boolean(table[flag].type):
        totals = _add_up(table, summed, of_type, names)
        return replace(totals, unflagged=table.num_rows, currencies=currencies)
    flags = table[flag]
    # Only what is added up: the other columns are most of a table.
    table = table.select([*summed, *([of_type] if of_type else [])])
    # To fill nulls with a value of Python would import pandas.
    paid = table.filter(pc.or_kleene(pc.is_null(flags), pc.invert(flags)))
    filtered = table.filter(flags)
    return replace(
        _add_up(paid, summed, of_type, names),
        unflagged=flags.null_count,
        currencies=currencies,
        filtered=_add_up(filtered, summed, of_type, names) if len(filtered) else None,
    )


def _add_up(table: Table, summed: Sequence[str], of_type: str | None, names: FieldNames) -> Totals:
    counts = Counter[str]()
    if of_type is not None:
        for pair in pc.value_counts(table[of_type]).to_pylist():
            if pair["values"] is not None:
                column = column_of_type(pair["values"]) or OTHER
                counts[column] += pair["counts"]
    ends = {name: _ends(table[name]) for name in summed}
    sums = {name: _sum(table[name], ends[name]) for name in summed}
    ranges = {
        name: (least, most)
        for name, (least, most) in ends.items()
        # Only of fields whose meaning is not documented: the summary may state their average.
        if least is not None and most is not None and names.documented(name) is None
    }
    return Totals(table.num_rows, dict(counts), sums, ranges=ranges)


def _currencies(table: Table, names: FieldNames) -> tuple[str, ...] | None:
    """Return the texts in the field of the currency; None if they are too many for currencies."""
    field = names.sent("currency", names_with_values(table))
    if field is None:
        return ()
    if pa.types.is_nested(table[field].type):
        return None
    texts = {str(text) for text in pc.unique(table[field]).to_pylist() if text is not None}
    return tuple(sorted(texts)) if len(texts) <= MOST_CURRENCIES else None


def _summed(fields: Iterable["pa.Field"], names: FieldNames) -> Iterator[str]:
    """Yield the columns that a summary may add up: not what identifies or describes an event.

    Of more than `MOST_SUMS`, those with a documented name come first.
    """
    amounts = [
        column.name
        for column in fields
        if column.name != TEXT
        and not pa.types.is_null(column.type)
        and EVENT_KINDS.get(names.documented(column.name) or "", Kind.AMOUNT) is Kind.AMOUNT
    ]
    # A record must stay small: first the fields that a summary is known to have.
    figures = {name for name in amounts if names.documented(name) or fold(name) in _SUMMARY_NAMES}
    yield from islice(sorted(amounts, key=lambda name: name not in figures), MOST_SUMS)


def _ends(column: "pa.ChunkedArray") -> Sequence[Figure | None]:
    """Return the least and the most number of a column, if it has any."""
    if pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
        return [*pc.min_max(column).as_py().values()]
    return [None, None]


def _sum(column: "pa.ChunkedArray", ends: Sequence[Any]) -> Figure | None:
    """Return the exact sum of a column; None if it has other values than numbers."""
    is_integer, is_decimal = pa.types.is_integer(column.type), pa.types.is_decimal(column.type)
    if not (is_integer or is_decimal):
        # A column without a value has the type of text as long as nothing tells another.
        return 0 if column.null_count == len(column) else None
    # Arrow's sums do not tell when they overflow.
    most = max((abs(end) for end in ends if end is not None), default=0) * len(column)
    if is_integer and most > _MOST_INTEGER:
        column = column.cast(pa.decimal128(38, 0))
    elif is_decimal and most * 10**column.type.scale > _MOST_DIGITS:
        column = column.cast(pa.decimal256(76, column.type.scale))
    total = pc.sum(column).as_py() or 0
    return int(total) if is_integer else Decimal(total)
