"""Values of rows: lossless JSON, timestamps, and the rule for each field of an event.

Empty text is null in every format, so that a CSV file and a JSONL file give the same events.
"""

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import NamedTuple, NoReturn

from adanalytics_server.clock import MILLISECONDS_PER_DAY, milliseconds_of
from adanalytics_server.storage.days import day_number, parse_date
from adanalytics_server.storage.dimensions import DIMENSIONS
from adanalytics_server.storage.events import CHOICES, Kind
from adanalytics_server.storage.events import FIELDS as EVENT_TABLE
from adanalytics_server.storage.money import nanos_from_text


class Number(str):
    """The text of a number that is not a 64-bit integer: it never becomes a float."""

    __slots__ = ()


def decode_json(text: str) -> object:
    """Read one JSON value; integers become ``int``, other and very long numbers ``Number``.

    Raises:
        ValueError: the JSON is invalid, repeats a key in an object, or is nested too deeply.
    """
    try:
        content = _DECODER.decode(text)
        if "\\u" in text:
            _encode(content).encode()
    except UnicodeEncodeError as error:
        # JSON can write half a character as \ud800, and UTF-8 cannot encode it.
        lone = error.object[error.start]
        raise ValueError(f"{lone!r} is an unpaired surrogate, not a character") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON ({error.msg} at character {error.colno})") from error
    except RecursionError as error:
        raise ValueError("invalid JSON (nested too deeply)") from error
    else:
        return content


def text_of(value: object) -> str:
    """Write a value as a CSV cell; null is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return _encode(value)
    return str(value)


class Unreadable:
    """A value of a parquet file that Python does not have, such as a text that is not UTF-8."""


def kind_of(value: object) -> str:
    """Name the type of a value from JSON or parquet for an error message."""
    return _NAMES.get(type(value), f"a value of type {type(value).__name__}")


_NAMES: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    dict: "an object",
    list: "an array",
    int: "an integer",
    Number: "a number that is not a 64-bit integer",
    float: "a floating-point number",
    str: "a string",
    Unreadable: "a value that cannot be read",
}


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"invalid JSON (the key {duplicate!r} occurs twice)")
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"invalid JSON ({name} is not allowed)")


# Parquet maps may hold values that JSON lacks; as text, the field's rule can refuse them.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_DECODER = json.JSONDecoder(
    # 20 characters hold every 64-bit integer; Python itself refuses to read 4,301 digits.
    parse_int=lambda text: int(text) if len(text) <= 20 else Number(text),
    parse_float=Number,
    parse_constant=_refuse_constant,
    object_pairs_hook=_object,
)


# Python accepts more forms: weeks, days of the year and, in new versions, 24:00.
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?"
)
# Four-digit years, so that the text of every time has the same length and sorts.
FIRST_DAY = date(1000, 1, 1)
_FIRST = day_number(FIRST_DAY) * MILLISECONDS_PER_DAY
_END = (day_number(date(9999, 12, 31)) + 1) * MILLISECONDS_PER_DAY


class Instant(NamedTuple):
    """A point in time: milliseconds since 1970, and whether its text named a zone."""

    milliseconds: int
    zoned: bool


def parse_timestamp(text: str) -> Instant:
    """Read an ISO 8601 timestamp with ``T`` or a space and any offset, cut to milliseconds.

    A time without a zone counts as UTC.

    Raises:
        ValueError: another form, or a day or time that does not exist.
    """
    if not _TIMESTAMP.fullmatch(text):
        raise ValueError(
            f"{text[:80]!r} is not an ISO 8601 timestamp such as 2026-01-15T13:05:00.250Z"
        )
    try:
        day = date.fromisoformat(text[:10])
    except ValueError as error:
        raise ValueError(f"the day {text[:10]!r} does not exist") from error
    try:
        # Later versions of Python read 24:00 as midnight, and earlier ones refuse it.
        time_of_day = None if text[11:13] == "24" else time.fromisoformat(text[11:].upper())
    except ValueError:
        time_of_day = None
    if time_of_day is None:
        raise ValueError(f"the time of day in {text!r} does not exist")
    moment = datetime.combine(day, time_of_day, time_of_day.tzinfo or UTC)
    milliseconds = milliseconds_of(moment)
    if not _FIRST <= milliseconds < _END:
        raise ValueError(f"{text!r} is outside the years 1000 to 9999")
    return Instant(milliseconds, zoned=time_of_day.tzinfo is not None)


# Allows more than 64 bits, so that a number that is too large gets its own error.
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_COUNTRY = re.compile(r"[A-Z]{2}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# Most columns have few values. Only parsers of short texts use this cache, so it stays small.
_cache = lru_cache(maxsize=4096)


class Rule(NamedTuple):
    """The rule for the values of a field.

    Attributes:
        parse: turns non-empty text into the field's value, or raises ``ValueError``.
        type_name: the expected type, for the message about a value of another type.
        types: the types of decoded JSON that are accepted, besides text.
    """

    parse: Callable[[str], object]
    type_name: str
    types: tuple[type, ...] = ()

    def read(self, value: object) -> object:
        """Turn a non-null JSON value into the field's value.

        Raises:
            ValueError: the value has another type, or breaks the field's rule.
        """
        if type(value) is not str and type(value) not in self.types:
            raise ValueError(f"expected {self.type_name}, not {kind_of(value)}")
        if isinstance(value, dict):
            return _strings_by_key(value)
        return self.parse(text_of(value))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _text(text: str) -> str:
    if "\0" in text:
        raise ValueError("text must not contain a NUL character")
    return text


@_cache
def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{_shown(text)} is not an integer")
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{text} does not fit in 64 bits")
    return number


def _between(first: int, last: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = _integer(text)
        if not first <= number <= last:
            raise ValueError(f"{number} is not between {first} and {last}")
        return number

    return parse


def _one_of(choices: Iterable[str]) -> Callable[[str], str]:
    texts = {choice: choice for choice in choices}

    def parse(text: str) -> str:
        try:
            return texts[text]
        except KeyError:
            raise ValueError(f"{_shown(text)} is not one of {', '.join(texts)}") from None

    return parse


def _matching(pattern: re.Pattern[str], rule: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"{_shown(text)} is not {rule}")
        return text

    return parse


def _lower_case(text: str) -> str:
    if text != text.lower():
        raise ValueError(f"{_shown(text)} is not lower case")
    return _text(text)


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError(f"{_shown(text)} is not true or false") from None


def _key_values(text: str) -> dict[str, str]:
    content = decode_json(text)
    if not isinstance(content, dict):
        raise ValueError(f"{_shown(text)} is not a JSON object")  # noqa: TRY004  # the text is wrong, its type is not
    return _strings_by_key(content)


def _strings_by_key(pairs: dict[object, object]) -> dict[str, str]:
    strings = {}
    for key, value in pairs.items():
        # A parquet map may have keys of any type.
        if type(key) is not str:
            raise ValueError(f"the key {_shown(str(key))} is not a string")
        if type(value) is not str:
            raise ValueError(f"the value of {_shown(key)} is not a string")
        strings[_text(key)] = _text(value)
    return dict(sorted(strings.items()))


_money = _cache(nanos_from_text)


_uuid = _matching(_UUID, "a UUID of 32 hexadecimal digits and 4 hyphens")
_RULES: dict[Kind, Rule] = {
    Kind.UUID: Rule(lambda text: _uuid(text).lower(), "a UUID"),
    Kind.INSTANT: Rule(parse_timestamp, "an ISO 8601 timestamp"),
    Kind.DATE: Rule(lambda text: parse_date(text).isoformat(), "a date"),
    Kind.HOUR: Rule(_between(0, 23), "an integer", (int,)),
    Kind.NAME: Rule(_text, "a string", (int,)),
    Kind.TEXT: Rule(_text, "a string"),
    Kind.LOWER_CASE: Rule(_lower_case, "a string"),
    Kind.INTEGER: Rule(_integer, "an integer", (int,)),
    Kind.COUNTRY: Rule(_matching(_COUNTRY, "two upper-case letters"), "a string"),
    Kind.CURRENCY: Rule(_matching(_CURRENCY, "three upper-case letters"), "a string"),
    Kind.MONEY: Rule(_money, "a decimal number", (int, Number)),
    Kind.ERROR_CODE: Rule(_between(100, 901), "an integer", (int,)),
    # 1 and 0 are booleans only as text, because a CSV file has nothing else.
    Kind.BOOLEAN: Rule(_boolean, "true or false", (bool,)),
    Kind.STRINGS: Rule(_key_values, "an object of strings", (dict,)),
    **{kind: Rule(_one_of(words), "a string") for kind, words in CHOICES.items()},
}

# The names of a dimension, which are not fields of an event.
NAME_FIELDS = {dimension.name_field: dimension for dimension in DIMENSIONS}
# The fields that a row may have: those of an event, and the names.
FIELDS = {
    **{name: _RULES[field.kind] for name, field in EVENT_TABLE.items()},
    **{name: Rule(_text, "a string") for name in NAME_FIELDS},
}
REQUIRED_FIELDS = ("event_time", "event_type", "supply_tag_id")
