"""Exact JSON: no number passes through float, and rows can be cut out as the text they came as."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

Json = Any
"""A value as `parse` gives it: dict, list, str, int, Decimal, bool or None."""

_SPACE = re.compile(r"[ \t\n\r]*")


class NotJson(ValueError):
    """A body is not one JSON document; the message says where it stops being one."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A list of JSON objects, each as its own text without line breaks."""

    texts: list[str]


def _refuse(constant: str) -> NoReturn:
    raise NotJson(f"it holds {constant}, which is not JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)


def parse(body: bytes) -> Json:
    """Read a whole document; numbers with a fraction or exponent become Decimal.

    Raises:
        NotJson: for anything else than one valid document in UTF-8.

    Example:
        >>> parse(b'{"revenue": 0.1}')
        {'revenue': Decimal('0.1')}
    """
    try:
        return _DECODER.decode(_text(body))
    except NotJson:
        raise
    except ArithmeticError:
        raise NotJson("it holds a number with an exponent beyond any Decimal") from None
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


def outline(body: bytes) -> Json:
    """Read a document like `parse`, but leave lists of objects, down to two levels, as `Lines`.

    A raw line break inside valid JSON can only be space between tokens (RFC 8259, sections 2 and
    7), so replacing it keeps the text's meaning to the last digit.

    Raises:
        NotJson: for anything else than one valid document in UTF-8.

    Example:
        >>> outline(b'{"events": [{"revenue": 1.50}]}')
        {'events': Lines(texts=['{"revenue": 1.50}'])}
    """
    try:
        text = _text(body)
        value, end = _outline(text, _skip(text, 0), 2)
    except NotJson:
        raise
    except IndexError:
        raise NotJson("it ends too early") from None
    except ArithmeticError:
        raise NotJson("it holds a number with an exponent beyond any Decimal") from None
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    if _skip(text, end) != len(text):
        raise NotJson(f"more text follows at character {end}")
    return value


def dumps(value: Json) -> str:
    """Compact JSON with sorted keys in which a Decimal is a number with all its digits."""
    try:
        return _ENCODER.encode(value)
    except TypeError:
        # The standard encoder has no exact numbers; what holds one is put together here.
        return _dumps_exact(value)


def digits(value: Decimal) -> str:
    """A Decimal in plain notation, unless its exponent would make that absurdly long."""
    return format(value, "f") if -40 < value.adjusted() < 40 else str(value)


def _dumps_exact(value: Json) -> str:
    if isinstance(value, dict):
        members = (f"{_ENCODER.encode(key)}:{dumps(value[key])}" for key in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumps, value)) + "]"
    return digits(value)


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start} is not UTF-8") from None


def _skip(text: str, index: int) -> int:
    found = _SPACE.match(text, index)
    return found.end() if found else index


def _outline(text: str, index: int, depth: int) -> tuple[Json, int]:
    opening = text[index : index + 1]
    if opening == "{" and depth:
        return _outline_object(text, index, depth)
    if opening == "[" and text[_skip(text, index + 1)] == "{":
        return _cut(text, index)
    return _DECODER.raw_decode(text, index)


def _outline_object(text: str, index: int, depth: int) -> tuple[dict[str, Json], int]:
    members: dict[str, Json] = {}
    index = _skip(text, index + 1)
    if text[index] == "}":
        return members, index + 1
    while True:
        if text[index] != '"':
            raise NotJson(f"a name is missing at character {index}")
        name, index = _DECODER.raw_decode(text, index)
        index = _expect(text, index, ":")
        members[name], index = _outline(text, index, depth - 1)
        index = _skip(text, index)
        if text[index] == "}":
            return members, index + 1
        index = _expect(text, index, ",")


def _cut(text: str, index: int) -> tuple[Json, int]:
    """Cut the elements of a list out; a list that is not only objects is read as values."""
    scan, start = _DECODER.raw_decode, index
    texts: list[str] = []
    index = _skip(text, index + 1)
    while True:
        if text[index] != "{":
            return scan(text, start)
        _, end = scan(text, index)
        texts.append(text[index:end])
        index = end if text[end] in ",]" else _skip(text, end)
        if text[index] == "]":
            return Lines([_one_line(each) for each in texts]), index + 1
        index = _expect(text, index, ",")


def _one_line(text: str) -> str:
    if "\n" in text or "\r" in text:
        return text.replace("\n", " ").replace("\r", " ")
    return text


def _expect(text: str, index: int, mark: str) -> int:
    index = _skip(text, index)
    if text[index] != mark:
        raise NotJson(f"{mark!r} is missing at character {index}")
    return _skip(text, index + 1)
