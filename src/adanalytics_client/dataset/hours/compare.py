"""Compare the events of a day with the figures that a summary states of it; no I/O.

A figure is a column of the summary. What the events say of it is the number of events of its type,
where they have types, or else the sum of the field with its name. `sync` and `verify` both compare
here, so what one refuses the other does not accept.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from adanalytics_client._base.quantities import counted
from adanalytics_client._base.spelling import fold
from adanalytics_client._json.fields import COLUMN_OF_TYPE, DOCUMENTED, SUMMARY_KINDS, FieldNames

from .totals import ADDITIVE, EXACT, OTHER, Figure, Figures, Range, Totals, figure_text

TOTAL = "total"
"""The name of the service's own count of the events of a day, which is no column of the summary."""

_BY_FOLD = {fold(name): name for name in ADDITIVE}
# Quotients and differences of other columns.
_DERIVED = {*map(fold, SUMMARY_KINDS)}.difference(_BY_FOLD)
# The shortest text of a float has up to 17 digits, and the last two of a sum are noise.
_FLOAT_DIGITS = 16
_MONEY_DIGITS = 9


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """A figure that was compared with the service.

    Attributes:
        name: the column of the summary, or `total` for the service's own count of events.
        digits: to how many decimal places, where the service states fewer than the events have;
            None for an exact comparison.

    Examples:
        >>> print(ComparedFigure("revenue", digits=2))
        revenue (to 2 digits)
    """

    name: str
    digits: int | None = None

    def __str__(self) -> str:
        if self.digits is None:
            return self.name
        return f"{self.name} (to {self.digits} digit{'' if self.digits == 1 else 's'})"


@dataclass(frozen=True, slots=True)
class UncomparedFigure:
    """A figure that could not be compared with the service.

    Attributes:
        name: as for `ComparedFigure`.
        reason: why not, in words.

    Examples:
        >>> print(UncomparedFigure("requests", "no event field sums to it"))
        requests, no event field sums to it
    """

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}, {self.reason}"


@dataclass(frozen=True, slots=True)
class DayComparison:
    """The result of comparing a day, by the columns of the summary.

    Attributes:
        equal: the figures that agree, each with the decimal places as in `ComparedFigure`.
        differing: what the events say, and what the summary states.
        uncompared: why a figure could not be compared.
    """

    equal: Mapping[str, int | None] = field(default_factory=dict)
    differing: Mapping[str, tuple[Figure, Figure]] = field(default_factory=dict)
    uncompared: Mapping[str, str] = field(default_factory=dict)

    @property
    def difference(self) -> str:
        """The first figures that differ, in words; empty if none does."""
        texts = [
            f"{name} {figure_text(mine)} instead of {figure_text(figure)}"
            for name, (mine, figure) in self.differing.items()
        ]
        rest = f", and {len(texts) - 1} more" if len(texts) > 1 else ""
        return f"{texts[0]}{rest}" if texts else ""

    @property
    def is_doubtful(self) -> bool:
        """Whether the events and the summary have a figure that could not be compared."""
        return any(reason != _NO_FIELD for reason in self.uncompared.values())

    @property
    def has_surplus(self) -> bool:
        """Whether the events say more than the summary states."""
        return any(mine > figure for mine, figure in self.differing.values())

    @property
    def lacks_events(self) -> bool:
        """Whether the summary states more than the events say."""
        return any(mine < figure for mine, figure in self.differing.values())


def compare_day(
    totals: Totals | None, figures: Figures, names: FieldNames = DOCUMENTED
) -> DayComparison:
    """Compare the totals of a day with the figures of its row in the summary.

    A summary may count filtered events or not, so a figure agrees with or without them. A figure
    differs only where nothing else can explain it: events that do not state whether they are
    filtered may be left out of a summary. A column that is neither documented nor mapped may be an
    average of its field, or another value of all events, if it lies between their values.

    Args:
        totals: the totals; None if they are not known.
        figures: the counts and amounts of the row.
        names: the names by which the service sends the documented fields.
    """
    equal, differing = {}, {}
    uncompared = {}
    every = Totals.sum([totals, totals.filtered]) if totals and totals.filtered else None
    for name, figure in figures.items():
        if fold(name) in _DERIVED:
            continue
        if totals is None:
            uncompared[name] = "the totals of the events are not known"
            continue
        readings = [*_readings(name, totals, names)]
        alternatives = _readings(name, every, names) if every else ()
        agreed = next(
            (
                reading
                for reading in (*readings, *alternatives)
                if _is_equal(reading.figure, figure)
            ),
            None,
        )
        if agreed:
            is_exact = agreed.figure == figure
            equal[name] = None if is_exact else _places(figure)
        elif not readings:
            # Zero needs no field.
            if figure:
                uncompared[name] = _NO_FIELD
        elif doubt := readings[0].doubt(figure):
            uncompared[name] = doubt
        else:
            differing[name] = (readings[0].figure or 0, figure)
    return DayComparison(equal, differing, uncompared)


class _Reading(NamedTuple):
    """What the events say of a figure; None if their field has other values, too.

    Attributes:
        more: how many further events the summary may count.
        unflagged: how many of the events the summary may leave out.
        is_sure: whether the summary is known to add up the field.
        values: the least and the most value of the field, if they are known.
    """

    figure: Figure | None
    more: int = 0
    unflagged: int = 0
    is_sure: bool = True
    values: Range | None = None

    def doubt(self, figure: Figure) -> str:
        """Return why the summary may be right if it states another figure; empty if it is not."""
        if self.figure is None:
            return "some values of its field are no numbers"
        # Whether the summary adds the field up or averages it, nothing tells.
        if not self.is_sure and self.values is None:
            return _NO_FIELD
        # Events of an unknown type may be of the counted one.
        if self.figure < figure <= self.figure + self.more:
            return f"{counted(self.more, 'event')} may be of its type"
        # Without the flag, an event may be one that the summary leaves out.
        if self.figure > figure and self.unflagged:
            return (
                f"{figure_text(self.figure)} in the events, {figure_text(figure)} in the summary, "
                f"and {counted(self.unflagged, 'event')} may be filtered ones"
            )
        if not self.is_sure and self.values and _is_between(figure, *self.values):
            return f"{figure_text(figure)} may be an average of its field"
        return ""


def _is_between(figure: Figure, least: Figure, most: Figure) -> bool:
    """Return whether a figure may be an average: the ends are averages only of equal values."""
    return least < figure < most or least == figure == most


_NO_FIELD = "no event field sums to it"


def _readings(name: str, totals: Totals, names: FieldNames) -> Iterator[_Reading]:
    """Yield what the events say of a column of the summary: by their type, and by their field."""
    documented = _BY_FOLD.get(fold(name))
    is_sure = documented is not None or name in names.fields or names.documented(name) in ADDITIVE
    # A column of the summary counts events of a type, or adds up a field of the same name; which,
    # only the events tell.
    typed = sum(totals.counts.values())
    if documented in COLUMN_OF_TYPE.values() and typed:
        untyped = totals.events - typed + totals.counts.get(OTHER, 0)
        yield _Reading(totals.counts.get(documented or "", 0), untyped, totals.unflagged)
    is_own = name in names.fields or name in totals.sums
    field_name = names.sent(name if is_own else documented or name, totals.sums)
    if field_name is not None:
        values = totals.ranges.get(field_name)
        yield _Reading(totals.sums[field_name], 0, totals.unflagged, is_sure, values)
    # Without events, every figure has to be zero.
    elif is_sure and not totals.events:
        yield _Reading(0)


def _is_equal(mine: Figure | None, figure: Figure) -> bool:
    """Return whether two figures are equal at the precision of the one that the service states."""
    if mine is None:
        return False
    difference = abs(EXACT.subtract(Decimal(mine), Decimal(figure)))
    # Half a unit of the last digit: some services round half up, and others half to even.
    return difference * 2 <= Decimal(1).scaleb(-_places(figure))


def _places(figure: Figure) -> int:
    """Return how many decimal places of a figure count."""
    if isinstance(figure, int):
        return 0
    _, coefficient, exponent = figure.as_tuple()
    places = max(0, -int(exponent))
    # A sum of floats has digits that nobody meant.
    is_float = len(coefficient) >= _FLOAT_DIGITS and places > _MONEY_DIGITS
    return _MONEY_DIGITS if is_float else places


def merge(
    days: Mapping[date, DayComparison],
) -> tuple[list[ComparedFigure], list[UncomparedFigure]]:
    """List the figures that were compared on any of the days, and those that were not on some."""
    places, reasons = dict[str, list[int | None]](), dict[str, dict[date, str]]()
    for day, comparison in days.items():
        # A day that differs was compared, too, to no known number of digits.
        for name, digits in {**comparison.equal, **dict.fromkeys(comparison.differing)}.items():
            places.setdefault(name, []).append(digits)
        for name, reason in comparison.uncompared.items():
            reasons.setdefault(name, {})[day] = reason
    compared = [
        ComparedFigure(name, min((place for place in digits if place is not None), default=None))
        for name, digits in places.items()
    ]
    return compared, [uncompared(name, by_day, len(days)) for name, by_day in reasons.items()]


def uncompared(name: str, reasons: Mapping[date, str], days: int) -> UncomparedFigure:
    """Make one of the reasons on each day, of this number of days in all."""
    first, reason = next(iter(reasons.items()))
    if len(reasons) < days or len({*reasons.values()}) > 1:
        rest = f" and {counted(len(reasons) - 1, 'more day')}" if len(reasons) > 1 else ""
        reason = f"on {first}{rest}: {reason}"
    return UncomparedFigure(name, reason)
