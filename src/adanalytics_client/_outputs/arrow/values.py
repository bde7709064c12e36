"""Values of one column as an Arrow array: exact, or refused; never rounded, never dropped.

The rules for the values of each kind are here, and every source of rows follows them: pages, JSON
lines, and the CSV and Parquet files of exports and datasets.
"""

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa

from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.exact import Json, parse_text
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
_FLAGS = {"true": True, "false": False}
_DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME_TEXT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt ](?P<clock>\d\d:\d\d(?::\d\d)?)"
    r"(?:\.(?P<fraction>\d{1,3})0*)?(?P<zone>[Zz]|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_LONGEST_TEXT = 60

Pairs = list[tuple[str, str | None]]
"""The names and texts of one event."""


class UnfitValue(ValueError):
    """A value that its column cannot hold exactly; `index` is its row."""

    def __init__(self, index: int, value: Json) -> None:
        super().__init__(index, value)
        self.index = index
        self.value = value

    def described(self, column: str, kind: Kind) -> str:
        """Return the problem as a sentence."""
        value = shown(self.value)
        return f"{column} is {value}, which a column of {kind.value} cannot hold exactly."


def to_array(kind: Kind, values: Sequence[Json], *, wide: bool = False) -> pa.Array:
    """Return an array of the kind's type.

    Text accepts every value: a string unchanged, anything else as its JSON text. A value of any
    other kind may also be text, as it is in a CSV file: `12`, `0.5`, `1E-3`, `true`, `{"a":"b"}`.
    A time without a zone is UTC. None is null.

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


def shown(value: Json) -> str:
    """Return a value for an error: JSON; none that is long, because a cut could halve a secret."""
    text = json.dumps(value) if isinstance(value, str) else json_text(value, sort_keys=True)
    return text if len(text) <= _LONGEST_TEXT else f"{len(text)} characters"


def text_of(value: Json) -> str:
    """Return a string unchanged, anything else as its JSON text."""
    return value if isinstance(value, str) else json_text(value, sort_keys=True)


def _whole(value: Json) -> int:
    if type(value) is int:
        return value
    if isinstance(value, str) and _WHOLE_TEXT.fullmatch(value):
        return int(value)
    raise ValueError(value)


def _flag(value: Json) -> bool:
    if isinstance(value, bool):
        return value
    if value in _FLAGS:
        return _FLAGS[value]
    raise ValueError(value)


def _date(value: Json) -> str:
    if isinstance(value, str) and _DATE_TEXT.fullmatch(value):
        return value
    raise ValueError(value)


def _time(value: Json) -> str:
    """Return RFC 3339 text as Arrow reads it: at most three decimals of a second, and a zone."""
    found = _TIME_TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    fraction = f".{found['fraction']:0<3}" if found["fraction"] else ""
    zone = (found["zone"] or "Z").upper()
    return f"{found['day']}T{found['clock']}{fraction}{zone}"


def pairs_of(value: Json) -> Pairs | None:
    """Return the members of an object, or of its JSON text, with their values as text.

    Raises:
        ValueError: for anything but an object; the text `null` is None.
    """
    if isinstance(value, str):
        value = parse_text(value)
        if value is None:
            return None
    if not isinstance(value, dict):
        raise ValueError(value)  # noqa: TRY004  # a wrong value of the service, not of the caller
    return [(name, None if each is None else text_of(each)) for name, each in value.items()]


def plain_pattern(kind: Kind, *, wide: bool = False) -> str | None:
    """Return a regular expression for texts that Arrow itself casts as `to_array` does.

    Arrow must cast no other texts: of some amounts its cast ends the process, of others it returns
    0 (seen with pyarrow 26: "0.1e-99999999", "1e-1000"), and to it "0x10" is a whole number.
    """
    if kind in DECIMALS:
        precision, scale = DECIMALS[kind][wide]
        return f"^-?[0-9]{{1,{precision - scale}}}(?:[.][0-9]{{1,{scale}}})?$"
    return _PLAIN.get(kind)


def _amounts(kind: Kind, *, wide: bool) -> Callable[[Json], str]:
    """Return a function that writes amounts in plain digits that the type holds exactly."""
    fits = re.compile(plain_pattern(kind, wide=wide) or "", re.ASCII).fullmatch

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
    Kind.FLAG: _flag,
    Kind.TIME: _time,
    Kind.DATE: _date,
    Kind.PAIRS: pairs_of,
}

_DAY, _CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{3})?"
_PLAIN = {
    Kind.WHOLE: "^-?(?:0|[1-9][0-9]{0,17})$",
    Kind.FLAG: "^(?:true|false)$",
    Kind.TIME: f"^{_DAY}[T ]{_CLOCK}(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})$",
    Kind.DATE: f"^{_DAY}$",
}
