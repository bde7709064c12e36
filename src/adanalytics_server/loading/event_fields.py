"""The fields a row may give, each with the rule that its text must keep.

Empty text is null in every format, so that a CSV file and a JSONL file of the same events
become the same events.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from adanalytics_server.loading.json_values import Number, decode_json, kind_of, text_of
from adanalytics_server.loading.timestamps import parse_timestamp
from adanalytics_server.storage.days import parse_date
from adanalytics_server.storage.events import CHOICES, Kind
from adanalytics_server.storage.events import FIELDS as EVENT_TABLE
from adanalytics_server.storage.money import nanos_from_text

# Longer than 64 bits, so that what is too large is told from what is no number.
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_COUNTRY = re.compile(r"[A-Z]{2}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# Most columns have few values. Only parsers of short text remember them, so this is little memory.
_remembering = lru_cache(maxsize=4096)
_MOST_REMEMBERED_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class Field:
    """One field that a row may give.

    Attributes:
        name: as in the event, or ``campaign_name`` or ``demand_tag_name``.
        parse: turns text that is not empty into the field's value, or raises ``ValueError``.
        wants: what it takes, for the message about a value of another type.
        types: the types of decoded JSON it takes besides text.
    """

    name: str
    parse: Callable[[str], object]
    wants: str
    types: tuple[type, ...] = ()

    def read(self, value: object) -> object:
        """Turn a JSON value that is not null into the field's value.

        Raises:
            ValueError: the value has another type, or breaks the field's rule.
        """
        if type(value) is not str and type(value) not in self.types:
            raise ValueError(f"{kind_of(value)} where {self.wants} is needed")
        if isinstance(value, dict):
            return _strings_by_key(value)
        return self.parse(text_of(value))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _text(text: str) -> str:
    if "\0" in text:
        raise ValueError("text must not hold a NUL character")
    return text


@_remembering
def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{_shown(text)} is not an integer")
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{text} does not fit into 64 bits")
    return number


def _between(first: int, last: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = _integer(text)
        if not first <= number <= last:
            raise ValueError(f"{number} is not between {first} and {last}")
        return number

    return parse


def _one_of(choices: Iterable[str]) -> Callable[[str], str]:
    known = {choice: choice for choice in choices}

    def parse(text: str) -> str:
        try:
            return known[text]
        except KeyError:
            raise ValueError(f"{_shown(text)} is not one of {', '.join(known)}") from None

    return parse


def _matching(pattern: re.Pattern[str], rule: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"{_shown(text)} is not {rule}")
        return text

    return parse


def _uuid(text: str) -> str:
    if not _UUID.fullmatch(text):
        raise ValueError(f"{_shown(text)} is not a UUID of 32 hexadecimal digits and 4 hyphens")
    return text.lower()


def _name(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        lone = text[error.start]
        raise ValueError(f"{lone!r} is half a character that no text can hold") from error
    return _text(text)


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
    if len(text) > _MOST_REMEMBERED_CHARACTERS:
        return _strings_of_object(text)
    return _remembered_strings_of_object(text)


def _strings_of_object(text: str) -> dict[str, str]:
    found = decode_json(text)
    if not isinstance(found, dict):
        message = f"{_shown(text)} is not a JSON object"
        raise ValueError(message)  # noqa: TRY004  # the text is wrong, its type is not
    return _strings_by_key(found)


def _strings_by_key(found: dict[object, object]) -> dict[str, str]:
    strings: dict[str, str] = {}
    for key, value in found.items():
        # A map of a parquet file may have keys of any type.
        if type(key) is not str:
            raise ValueError(f"the key {_shown(str(key))} is not a string")
        if type(value) is not str:
            raise ValueError(f"the value of {_shown(key)} is not a string")
        strings[_text(key)] = _text(value)
    return dict(sorted(strings.items()))


_remembered_strings_of_object = _remembering(_strings_of_object)
_money = _remembering(nanos_from_text)


class _Rule(NamedTuple):
    parse: Callable[[str], object]
    wants: str
    types: tuple[type, ...] = ()


_RULES: dict[Kind, _Rule] = {
    Kind.UUID: _Rule(_uuid, "a UUID"),
    Kind.INSTANT: _Rule(parse_timestamp, "an ISO 8601 timestamp"),
    Kind.DATE: _Rule(lambda text: parse_date(text).isoformat(), "a date"),
    Kind.HOUR: _Rule(_between(0, 23), "an integer", (int,)),
    Kind.NAME: _Rule(_text, "a string", (int,)),
    Kind.TEXT: _Rule(_text, "a string"),
    Kind.LOWER_CASE: _Rule(_lower_case, "a string"),
    Kind.INTEGER: _Rule(_integer, "an integer", (int,)),
    Kind.COUNTRY: _Rule(_matching(_COUNTRY, "two upper-case letters"), "a string"),
    Kind.CURRENCY: _Rule(_matching(_CURRENCY, "three upper-case letters"), "a string"),
    Kind.MONEY: _Rule(_money, "a decimal number", (int, Number)),
    Kind.ERROR_CODE: _Rule(_between(100, 901), "an integer", (int,)),
    # 1 and 0 are booleans as text only, which is all that a CSV file has.
    Kind.BOOLEAN: _Rule(_boolean, "true or false", (bool,)),
    Kind.STRINGS: _Rule(_key_values, "an object of strings", (dict,)),
    **{kind: _Rule(_one_of(words), "a string") for kind, words in CHOICES.items()},
}

# What names become rows of their own for; they are no fields of an event.
NAME_FIELDS = {"campaign_name": "campaign_id", "demand_tag_name": "demand_tag_id"}
FIELDS = {
    **{name: Field(name, *_RULES[field.kind]) for name, field in EVENT_TABLE.items()},
    **{name: Field(name, _name, "a string") for name in NAME_FIELDS},
}
REQUIRED_FIELDS = ("event_time", "event_type", "supply_tag_id")
