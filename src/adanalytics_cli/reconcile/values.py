"""The values of cells: numbers and days as people and programs write them."""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache

from .cells import Cell, Line

# Cells of a column repeat, and reading one takes longer than looking it up.
_cache = lru_cache(maxsize=65_536)
_TOTALS = (
    "total totals grandtotal sum summe gesamt gesamtsumme gesamtergebnis overall somme totale "
    "totalgeneral totalgénéral totaal"
)
_PLACES = 18
_BLANK = frozenset(("", "-", "\u2013", "\u2014", "n/a", "na", "null", "none", "nan"))
_MONTHS = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "jan feb mär apr mai jun jul aug sep okt nov dez",
)
_MONTH_OF = {name: number for names in _MONTHS for number, name in enumerate(names.split(), 1)}
_TIME = re.compile(r"[T ](?=\d{1,2}:\d\d)")
_WHOLE = re.compile(r"\d+", re.ASCII)
# The minus sign, and the apostrophes and spaces between thousands.
_PLAIN = str.maketrans({"\u2212": "-", **dict.fromkeys("'\u2019\xa0\u202f\u2009 ")})
_CURRENCY = re.compile(r"[A-Z]{0,3}[$€£¥₹]|^[A-Z]{3}|[A-Z]{3}$")
NUMBERS = {
    mark: re.compile(
        rf"[+-]?(?=[.,]?\d)(?:\d*|[1-9]\d{{0,2}}(?:\{separator}\d{{2,3}})*\{separator}\d{{3}})"
        rf"(?:\{mark}\d*)?(?:[eE][+-]?\d{{1,3}})?",
        re.ASCII,
    )
    for mark, separator in ((".", ","), (",", "."))
}
ORDERS = ("day/month", "month/day")


def cell_at(line: Line, place: int) -> Cell:
    """Return a cell; None if it is blank, or the line ends before it."""
    cell = line[1][place] if place < len(line[1]) else None
    return None if isinstance(cell, str) and cell.casefold() in _BLANK else cell


def _letters(cell: Cell) -> str:
    return "".join(filter(str.isalpha, cell.casefold())) if isinstance(cell, str) else ""


@_cache
def is_total(cell: Cell) -> bool:
    return _letters(cell) in _TOTALS.split()


@_cache
def number_of(cell: Cell, mark: str) -> Decimal | None:
    """Return a number as written with this decimal mark, 0 for a blank cell; None for others."""
    if cell is None:
        return Decimal(0)
    if isinstance(cell, Decimal):
        return _bounded(cell)
    text = str(cell).translate(_PLAIN)
    # Accountants write negative amounts in brackets.
    is_negative = text.startswith("(") and text.endswith(")")
    text = _CURRENCY.sub("", text.strip("()") if is_negative else text)
    text = f"-{text[:-1]}" if text.endswith("-") else text
    if not NUMBERS[mark].fullmatch(text):
        return None
    number = Decimal(text.replace("," if mark == "." else ".", "").replace(mark, "."))
    return _bounded(number.copy_negate() if is_negative else number)


def _bounded(number: Decimal) -> Decimal | None:
    """Return a number of a size that a figure can have; others lose digits when they are added."""
    return None if number and not -_PLACES <= number.adjusted() < _PLACES else number


@_cache
def is_fraction(cell: Cell) -> bool:
    """Return whether a cell is a number that is not whole, such as a rate or a price."""
    if isinstance(cell, Decimal):
        return cell != cell.to_integral_value()
    text = cell.rstrip("% ") if isinstance(cell, str) else ""
    is_number = any(number_of(text, mark) is not None for mark in NUMBERS)
    return bool(text) and is_number and not _WHOLE.fullmatch(str(cell))


@_cache
def days_of(cell: Cell) -> dict[str, date]:
    """Return the days that a cell can be, by the order of day and month."""
    if isinstance(cell, date):
        return dict.fromkeys(ORDERS, cell)
    text = _TIME.split(str(cell or ""))[0].casefold()
    numbers = [int(number) for number in _WHOLE.findall(text)]
    month = next(
        (_MONTH_OF[w[:3]] for w in re.findall(r"[^\W\d_]+", text) if w[:3] in _MONTH_OF), 0
    )
    orders: Mapping[str, tuple[int, ...]]
    if len(numbers) == 1 and re.fullmatch(r"\d{8}", text):
        numbers = [numbers[0] // 10_000, numbers[0] // 100 % 100, numbers[0] % 100]
    if len(numbers) == 2 and month:
        # The year has four digits, or is last.
        numbers = (
            [*sorted(numbers, reverse=True), month]
            if max(numbers) > 31
            else [*numbers[::-1], month]
        )
        numbers[1:] = numbers[:0:-1]
    elif len(numbers) != 3 or re.search(r"[^\d./\- ]", text):
        return {}
    if numbers[0] > 31 or month:
        orders = dict.fromkeys(ORDERS, (0, 1, 2))
    elif "." in text:
        orders = dict.fromkeys(ORDERS, (2, 1, 0))
    else:
        orders = {"day/month": (2, 1, 0), "month/day": (2, 0, 1)}
    dates = {}
    for order, places in orders.items():
        year, of_year, day = (numbers[place] for place in places)
        try:
            dates[order] = date(year + 2000 * (year < 100), of_year, day)
        except (ValueError, OverflowError):
            continue
    return dates
