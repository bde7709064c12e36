"""Values of one column as an Arrow array: exactly, or refused; never rounded, never dropped."""

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from adanalytics_client._arrow_schema import Kind, arrow_type
from adanalytics_client._extras import import_extra
from adanalytics_client._json import Json
from adanalytics_client.encoding import digits, json_text

if TYPE_CHECKING:
    import pyarrow as pa

_NULL = type(None)
REFUSALS = (ValueError, TypeError, OverflowError, NotImplementedError)
"""What is raised for a value that does not fit.

pyarrow's ArrowInvalid is a ValueError, and for another type it raises a TypeError or its own kind
of NotImplementedError; a whole number too large for a column is an OverflowError.
"""
_WHOLE_TEXT = re.compile(r"-?(?:0|[1-9][0-9]{0,18})", re.ASCII)
_TIME_TEXT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt ](?P<clock>\d\d:\d\d(?::\d\d)?)"
    r"(?:\.(?P<fraction>\d{1,3})0*)?(?P<zone>[Zz]|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


Pairs = list[tuple[str, str | None]]
"""The names and texts of one event."""


class Unfit(ValueError):
    """A value that its column cannot hold as it is; `index` is its row."""

    def __init__(self, index: int, value: Json) -> None:
        super().__init__(index, value)
        self.index = index
        self.value = value


def to_array(kind: Kind, values: Sequence[Json]) -> "pa.Array":
    """An array of the kind's type.

    Text takes every value: a string as it is, anything else as its JSON text. Whole numbers may
    also come as text. Amounts come as text or numbers. A time without a zone is UTC.

    Raises:
        Unfit: for the first value that the type cannot hold exactly.
        ConfigurationError: when pyarrow is not installed.
    """
    try:
        return _whole_array(kind, values)
    except REFUSALS:
        # The whole column says only that something is wrong, so the values are tried alone.
        return _array_one_by_one(kind, values)


def _whole_array(kind: Kind, values: Sequence[Json]) -> "pa.Array":
    arrow = import_extra("pyarrow", extra="arrow")
    classes = set(map(type, values)) - {_NULL}
    prepare = _PREPARE[kind] if classes - _NATIVE[kind] else _FROM_NATIVE.get(kind)
    ready = [None if value is None else prepare(value) for value in values] if prepare else values
    if kind in _AS_TEXT:
        return arrow.array(ready, arrow.string()).cast(arrow_type(kind))
    return arrow.array(ready, arrow_type(kind))


def _array_one_by_one(kind: Kind, values: Sequence[Json]) -> "pa.Array":
    arrow = import_extra("pyarrow", extra="arrow")
    ready: list[pa.Scalar] = []
    for index, value in enumerate(values):
        try:
            careful = _time(value) if kind is Kind.TIME and value is not None else value
            ready.append(_whole_array(kind, [careful])[0])
        except REFUSALS:
            raise Unfit(index, value) from None
    return arrow.array(ready, arrow_type(kind))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value, sort_keys=True)


def _whole(value: Json) -> int:
    if type(value) is int:
        return value
    if isinstance(value, str) and _WHOLE_TEXT.fullmatch(value):
        return int(value)
    raise ValueError(value)


def _amount(value: Json) -> str:
    if isinstance(value, str):
        return value
    if type(value) in (int, Decimal):
        return digits(Decimal(value))
    raise ValueError(value)


def _time(value: Json) -> str:
    """RFC 3339 text as Arrow reads it: three digits of a second at most, and a zone."""
    found = _TIME_TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    fraction = f".{found['fraction']:0<3}" if found["fraction"] else ""
    zone = (found["zone"] or "Z").upper()
    return f"{found['day']}T{found['clock']}{fraction}{zone}"


def pairs(value: Json) -> Pairs:
    """The members of an object, their values as text.

    Raises:
        ValueError: for anything else than an object.
    """
    members = value.items() if isinstance(value, dict) else None
    if members is None:
        raise ValueError(value)
    return [(name, None if each is None else _text(each)) for name, each in members]


def _refuse(value: Json) -> Json:
    raise ValueError(value)


_AS_TEXT = frozenset({Kind.MONEY, Kind.RATIO, Kind.TIME, Kind.DATE})
# The classes of values that need no look at each of them.
_NATIVE: dict[Kind, set[type]] = {
    **{kind: {str} for kind in (Kind.TEXT, *_AS_TEXT)},
    Kind.WHOLE: {int},
    Kind.FLAG: {bool},
    Kind.PAIRS: {dict},
}
_PREPARE: dict[Kind, Callable[[Json], Json]] = {
    Kind.TEXT: _text,
    Kind.WHOLE: _whole,
    Kind.FLAG: _refuse,
    Kind.MONEY: _amount,
    Kind.RATIO: _amount,
    Kind.TIME: _time,
    Kind.DATE: _refuse,
    Kind.PAIRS: pairs,
}
_FROM_NATIVE: dict[Kind, Callable[[Json], Json]] = {Kind.PAIRS: pairs}


def shown(value: Json) -> str:
    """A value as an error shows it: JSON, not too long."""
    text = json.dumps(value) if isinstance(value, str) else json_text(value, sort_keys=True)
    return text if len(text) <= 60 else f"{text[:57]}..."
