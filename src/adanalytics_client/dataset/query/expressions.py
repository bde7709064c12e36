"""Columns as expressions of SQL: types, casts, and the members of JSON lines."""

from collections.abc import Collection, Mapping

import pyarrow as pa

from adanalytics_client._base.choices import PartFormat
from adanalytics_client._json.exact import json_text
from adanalytics_client._json.types import UNITS, Base, ColumnType
from adanalytics_client._outputs.arrow.schema import arrow_type

from .names import literal

_TYPES: Mapping[Base, str] = {
    "null": "VARCHAR",
    "bit": "BOOLEAN",
    "flag": "BOOLEAN",
    "date": "DATE",
    "pairs": "MAP(VARCHAR, VARCHAR)",
    "text": "VARCHAR",
}
# In a line of JSON, a text or a number; and a character that no text has, by Unicode's rules.
_PARTS = r'("(?:[^"\\]|\\.)*")|(-?[0-9][-+.eE0-9]*)'
_MARK = "\ufdd0"


def sql_type(type_: ColumnType) -> str:
    if type_.base == "number":
        arrow = arrow_type(type_, wide=True)
        is_whole = pa.types.is_integer(arrow)
        return "BIGINT" if is_whole else f"DECIMAL({arrow.precision}, {arrow.scale})"
    if type_.base in {"time", "epoch"}:
        if type_.decimals <= UNITS["us"]:
            return "TIMESTAMPTZ"
        return "TIMESTAMPTZ_NS"
    return _TYPES[type_.base]


def reading_type(type_: ColumnType) -> str:
    """Return the type by which a value of JSON lines is read exactly, before it is cast."""
    return "VARCHAR" if type_.base in {"bit", "time", "epoch", "null"} else sql_type(type_)


def cast(place: str, own: ColumnType, type_: ColumnType, form: PartFormat) -> str:
    """Return an expression for a column of files with its own type, as the type of all files."""
    expression, bases = sql_type(type_), {own.base, type_.base}
    if bases <= {"time", "epoch"}:
        return (
            f"CAST({_moment(place, expression)} AS {expression})"
            if form == "jsonl"
            else _plain(place, expression)
        )
    # Earlier files took whole seconds for a time; as a number they are what the service sent.
    if form == "parquet" and type_.base == "number" and own.base == "epoch":
        factor = f"CAST(0.000001 AS DECIMAL(7, 6)) * {10 ** UNITS[own.epoch]}"
        return _plain(f"CAST(epoch_us({place}) AS DECIMAL(19, 0)) * {factor}", expression)
    # The files have as many decimals as their widest value; the service sent none of these zeros.
    if type_.base == "text" and is_fraction(own):
        return f"rtrim(rtrim(CAST({place} AS VARCHAR), '0'), '.')"
    if form == "parquet" and type_.base == "text":
        if own.base in {"time", "epoch"}:
            decimals = "gfn"[(own.decimals - 1) // 3]
            return f"strftime({place}, '%Y-%m-%dT%H:%M:%S.%{decimals}Z')"
        if own.base == "pairs":
            place = f"to_json({place})"
    return _plain(place, expression)


def _plain(place: str, expression: str) -> str:
    return f"CAST({place} AS {expression})"


def _moment(place: str, expression: str) -> str:
    """Return a time that JSON lines have as text, or as a number of seconds or of parts of them."""
    make, decimals = (
        ("make_timestamp", 6) if expression == "TIMESTAMPTZ" else ("make_timestamp_ns", 9)
    )
    cases = " ".join(
        f"WHEN {10 + digits} THEN CAST(CAST({place} AS DECIMAL(28, 9)) "
        f"* CAST({10 ** (decimals - digits)} AS DECIMAL(10, 0)) AS BIGINT)"
        for digits in UNITS.values()
        if digits <= decimals
    )
    plain = f"CAST(CAST({place} AS DECIMAL(28, 9)) AS VARCHAR)"
    number = f"CASE strpos({plain}, '.') - 1 {cases} END"
    is_number = f"regexp_full_match({place}, '[0-9]+([.][0-9]+)?([eE][+]?[0-9]+)?')"
    # DuckDB reads no small letters and no comma.
    text = f"CAST(translate({place}, 'tz,', 'TZ.') AS {expression})"
    return f"CASE WHEN {is_number} THEN {make}({number}) AT TIME ZONE 'UTC' ELSE {text} END"


def is_fraction(type_: ColumnType) -> bool:
    return type_.base == "number" and type_.scale > 0


def member(name: str, type_: str, own: ColumnType, parsed: Collection[str]) -> str:
    """Return an expression for a member of a line, whose name is case-sensitive."""
    if own.is_mixed or not name:
        return _digits(name)
    return f"{'line' if name in parsed else parse_line({name: type_})}[{literal(name)}]"


# The text of others is cast later: a value that does not fit is an error, and no null.
_PARSED = ("DECIMAL", "MAP")


def parse_line(types: Mapping[str, str]) -> str:
    """Return an expression for the members of a line that have these names."""
    read_as = {
        name: type_ if type_.startswith(_PARSED) else "VARCHAR" for name, type_ in types.items()
    }
    return f"json_transform(json, {literal(json_text(read_as))})"


def _digits(name: str) -> str:
    """Return an expression for the text of a member of a line, with all digits of its numbers.

    DuckDB would read those with a fraction through floats. So they are read as texts, with a mark
    at both ends; whatever is left of the marks and their quotes is removed.
    """
    # RFC 6901.
    pointer = literal(f"/{name.replace('~', '~0').replace('/', '~1')}")
    member, begin, end = f"json ->> {pointer}", f'"{_MARK}', f'{_MARK}"'
    parts = literal(rf"\1{begin}\2{end}")
    exact = f"regexp_replace(json, {literal(_PARTS)}, {parts}, 'g')"
    # Texts have an empty number behind them.
    exact = f"replace({exact}, {literal(begin + end)}, '') ->> {pointer}"
    for mark in (begin, end, _MARK):
        exact = f"replace({exact}, {literal(mark)}, '')"
    return f"CASE WHEN regexp_matches({member}, '[0-9][.eE]') THEN {exact} ELSE {member} END"
