"""Decode and encode JSON exactly: no number passes through float, and all keep their digits.

Everything that this package and the command line write as JSON or CSV goes through here.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NoReturn

Json = Any
"""Any JSON value: a dict, list, str, int, Decimal, bool or None."""


_TOO_DEEP = "it is nested too deeply"

MOST_LEVELS = 200
"""The deepest allowed nesting of objects and lists in a document.

The decoder itself accepts about as many levels as the stack has frames left, and then functions
that walk over the values have none.
"""


class NotJson(ValueError):
    """A body is not one JSON document; the message names the place of the fault.

    Attributes:
        size: the number of received bytes, if the reply does not hold them.
    """

    size: int | None = None


class WrongValue(NotJson):
    """A value that JSON does not allow, or Python cannot hold: no proxy or cut put it there."""


def _refuse(constant: str) -> NoReturn:
    raise WrongValue(f"it holds {constant}, which is not JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)


def parse(body: bytes | bytearray) -> Json:
    """Parse a complete document; numbers with a fraction or exponent become Decimal.

    Raises:
        NotJson: for anything but one valid document in UTF-8 with at most `MOST_LEVELS` levels.

    Examples:
        >>> parse(b'{"revenue": 0.1}')
        {'revenue': Decimal('0.1')}
    """
    try:
        # The codec utf-8-sig is written in Python.
        text = body.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start} is not UTF-8") from None
    value = parse_text(text)
    # Counting brackets is quick, and only many of them can be deep.
    if text.count("{") + text.count("[") > MOST_LEVELS and _is_deep(value):
        raise NotJson(_TOO_DEEP)
    return value


def _is_deep(value: Json) -> bool:
    level = [value]
    # Level by level, since a recursion would end with the stack.
    for _ in range(MOST_LEVELS):
        level = [
            member
            for container in level
            for member in (container.values() if container.__class__ is dict else container)
            if member.__class__ is dict or member.__class__ is list
        ]
        if not level:
            return False
    return True


def parse_text(text: str) -> Json:
    """Parse text of any depth.

    Raises:
        NotJson: for anything but one valid document.
    """
    try:
        return _DECODER.decode(text)
    except NotJson:
        raise
    except ArithmeticError:
        raise WrongValue("it holds a number with an exponent beyond any Decimal") from None
    except RecursionError:
        raise NotJson(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise NotJson(str(error)) from None
    except ValueError:
        # Python refuses to convert so many digits to an int.
        raise WrongValue("it holds a number with too many digits") from None


_AS_GIVEN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_SORTED = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True
).encode

# The classes that csv.writer writes correctly itself; bool is not one of them.
_PLAIN = frozenset({str, int, type(None)})


def json_text(value: object, *, sort_keys: bool = False) -> str:
    """Return compact JSON on one line, in which a Decimal is a number with all its digits.

    A day is its text, and a dataclass an object.

    Raises:
        TypeError: for a value that JSON does not have.
        ValueError: for a float that is NaN or infinite.
    """
    encode = _SORTED if sort_keys else _AS_GIVEN
    try:
        return encode(value)
    except TypeError:
        # The standard encoder has no exact numbers, so values that contain one are encoded here.
        return _exact(value, sort_keys=sort_keys)


def csv_cells(values: Iterable[object]) -> list[object]:
    """Return values ready for `csv.writer`: true and false, all digits, days, compact JSON.

    None, which becomes an empty cell, text and whole numbers are unchanged.
    """
    return [value if value.__class__ in _PLAIN else _cell(value) for value in values]


def digits(value: Decimal) -> str:
    """Return a Decimal in plain notation, unless its exponent would make that absurdly long.

    Examples:
        >>> digits(Decimal("0E-9"))
        '0.000000000'
    """
    return format(value, "f") if -40 < value.adjusted() < 40 else str(value)


def utf8(text: str) -> bytes:
    """Encode as UTF-8; half a surrogate pair, which JSON allows but UTF-8 does not, is escaped."""
    return text.encode("utf-8", "backslashreplace")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    return digits(value) if isinstance(value, Decimal) else json_text(value, sort_keys=True)


def _exact(value: Any, *, sort_keys: bool) -> str:  # noqa: ANN401  # anything may come
    # json writes no Decimal, and a float would change digits.
    if isinstance(value, Decimal):
        return digits(value)
    if isinstance(value, date):
        return _AS_GIVEN(value.isoformat())
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        names = sorted(value) if sort_keys else value
        members = (
            f"{_AS_GIVEN(str(name))}:{json_text(value[name], sort_keys=sort_keys)}"
            for name in names
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(json_text(element, sort_keys=sort_keys) for element in value) + "]"
    raise TypeError(f"JSON has no {type(value).__name__}")
