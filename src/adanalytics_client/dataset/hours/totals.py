"""Counts and sums of events, and the figures of a summary with which they are compared."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact
from typing import Any

from adanalytics_client._base.spelling import fold
from adanalytics_client._json.columns import count_events
from adanalytics_client._json.exact import digits
from adanalytics_client._json.fields import COLUMN_OF_TYPE, EVENT_KINDS, GROUP_KINDS, Kind

Figure = int | Decimal
"""A count, or an exact amount."""

Figures = Mapping[str, Figure]
"""Counts and amounts by the name of their summary column."""

Range = tuple[Figure, Figure]
"""The least and the most of some values."""

OTHER = "other"
"""The key of events whose type is not a documented one, among the counts by type."""

# Enough for the sum of a billion amounts of 38 digits, wherever their points are.
EXACT = Context(prec=200, traps=[Inexact])


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures of events, without those that are known to be filtered.

    Attributes:
        events: the number of these events.
        counts: their number by type, under the name of the summary column that counts the type;
            an event without a type is in none.
        sums: the exact sum of each field that has numbers, by the service's name of the field; None
            if it also has other values. An event without the field adds nothing.
        unflagged: how many of these events do not state whether they are filtered.
        ranges: the least and the most value of each field in `sums` that is not documented, if an
            event has a value: a column of the summary between them may be an average.
        currencies: the currencies of all events, filtered ones included, in alphabetical order;
            None if they are not known. They are no figures.
        filtered: the figures of the filtered events, which a summary may count, too; None if there
            are none, or in records of earlier versions.
    """

    events: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    sums: Mapping[str, Figure | None] = field(default_factory=dict)
    unflagged: int = 0
    ranges: Mapping[str, Range] = field(default_factory=dict)
    currencies: tuple[str, ...] | None = field(default=None, compare=False)
    filtered: "Totals | None" = field(default=None, compare=False)

    @classmethod
    def sum(cls, parts: "Iterable[Totals | None]") -> "Totals | None":
        """Return the sum of all parts, or None if one of them is unknown."""
        events, unflagged, counts, sums = 0, 0, Counter[str](), dict[str, Figure | None]()
        ranges = dict[str, Range]()
        currencies: set[str] | None = set()
        filtered = list[Totals]()
        for part in parts:
            if part is None:
                return None
            filtered += [part.filtered] if part.filtered else []
            # An hour without events has none.
            if part != cls():
                is_sure = None not in (currencies, part.currencies)
                currencies = {*(currencies or ()), *(part.currencies or ())} if is_sure else None
            events += part.events
            unflagged += part.unflagged
            counts.update(part.counts)
            for name, value in part.sums.items():
                sums[name] = _added(sums.get(name, 0), value)
            for name, values in part.ranges.items():
                least, most = ranges.get(name, values)
                ranges[name] = min(least, values[0]), max(most, values[1])
        texts = None if currencies is None else tuple(sorted(currencies))
        filtered_totals = cls.sum(filtered) if filtered else None
        return cls(events, dict(counts), sums, unflagged, ranges, texts, filtered_totals)


def _added(one: Figure | None, other: Figure | None) -> Figure | None:
    if one is None or other is None:
        return None
    # Whole numbers never round; decimals are added in a context that refuses to.
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    return EXACT.add(Decimal(one), Decimal(other))


def figure_text(figure: Figure) -> str:
    """Write a figure for people, without the zeros at the end of a fraction.

    Examples:
        >>> figure_text(11940), figure_text(Decimal("146.020000000"))
        ('11,940', '146.02')
    """
    if isinstance(figure, int):
        return f"{figure:,}"
    # As `digits` does, an exponent that would make it absurdly long stays one.
    text = f"{figure:,f}" if "E" not in digits(figure) else str(figure)
    return text.rstrip("0").rstrip(".") if "." in text and "E" not in text else text


AMOUNTS = ("revenue", "cost")

ADDITIVE = (*COLUMN_OF_TYPE.values(), *AMOUNTS)
"""The documented columns of a summary that add up what events state."""

NOTHING: Figures = dict.fromkeys(ADDITIVE, 0)
"""The figures of a day without events."""

_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,40})?", re.ASCII)
# Columns that name a group, and fields that identify something: a sum of them means nothing.
_NO_FIGURES = {
    *map(fold, GROUP_KINDS),
    *(fold(name) for name, kind in EVENT_KINDS.items() if kind is not Kind.AMOUNT),
}


# Not the end of a word, as in `paid`.
_IDS = ("_id", "Id", "ID", "-id", " id")


def stated_figures(row: Mapping[str, Any]) -> Figures:
    """Pick the counts and amounts that a summary row states, by the names that it uses."""
    return {
        name: figure
        for name, value in row.items()
        if fold(name) not in _NO_FIGURES
        and not name.endswith(_IDS)
        and (figure := _figure(value)) is not None
    }


def _figure(value: object) -> Figure | None:
    # Some databases send whole numbers of 64 bits as text.
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return Decimal(value) if "." in value else int(value)
    # Not isinstance: a flag is an int, too.
    if type(value) is int:
        return value
    return value if isinstance(value, Decimal) and value.is_finite() else None


def events_in(figures: Figures) -> int:
    return count_events(figures) or 0
