"""The values of cells: numbers and days as people and programs write them."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import lru_cache
from time import strptime
from typing import Any, NamedTuple

from .cells import Cell, Line

# Cells of a column repeat, and reading one takes longer than looking it up.
_cache = lru_cache(maxsize=65_536)
_TOTALS = (
    "total totals grandtotal sum summe gesamt gesamtsumme gesamtergebnis overall somme totale "
    "totalgeneral totalgénéral totaal"
)
_PLACES = 18
_BLANK = frozenset(("", "-", "\u2013", "\u2014", "n/a", "na", "null", "none", "nan"))
_TIME = re.compile(r"[T ](?=\d{1,2}:\d\d)")
# Around a day and in it: what says nothing. A point between digits stays: it tells their order.
_SURPLUS = re.compile(
    r"^\s+|[\s.]+$|(?<=\d\.)\s+(?=\d)|(?<=\d)(?:st|nd|rd|th)\b|(?<=\bsep)t\b", re.IGNORECASE
)
_BETWEEN = re.compile(r"[\s,/-]+|\.\s+")
# The minus sign, and the apostrophes and spaces between thousands.
_PLAIN = str.maketrans({"\u2212": "-", **dict.fromkeys("'\u2019\xa0\u202f\u2009 ")})
_CURRENCY = re.compile(r"[A-Z]{0,3}[$€£¥₹]|^[A-Z]{3}|[A-Z]{3}$")
_MARKS = {"point": (".", ","), "comma": (",", ".")}
_NUMBERS = {
    name: re.compile(
        rf"[+-]?(?=[.,]?\d)(?:\d*|[1-9]\d{{0,2}}(?:\{separator}\d{{2,3}})*\{separator}\d{{3}})"
        rf"(?:\{mark}\d*)?(?:[eE][+-]?\d{{1,3}})?",
        re.ASCII,
    )
    for name, (mark, separator) in _MARKS.items()
}
# As time.strptime reads them, after `_BETWEEN` has become a space.
_CLEAR = (
    *("%Y %m %d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y", "%d %b %Y", "%d %b %y", "%d %B %Y"),
    *("%b %d %Y", "%B %d %Y", "%Y %b %d", "%a %d %b %Y", "%a %b %d %Y", "%A %d %B %Y"),
    "%A %B %d %Y",
)
_DAYS = {
    "day/month": (*_CLEAR, "%d %m %Y", "%d %m %y"),
    "month/day": (*_CLEAR, "%m %d %Y", "%m %d %y"),
}


class Notation(NamedTuple):
    """A kind of values that people write in more than one way.

    Attributes:
        noun: what a cell is.
        title: what the ways to write it are about.
        read: returns the values that a cell can be, by the ways to write it.
        correction: what to do about a cell of a field, {}, that is none.
        clarity: what to do if a column can be read in two ways.
    """

    noun: str
    title: str
    read: Callable[[Cell], Mapping[str, Any]]
    correction: str
    clarity: str


def cell_at(line: Line, place: int) -> Cell:
    """Return a cell; None if it is blank, or the line ends before it."""
    cell = line[1][place] if place < len(line[1]) else None
    return None if isinstance(cell, str) and cell.casefold() in _BLANK else cell


def is_total(cell: object) -> bool:
    return "".join(filter(str.isalpha, str(cell).casefold())) in _TOTALS.split()


def is_rate(cell: Cell) -> bool:
    """Return whether a cell is a number that is not whole, such as a rate or a price."""
    text = str(cell)
    return bool(numbers_of(text.rstrip("% "))) and not text.isdecimal()


@_cache
def numbers_of(cell: Cell) -> Mapping[str, Decimal]:
    """Return the numbers that a cell can be, by its decimal mark; 0 for a blank cell."""
    if cell is None or isinstance(cell, Decimal):
        numbers = dict.fromkeys(_MARKS, cell or Decimal(0))
    else:
        text = str(cell).translate(_PLAIN)
        # Accountants write negative amounts in brackets.
        if text.startswith("(") and text.endswith(")"):
            text = f"-{text[1:-1]}"
        text = _CURRENCY.sub("", text)
        text = f"-{text[:-1]}" if text.endswith("-") else text
        numbers = {
            name: Decimal(text.replace(separator, "").replace(mark, "."))
            for name, (mark, separator) in _MARKS.items()
            if _NUMBERS[name].fullmatch(text)
        }
    # Numbers of another size lose digits when they are added.
    return {
        name: number
        for name, number in numbers.items()
        if not number or -_PLACES <= number.adjusted() < _PLACES
    }


@_cache
def days_of(cell: Cell) -> Mapping[str, date]:
    """Return the days that a cell can be, by the order of day and month."""
    if isinstance(cell, date):
        return dict.fromkeys(_DAYS, cell)
    text = _BETWEEN.sub(" ", _SURPLUS.sub("", _TIME.split(str(cell or ""))[0]))
    text = re.sub(r"^(\d{4})(\d\d)(\d\d)$", r"\1 \2 \3", text)
    days = {}
    for order, forms in _DAYS.items():
        for form in forms:
            with suppress(ValueError):
                days[order] = date(*strptime(text, form)[:3])
    return days


NUMBERS = Notation(
    "a number",
    "decimal",
    numbers_of,
    "Correct it, or leave the column out: --map {}=",
    "Export amounts with two decimal digits.",
)
DAYS = Notation(
    "a day",
    "days as",
    days_of,
    "Write days as 2026-01-31, in every row.",
    "Give the PERIOD that all rows lie in, or write days as 2026-01-31.",
)
