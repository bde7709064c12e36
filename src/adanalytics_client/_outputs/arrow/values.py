"""Values of one column: their types, and exact arrays of them; never rounded, never dropped.

The rules for values are here, and every source of rows follows them: pages, JSON lines, and the CSV
and Parquet files of exports and datasets.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa

from adanalytics_client._base.dates import EPOCH, ISO_DAY
from adanalytics_client._json.exact import Json, json_text, parse_text
from adanalytics_client._json.fields import Kind
from adanalytics_client._json.types import (
    BIT,
    DATE,
    FLAG,
    INT64_DIGITS,
    JSON,
    LEAST_SCALE,
    MOST_DIGITS,
    NULL,
    PAIRS,
    TEXT,
    UNITS,
    Base,
    ColumnType,
)

from .schema import arrow_type

REFUSALS = (ValueError, TypeError, OverflowError, NotImplementedError)
"""The errors for a value that does not fit.

pyarrow's ArrowInvalid is a ValueError, and for another type it raises a TypeError or its own kind
of NotImplementedError; a whole number too large for a column is an OverflowError.
"""

_WHOLE_TEXT = re.compile(r"-?(?:0|[1-9][0-9]{0,37})", re.ASCII)
_AMOUNT_TEXT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)
# In any case: a CSV of pandas has True and False, and one of PostgreSQL's COPY t and f.
FLAGS = {"true": True, "false": False, "t": True, "f": False, "0": False, "1": True}
"""The texts of flags in CSV, in lower case."""

# PostgreSQL leaves out the minutes of an offset of whole hours:
# https://www.postgresql.org/docs/current/datatype-datetime.html#DATATYPE-DATETIME-OUTPUT
# ISO 8601 has the comma, too, and Python's logging writes it before the milliseconds:
# https://docs.python.org/3/library/logging.html#logging.Formatter.formatTime
_TIME_TEXT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt ](?P<clock>\d\d:\d\d(?::\d\d)?)"
    r"(?:[.,](?P<fraction>\d{1,9}?)0*)?(?P<zone>[Zz]|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)
# The years of times in nanoseconds: 1677 to 2262.
_YEARS_OF_NS = range(1678, 2262)

Pairs = list[tuple[str, str | None]]
"""The names and texts of one event."""


def type_of(kind: Kind | None, value: Json) -> ColumnType:
    """Return the type of one value in a field of a kind; JSON's own type where the kind fails.

    Examples:
        >>> type_of(None, 5)
        ColumnType(base='number', digits=1, scale=0, epoch='', is_mixed=False)
        >>> type_of(Kind.AMOUNT, "0.5").scale
        9
    """
    if value is None:
        return NULL
    of_kind = _OF_KIND[kind](value) if kind in _OF_KIND else None
    return of_kind or _of_json(value)


def to_array(type_: ColumnType, values: Sequence[Json], *, wide: bool = False) -> pa.Array:
    """Return an array of a type that holds all the values; None is null.

    Raises:
        REFUSALS: for a value that the type cannot hold exactly.
    """
    prepare = _PREPARE[type_.base](type_)
    ready = [None if value is None else prepare(value) for value in values]
    target = arrow_type(type_, wide=wide)
    if type_.base in _TEXT_FIRST or pa.types.is_decimal(target):
        # Arrow makes no decimals of numbers without their context of 28 digits.
        return pa.array(ready, pa.string()).cast(target)
    return pa.array(ready, target)


def text_of(value: Json) -> str:
    """Return a string unchanged, anything else as its JSON text."""
    return value if isinstance(value, str) else json_text(value, sort_keys=True)


def pairs_of(value: Json) -> Pairs | None:
    """Return the members of an object of texts and nulls, or of its JSON text.

    Raises:
        ValueError: for anything else; the text `null` is None.
    """
    if isinstance(value, str):
        value = parse_text(value)
        if value is None:
            return None
    # As a text, 1.0 would be the same as "1.0".
    if not isinstance(value, dict) or not all(isinstance(text, _TEXTS) for text in value.values()):
        raise ValueError(value)
    return [*value.items()]


_TEXTS = (str, type(None))


def plain_pattern(type_: ColumnType, *, wide: bool = False) -> str | None:
    """Return a regular expression for texts that Arrow itself casts as `to_array` does.

    Arrow must cast no other texts: of some amounts its cast ends the process, of others it returns
    0 (seen with pyarrow 26: "0.1e-99999999", "1e-1000"), and to it "0x10" is a whole number.
    """
    target = arrow_type(type_, wide=wide)
    if pa.types.is_decimal(target):
        integer_digits, scale = target.precision - target.scale, target.scale
        fraction = f"(?:[.][0-9]{{1,{scale}}})?" if scale else ""
        return f"^-?[0-9]{{1,{integer_digits}}}{fraction}$"
    return _PLAIN.get(type_.base)


def number_type(value: Json) -> ColumnType | None:
    """Return the type of an int, a Decimal, a float by its shortest text, or a number's text."""
    number = _number_of(value)
    return None if number is None else _of_decimal(number)


def _number_of(value: Json) -> Decimal | None:
    if isinstance(value, float):
        value = repr(value)
    if isinstance(value, str):
        return Decimal(value) if _AMOUNT_TEXT.fullmatch(value) else None
    return None if isinstance(value, bool | dict | list) else Decimal(value)


def _of_json(value: Json) -> ColumnType:
    if isinstance(value, bool):
        return FLAG
    if isinstance(value, int):
        return _of_int(value)
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        # An amount of a page that is a whole number.
        return _of_int(int(value))
    if isinstance(value, Decimal | float):
        return number_type(value) or JSON
    return TEXT if isinstance(value, str) else JSON


def _of_int(value: int) -> ColumnType:
    digits = _digits(value)
    return ColumnType("number", digits) if digits <= MOST_DIGITS else JSON


def _digits(number: int) -> int:
    digits = len(str(abs(number)))
    return digits if -(2**63) <= number < 2**63 else max(digits, INT64_DIGITS + 1)


def _of_decimal(number: Decimal) -> ColumnType | None:
    """Return the type of an exact number; None for one of too many digits."""
    if not number:
        return ColumnType("number", 1, LEAST_SCALE)
    if not -MOST_DIGITS <= number.adjusted() <= MOST_DIGITS:
        return None
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent)
    for digit in reversed(digits):
        if digit or scale <= 0:
            break
        scale -= 1
    type_ = ColumnType("number", _digits(int(number)), max(LEAST_SCALE, scale))
    return type_ if type_.precision <= MOST_DIGITS else None


def _of_whole(value: Json) -> ColumnType | None:
    is_whole = isinstance(value, str) and _WHOLE_TEXT.fullmatch(value)
    return _of_int(int(value)) if is_whole else None


def _of_flag(value: Json) -> ColumnType | None:
    if isinstance(value, str):
        return BIT if value in {"0", "1"} else FLAG if value.lower() in FLAGS else None
    return BIT if value.__class__ is int and value in {0, 1} else None


def _of_date(value: Json) -> ColumnType | None:
    with suppress(ValueError):
        if isinstance(value, str) and ISO_DAY.fullmatch(value):
            datetime.fromisoformat(value)
            return DATE
    return None


def _of_time(value: Json) -> ColumnType | None:
    """Return the type of a text of RFC 3339, or of a number whose size shows its unit."""
    if isinstance(value, str) and (time := _TIME_TEXT.fullmatch(value)):
        decimals = len((time["fraction"] or "").rstrip("0"))
        with suppress(ValueError):
            datetime.fromisoformat(_plain_time(time))
            # 64 bits of nanoseconds reach from 1677 to 2262.
            if decimals <= UNITS["us"] or int(time["day"][:4]) in _YEARS_OF_NS:
                return ColumnType("time", scale=max(decimals, UNITS["ms"]))
        return None
    if not (epoch := _epoch_in(value)):
        return None
    unit = next(unit for unit, decimals in UNITS.items() if decimals == len(epoch[2]))
    type_ = ColumnType("epoch", len(epoch[1] + epoch[2]), len(epoch[3] or ""), unit)
    return type_ if type_.decimals <= UNITS["ns"] else None


def _epoch_in(value: Json) -> "re.Match[str] | None":
    """Return the seconds, their decimals and the fraction of a number that may be a time."""
    return EPOCH.fullmatch(_plain_number(value)) if number_type(value) else None


def _of_pairs(value: Json) -> ColumnType | None:
    with suppress(ValueError):
        pairs = pairs_of(value)
        return PAIRS if pairs is not None else None
    return None


_OF_KIND: Mapping[Kind | None, Callable[[Json], ColumnType | None]] = {
    Kind.WHOLE: _of_whole,
    Kind.AMOUNT: number_type,
    Kind.FLAG: _of_flag,
    Kind.DATE: _of_date,
    Kind.TIME: _of_time,
    Kind.PAIRS: _of_pairs,
}


def _plain_number(value: Json) -> str:
    """Return a number in plain digits, without an exponent or trailing zeros.

    Raises:
        ValueError: for anything else, and for absurdly many digits.
    """
    number = _number_of(value)
    if number == 0:
        return "0"
    if number is None or not -MOST_DIGITS <= number.adjusted() <= MOST_DIGITS:
        raise ValueError(value)
    plain = format(number, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _number(type_: ColumnType) -> Callable[[Json], Json]:
    if type_.scale or type_.digits > INT64_DIGITS:
        return _plain_number

    def whole(value: Json) -> int:
        if value.__class__ is int:
            return int(value)
        if isinstance(value, str) and _WHOLE_TEXT.fullmatch(value):
            return int(value)
        raise ValueError(value)

    return whole


def _flag(value: Json) -> bool:
    if isinstance(value, bool):
        return value
    if (flag := FLAGS.get(str(value).lower())) is None:
        raise ValueError(value)
    return flag


def _date(value: Json) -> str:
    if isinstance(value, str) and ISO_DAY.fullmatch(value):
        return value
    raise ValueError(value)


def _plain_time(time: "re.Match[str]", decimals: int = 0) -> str:
    fraction = f".{(time['fraction'] or ''):0<{decimals}}" if decimals else ""
    zone = (time["zone"] or "Z").upper()
    return f"{time['day']}T{time['clock']}{fraction}{zone}"


def _time(type_: ColumnType) -> Callable[[Json], str]:
    """Return a function that writes a time as Arrow reads it, with the decimals of the type."""
    decimals = UNITS[arrow_type(type_).unit]

    def prepare(value: Json) -> str:
        if isinstance(value, str) and (time := _TIME_TEXT.fullmatch(value)):
            if len((time["fraction"] or "").rstrip("0")) > decimals:
                raise ValueError(value)
            fraction = (time["fraction"] or "").rstrip("0")
            short = min(unit for unit in (0, 3, 6, 9) if unit >= len(fraction))
            return _plain_time(time, short)
        epoch = _epoch_in(value)
        fraction = f"{epoch[2]}{epoch[3] or ''}" if epoch else ""
        if not epoch or len(fraction) > decimals:
            raise ValueError(value)
        moment = datetime.fromtimestamp(int(epoch[1]), UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction:0<{decimals}}Z"

    return prepare


_PREPARE: Mapping[Base, Callable[[ColumnType], Callable[[Json], Json]]] = {
    "null": lambda _type: text_of,
    "text": lambda _type: text_of,
    "number": _number,
    "bit": lambda _type: _flag,
    "flag": lambda _type: _flag,
    "time": _time,
    "epoch": _time,
    "date": lambda _type: _date,
    "pairs": lambda _type: pairs_of,
}
_TEXT_FIRST: frozenset[Base] = frozenset({"time", "epoch", "date"})

_DAY, _CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{3})?"
_PLAIN: Mapping[Base, str] = {
    "number": "^-?(?:0|[1-9][0-9]{0,17})$",
    "flag": "^(?:true|false)$",
    "time": f"^{_DAY}[T ]{_CLOCK}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})$",
    "date": f"^{_DAY}$",
}
