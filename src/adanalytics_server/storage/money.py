"""Money as integer nanos: one unit of a currency is 1,000,000,000.

An amount of one event is a CPM divided by a thousand, so a CPM given in micros needs nine
digits after the point; nanos hold it without rounding and add up exactly.
"""

import re
from decimal import Context, Decimal, Inexact
from fractions import Fraction

NANOS = 1_000_000_000
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_EXACT = Context(prec=64, traps=[Inexact])


class InexactMoney(ValueError):
    """An amount that nanos cannot represent: not a number, too many digits, or too large."""


def nanos_from_text(text: str) -> int:
    """Read a decimal amount, such as ``"0.0025"`` or ``"-3"``, as nanos.

    Raises:
        InexactMoney: the text is not a finite decimal number, has more than nine digits after the
            point (not counting zeros at the end), or is not below 1,000,000,000 units.
    """
    if len(text) > 64 or not _DECIMAL.fullmatch(text):
        raise InexactMoney(f"{text[:80]!r} is not a decimal number")
    amount = Decimal(text)
    # Far above any real price, and low enough that every sum over a partner's lifetime stays
    # inside 64 bits per rollup column. Checked before building an integer of that many digits.
    if amount and amount.adjusted() > 8:
        raise InexactMoney(f"{text!r} is not below 1000000000 units")
    product = amount.scaleb(9, _EXACT)
    nanos = int(product)
    if nanos != product:
        raise InexactMoney(f"{text!r} has more than 9 digits after the point")
    return nanos


def text_from_nanos(nanos: int) -> str:
    """Write nanos as a decimal with exactly nine digits after the point."""
    sign = "-" if nanos < 0 else ""
    units, rest = divmod(abs(nanos), NANOS)
    return f"{sign}{units}.{rest:09d}"


def nanos_from_canonical(text: str) -> int:
    """Read text that ``text_from_nanos`` wrote, without checks."""
    return int(text.replace(".", "", 1))


def divided(numerator: int, denominator: int, *, digits: int) -> str | None:
    """Divide two integers exactly and round half to even, as decimal text.

    Returns ``None`` for a zero denominator: a rate over nothing is unknown, not zero.
    """
    if denominator == 0:
        return None
    scale = 10**digits
    quotient = round(Fraction(numerator * scale, denominator))
    units, fraction = divmod(abs(quotient), scale)
    return f"{'-' if quotient < 0 else ''}{units}.{fraction:0{digits}d}"
