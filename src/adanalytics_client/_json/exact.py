"""Decode JSON exactly: no number passes through float."""

import json
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
