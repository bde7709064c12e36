"""Exact JSON is read here: no number passes through float."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, NoReturn

Json = Any
"""A value as `parse` gives it: dict, list, str, int, Decimal, bool or None."""


class NotJson(ValueError):
    """A body is not one JSON document; the message says where it stops being one."""


def _refuse(constant: str) -> NoReturn:
    raise NotJson(f"it holds {constant}, which is not JSON")


DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)
"""Reads numbers with a fraction or exponent as Decimal; what it raises is for `refusing`."""


def parse(body: bytes | bytearray) -> Json:
    """Read a whole document; numbers with a fraction or exponent become Decimal.

    Raises:
        NotJson: for anything else than one valid document in UTF-8.

    Example:
        >>> parse(b'{"revenue": 0.1}')
        {'revenue': Decimal('0.1')}
    """
    return parse_text(text_of(body))


def parse_text(text: str) -> Json:
    """The same for text.

    Raises:
        NotJson: for anything else than one valid document.
    """
    with refusing():
        return DECODER.decode(text)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn whatever a decoder may raise into NotJson."""
    try:
        yield
    except NotJson:
        raise
    except IndexError:
        raise NotJson("it ends too early") from None
    except ArithmeticError:
        raise NotJson("it holds a number with an exponent beyond any Decimal") from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise NotJson(str(error)) from None
    except ValueError:
        # Python refuses to make an int of them.
        raise NotJson("it holds a number of too many digits") from None


def text_of(body: bytes | bytearray) -> str:
    """The text of a body, without the mark that some put in front of it.

    Raises:
        NotJson: when it is not UTF-8.
    """
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start} is not UTF-8") from None
