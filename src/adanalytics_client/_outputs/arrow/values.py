"""Values of one column as an Arrow array: exact, or refused; never rounded, never dropped."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa

from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.exact import Json
from adanalytics_client._outputs.arrow.schema import DECIMALS, Kind, arrow_type

REFUSALS = (ValueError, TypeError, OverflowError, NotImplementedError)
"""The errors for a value that does not fit.

pyarrow's ArrowInvalid is a ValueError, and for another type it raises a TypeError or its own kind
of NotImplementedError; a whole number too large for a column is an OverflowError.
"""
TEXT_FIRST = frozenset({Kind.MONEY, Kind.RATIO, Kind.TIME, Kind.DATE})
"""The kinds that Arrow casts from text."""

_WHOLE_TEXT = re.compile(r"-?(?:0|[1-9][0-9]{0,18})", re.ASCII)
_AMOUNT_TEXT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)
_TIME_TEXT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt ](?P<clock>\d\d:\d\d(?::\d\d)?)"
    r"(?:\.(?P<fraction>\d{1,3})0*)?(?P<zone>[Zz]|[+-]\d\d:?\d\d)?",
    re.ASCII,
)

Pairs = list[tuple[str, str | None]]
"""The names and texts of one event."""


class UnfitValue(ValueError):
    """A value that its column cannot hold exactly; `index` is its row."""

    def __init__(self, index: int, value: Json) -> None:
        super().__init__(index, value)
        self.index = index
        self.value = value


def to_array(kind: Kind, values: Sequence[Json], *, wide: bool = False) -> pa.Array:
    """Return an array of the kind's type.

    Text accepts every value: a string unchanged, anything else as its JSON text. Whole numbers may
    also be text. Amounts may be text or numbers. A time without a zone is UTC. None is null.

    Raises:
        UnfitValue: for the first value that the type cannot hold exactly.
    """
    prepare = _amounts(kind, wide=wide) if kind in DECIMALS else _PREPARE[kind]
    made = arrow_type(kind, wide=wide)

    def convert(values: Sequence[Json]) -> pa.Array:
        ready = [None if value is None else prepare(value) for value in values]
        return (
            pa.array(ready, pa.string()).cast(made) if kind in TEXT_FIRST else pa.array(ready, made)
        )

    try:
        return convert(values)
    except REFUSALS:
        # Arrow does not state which value of a column is wrong.
        for index, value in enumerate(values):
            try:
                convert([value])
            except REFUSALS:
                raise UnfitValue(index, value) from None
        raise


def text_of(value: Json) -> str:
    """Return a string unchanged, anything else as its JSON text."""
    return value if isinstance(value, str) else json_text(value, sort_keys=True)


def _whole(value: Json) -> int:
    if type(value) is int:
        return value
    if isinstance(value, str) and _WHOLE_TEXT.fullmatch(value):
        return int(value)
    raise ValueError(value)


def _only(kind: type) -> Callable[[Json], Json]:
    def check(value: Json) -> Json:
        if isinstance(value, kind):
            return value
        raise ValueError(value)

    return check


def _time(value: Json) -> str:
    """Return RFC 3339 text as Arrow reads it: at most three decimals of a second, and a zone."""
    found = _TIME_TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    fraction = f".{found['fraction']:0<3}" if found["fraction"] else ""
    zone = (found["zone"] or "Z").upper()
    return f"{found['day']}T{found['clock']}{fraction}{zone}"


def pairs_of(value: Json) -> Pairs:
    """Return the members of an object, with their values as text.

    Raises:
        ValueError: for anything but an object.
    """
    if not isinstance(value, dict):
        raise ValueError(value)  # noqa: TRY004  # a wrong value of the service, not of the caller
    return [(name, None if each is None else text_of(each)) for name, each in value.items()]


def amount_pattern(kind: Kind, *, wide: bool) -> str:
    """Return a regular expression for plain amounts that the type of a column holds exactly.

    Arrow's own cast of text must see no other amounts: it ends the process for some exponents, and
    returns 0 for others (seen with pyarrow 26: "0.1e-99999999", "1e-1000").
    """
    precision, scale = DECIMALS[kind][wide]
    return f"^-?[0-9]{{1,{precision - scale}}}(?:[.][0-9]{{1,{scale}}})?$"


def _amounts(kind: Kind, *, wide: bool) -> Callable[[Json], str]:
    """Return a function that writes amounts in plain digits that the type holds exactly."""
    fits = re.compile(amount_pattern(kind, wide=wide), re.ASCII).fullmatch

    def prepare(value: Json) -> str:
        plain = value if isinstance(value, str) and fits(value) else _plain(value)
        if not fits(plain):
            raise ValueError(value)
        return plain

    return prepare


def _plain(value: Json) -> str:
    """Return an amount without an exponent or trailing zeros; refuses absurdly long ones."""
    text = str(value) if type(value) in (int, Decimal) else value
    if not (isinstance(text, str) and _AMOUNT_TEXT.fullmatch(text)):
        raise ValueError(value)
    number = Decimal(text)
    if not number:
        return "0"
    if not -40 < number.adjusted() < 40:
        raise ValueError(value)
    plain = format(number, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


_PREPARE: dict[Kind, Callable[[Json], Json]] = {
    Kind.TEXT: text_of,
    Kind.WHOLE: _whole,
    Kind.FLAG: _only(bool),
    Kind.TIME: _time,
    Kind.DATE: _only(str),
    Kind.PAIRS: pairs_of,
}
