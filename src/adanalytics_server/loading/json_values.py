"""JSON text as values that lose nothing: numbers keep their digits, no key disappears."""

import json
from typing import NoReturn


class Number(str):
    """A number that is no 64-bit integer, as it was written: it never becomes a float."""

    __slots__ = ()


def decode_json(text: str) -> object:
    """Read one JSON value; integers become ``int``, larger and other numbers :class:`Number`.

    Raises:
        ValueError: no valid JSON, a key that occurs twice in an object, or nested too deeply.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON, {error.msg} at character {error.colno}") from error
    except RecursionError as error:
        raise ValueError("invalid JSON, nested too deeply") from error


def text_of(value: object) -> str:
    """Write a value as the cell of a CSV file would hold it; null is empty.

    >>> [text_of(value) for value in (1, True, None, "a", Number("1.50"))]
    ['1', 'true', '', 'a', '1.50']
    """
    if isinstance(value, str):
        return str(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return _encode(value)
    return str(value)


def kind_of(value: object) -> str:
    """Name the type of a value from JSON or parquet for an error message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, int):
        return "an integer"
    if isinstance(value, Number):
        return "a number that is no 64-bit integer"
    if isinstance(value, float):
        return "a floating-point number"
    return "a string" if isinstance(value, str) else f"a value of type {type(value).__name__}"


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"invalid JSON, the key {twice!r} occurs twice")
    return found


def _integer(text: str) -> int | Number:
    # 20 characters hold every 64-bit integer; Python itself refuses to read 4,301 digits.
    return int(text) if len(text) <= 20 else Number(text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"invalid JSON, {name} is no number")


# Parquet's maps hold values that JSON does not know; they become text, to be refused as such.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_DECODER = json.JSONDecoder(
    parse_int=_integer,
    parse_float=Number,
    parse_constant=_refuse_constant,
    object_pairs_hook=_object,
)
