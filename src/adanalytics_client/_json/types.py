"""The types of columns, learned from their values: a type widens and never narrows.

    null < bit < flag                     < text
           bit <        number            < text
         epoch <        number, time      < text
                        date, pairs       < text

A bit is a flag that is sent as 0 or 1, and an epoch is a time that is sent as a number: both can
still turn out to be plain numbers. A column of values without a common type becomes text.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from .fields import Kind

Base = Literal["null", "bit", "flag", "epoch", "number", "time", "date", "pairs", "text"]

_WIDER: Mapping[Base, tuple[Base, ...]] = {
    "bit": ("bit", "flag", "number", "text"),
    "flag": ("flag", "text"),
    "epoch": ("epoch", "time", "number", "text"),
    "number": ("number", "text"),
    "time": ("time", "text"),
    "date": ("date", "text"),
    "pairs": ("pairs", "text"),
    "text": ("text",),
}

MOST_DIGITS = 38
"""The digits of Arrow's `decimal128`, and of DuckDB's, Spark's and Iceberg's decimals."""

INT64_DIGITS = 19
LEAST_SCALE = 9
"""Fraction digits of a column of amounts, unless one needs more."""

# Whole numbers of up to 19 digits, int64, stay such.
_STEPS = (9, 18, INT64_DIGITS, 27, 36, MOST_DIGITS)

UNITS: Mapping[str, int] = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""The units of times, and the decimals of a second that each can hold."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The narrowest type that holds all values of a column so far.

    Attributes:
        base: the family of its values.
        digits: of numbers, the most digits in front of the decimal point; a whole number that
            int64 cannot hold has at least 20.
        scale: of numbers, and of times sent as numbers, the most digits behind the decimal point;
            0 for whole numbers. Of other times, the most decimals of a second.
        epoch: of times sent as numbers, the unit of these numbers.
        is_mixed: of texts, whether some are the JSON of other values.
    """

    base: Base = "null"
    digits: int = 0
    scale: int = 0
    epoch: str = ""
    is_mixed: bool = False

    def join(self, other: "ColumnType") -> "ColumnType":
        """Return the narrowest type that holds the values of both.

        Examples:
            >>> ColumnType("number", 2).join(ColumnType("number", 1, 9))
            ColumnType(base='number', digits=2, scale=9, epoch='', is_mixed=False)
            >>> ColumnType("number", 2).join(ColumnType("flag")).base
            'text'
        """
        if self == other or other.base == "null":
            return self
        if self.base == "null":
            return other
        base = next(base for base in _WIDER[self.base] if base in _WIDER[other.base])
        if self.epoch and other.epoch not in {"", self.epoch}:
            # Seconds and milliseconds have no number in common.
            base = "time" if base in {"epoch", "time"} else "text"
        if base == "text":
            is_mixed = any(part.is_mixed or part.base != "text" for part in (self, other))
            return ColumnType(base, is_mixed=is_mixed)
        first, second = _as(base, self), _as(base, other)
        digits, scale = max(first.digits, second.digits), max(first.scale, second.scale)
        column_type = ColumnType(base, digits, scale, first.epoch or second.epoch)
        return JSON if base == "number" and column_type.precision > MOST_DIGITS else column_type

    @property
    def decimals(self) -> int:
        """The decimals of a second that its times need."""
        return self.scale + UNITS[self.epoch or "s"]

    @property
    def precision(self) -> int:
        """The digits that its numbers need together."""
        return self.digits + (max(self.scale, LEAST_SCALE) if self.scale else 0)

    def rounded(self) -> "ColumnType":
        """Return the type with room for more digits, so that similar columns have equal types.

        Examples:
            >>> ColumnType("number", 3, 9).rounded().digits
            9
        """
        if self.base != "number":
            return self
        roomy = replace(self, digits=next(digits for digits in _STEPS if digits >= self.digits))
        return roomy if roomy.precision <= MOST_DIGITS else self


def _as(base: Base, type_: ColumnType) -> ColumnType:
    if type_.base != base == "time":
        return ColumnType(base, scale=type_.decimals)
    return replace(type_, base=base)


NULL, TEXT, FLAG, BIT = (ColumnType(base) for base in ("null", "text", "flag", "bit"))
DATE, PAIRS = ColumnType("date"), ColumnType("pairs")
JSON = ColumnType("text", is_mixed=True)
TIME = ColumnType("time", scale=UNITS["ms"])
WHOLE, AMOUNT = ColumnType("number", 1), ColumnType("number", 1, LEAST_SCALE)

DEFAULTS: Mapping[Kind | None, ColumnType] = {
    None: TEXT,
    Kind.TEXT: TEXT,
    Kind.ID: WHOLE,
    Kind.WHOLE: WHOLE,
    Kind.AMOUNT: AMOUNT,
    Kind.FLAG: FLAG,
    Kind.TIME: TIME,
    Kind.DATE: DATE,
    Kind.PAIRS: PAIRS,
}
"""The types of columns without any value, by the kind of their field."""

Types = Mapping[str, ColumnType]
"""The columns of a table, in order, and their types."""

KindOf = Callable[[str], Kind | None]
"""Returns the kind of a field that has the part of a documented one, else None."""


def join_all(types: Iterable[ColumnType]) -> ColumnType:
    """Return the narrowest type that holds the values of all."""
    return reduce(ColumnType.join, types, NULL)


def join_columns(columns: Types, others: Types) -> dict[str, ColumnType]:
    """Return the columns of both tables: the first ones first, each of a type for both."""
    names = dict.fromkeys((*columns, *others))
    return {name: columns.get(name, NULL).join(others.get(name, NULL)) for name in names}


def became_text(before: Types, after: Types) -> list[str]:
    """List the columns of texts and of other values, in whatever order these came.

    Examples:
        >>> number = ColumnType("number", 1)
        >>> became_text({"a": number, "b": TEXT, "c": TEXT}, {"a": TEXT, "b": TEXT, "c": number})
        ['a', 'c']
    """
    pairs = {name: (before[name], type_) for name, type_ in after.items() if name in before}
    return [
        name
        for name, (old, new) in pairs.items()
        if not old.is_mixed and "text" in {old.base, new.base} - {"null"} != {"text"}
    ]
