"""Events parsed from JSON lines by Arrow itself, if that is exact.

The key_values of an event, whose names differ from event to event, must be its last member: they
are cut off and parsed separately.
"""

import json
import re
from collections.abc import Collection
from functools import cache

import pyarrow as pa
import pyarrow.json as pj

from adanalytics_client._json.fields import Kind
from adanalytics_client._json.types import NULL, ColumnType, Types
from adanalytics_client._outputs.arrow.conversion import (
    all_match,
    convert,
    learn,
    map_of_pairs,
    text_array,
)
from adanalytics_client._outputs.arrow.schema import arrow_type

# A number, or a text that Arrow would take for one, with an exponent: see `values.plain_pattern`.
_EXPONENT = re.compile(rb'[:,\[]\s*"?[-+]?[0-9.]+[eE][-+]?[0-9]')

_DAY = "^[0-9]{4}-"


def read_lines(
    lines: bytes, types: Types, numbers: Collection[str], *, wide: bool, skip_others: bool
) -> pa.RecordBatch:
    """Return columns of events, parsed directly from their text.

    Arrow's reader is given the type of every column, so it refuses numbers in place of text, text
    in place of numbers, fractions in place of whole numbers, and repeated names.

    Args:
        lines: at least one event, each with its line break.
        types: the columns to read, and their types.
        numbers: the columns of decimals that are sent as JSON numbers; the others are text.
        wide: as for `ColumnType.arrow`.
        skip_others: leave other columns out; otherwise they are refused.

    Raises:
        REFUSALS: when the text does not fit the types; then read the values one by one.
    """
    pairs = next((name for name, type_ in types.items() if type_.base == "pairs"), None)
    parts = [lines] if pairs is None else _last_member(pairs).split(lines)
    text = lines if pairs is None else b"}\n".join(parts[::2])
    if numbers and _EXPONENT.search(text):
        raise ValueError("a number has an exponent")
    fields = {}
    for name, type_ in types.items():
        if type_.base == "epoch" and type_.scale:
            raise ValueError(f"{name} has fractions of times as numbers")
        if name in numbers and (not _is_plain(name) or _odd_number(name, type_).search(text)):
            raise ValueError(f"{name} has values that Arrow reads as other numbers")
        fields[name] = _read_as(type_, is_number=name in numbers)
    table = _read(
        text, {name: field for name, field in fields.items() if name != pairs}, skip_others
    )
    if table.num_rows != (lines.count(b"\n") if pairs is None else len(parts) // 2):
        raise ValueError("a line is not one event, or has no key_values")
    arrays = []
    for name, type_ in types.items():
        if name == pairs:
            # Parsed even if it is empty: text that is not JSON is an error.
            arrays.append(map_of_pairs(text_array(parts[1::2]), suffix="}"))
        else:
            column = table[name].combine_chunks()
            is_epoch = type_.base == "epoch"
            if type_.base == "time" and not all_match(column, _DAY):
                raise ValueError(f"{name} has times as numbers")
            if is_epoch and learn(Kind.TIME, column) not in {type_, NULL}:
                raise ValueError(f"{name} has times in several units, or other numbers")
            arrays.append(convert(type_, column, wide=wide))
    return pa.RecordBatch.from_arrays(arrays, names=[*types])


@cache
def _last_member(name: str) -> "re.Pattern[bytes]":
    # Inside a JSON string a quotation mark is escaped, so `,"` is always outside.
    return re.compile(b",%b:(.*)\\n" % re.escape(_quoted(name)))


@cache
def _odd_number(name: str, type_: ColumnType) -> "re.Pattern[bytes]":
    """Return a pattern of values that Arrow reads as other numbers.

    It takes texts for numbers, lets others overflow, and 1.0 is a whole number to it.
    """
    target = arrow_type(type_, wide=True)
    digits, fraction = target.precision - target.scale, b"" if type_.scale else b"|-?[0-9]+[.]"
    odd = rb'%b:\s*(?:"|-?[0-9]{%d}%b)' % (re.escape(_quoted(name)), digits + 1, fraction)
    return re.compile(odd)


def _is_plain(name: str) -> bool:
    """Return whether a name has no character that may be escaped in JSON."""
    return name.isascii() and name.isprintable() and not {*name} & {*'"\\/'}


def _quoted(name: str) -> bytes:
    return json.dumps(name, ensure_ascii=False).encode()


def _read_as(type_: ColumnType, *, is_number: bool) -> pa.DataType:
    if type_.base in {"time", "date"} or (type_.base == "number" and type_.scale and not is_number):
        return pa.string()
    if type_.base == "null":
        return pa.null()
    return pa.int64() if type_.base in {"bit", "epoch"} else arrow_type(type_, wide=True)


def _read(text: bytes, fields: dict[str, pa.DataType], skip_others: bool) -> pa.Table:
    return pj.read_json(
        pa.BufferReader(text),
        # The page is one block, so more threads would save nothing.
        read_options=pj.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema(fields.items()),
            unexpected_field_behavior="ignore" if skip_others else "error",
        ),
    )
