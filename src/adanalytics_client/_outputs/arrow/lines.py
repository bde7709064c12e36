"""Events read as columns from their text, if that is exact.

Most services send the same members in the same order: then a page is cut at its commas, which takes
half of the time of Arrow's JSON reader. That one reads the other pages. The key_values of an
event, whose names differ from event to event, must be its last member: they are cut off and parsed
separately.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.json as pj

from adanalytics_client._json.fields import Kind
from adanalytics_client._json.types import NULL, ColumnType, Types

from .conversion import all_match, convert, learn, map_of_pairs, text_array
from .schema import arrow_type
from .values import REFUSALS, plain_pattern

# A number, or a text that Arrow would take for one, with an exponent: see `values.plain_pattern`.
_EXPONENT = re.compile(rb'[:,\[]\s*"?[-+]?[0-9.]+[eE][-+]?[0-9]')

# The place of the first hyphen of a day; no number of at least 1,000 has one there.
_HYPHEN = 4
_OBJECT = re.compile(rb',\s*"(?P<name>[^"\\]*)"\s*:\s*\{')
_NAME = re.compile(rb'\{?\s*"(?P<name>[^"]*)"\s*:\s*')


def read_lines(
    texts: Sequence[bytes], types: Types, numbers: Collection[str], *, wide: bool, skip_others: bool
) -> pa.RecordBatch:
    """Return columns of events, read directly from their text.

    Both readers are given the type of every column, so they refuse numbers in place of text, text
    in place of numbers, fractions in place of whole numbers, and repeated names.

    Args:
        texts: of at least one event, valid JSON in UTF-8.
        types: the columns to read, and their types.
        numbers: the columns of decimals that are sent as JSON numbers; the others are text.
        wide: as for `ColumnType.arrow`.
        skip_others: leave other columns out; otherwise they are refused.

    Raises:
        REFUSALS: when the text does not fit the types; then read the values one by one.
    """
    fields = {}
    rows: Sequence[bytes]
    for name, type_ in types.items():
        if type_.base == "epoch" and type_.scale:
            raise ValueError(f"{name} has fractions of times as numbers")
        fields[name] = _read_as(type_, is_number=name in numbers)
    pairs = next((name for name, type_ in types.items() if type_.base == "pairs"), None)
    if pairs is not None:
        del fields[pairs]
        rows, maps = _split(texts, pairs)
    else:
        rows, maps = [text[:-1] for text in texts], None
        match = skip_others and _OBJECT.search(texts[0])
        if match and match["name"].decode() not in types:
            # Its commas would be in the way.
            with suppress(*REFUSALS):
                rows, _ = _split(texts, match["name"].decode())
    try:
        columns = _cut(rows, types, fields, skip_others=skip_others)
    except REFUSALS:
        columns = _parse(rows, types, fields, numbers, skip_others=skip_others)
    arrays = []
    for name, type_ in types.items():
        if name == pairs:
            arrays.append(maps)
        else:
            column = columns[name]
            is_epoch = type_.base == "epoch"
            if type_.base == "time" and _hyphens(column) - {_HYPHEN, None}:
                raise ValueError(f"{name} has times as numbers")
            if is_epoch and learn(Kind.TIME, column) not in {type_, NULL}:
                raise ValueError(f"{name} has times in several units, or other numbers")
            arrays.append(convert(type_, column, wide=wide))
    return pa.RecordBatch.from_arrays(arrays, names=[*types])


def _hyphens(column: pa.StringArray) -> set[int | None]:
    """Return the first and last place of the first hyphen of texts; -1 for none."""
    return {*pc.min_max(pc.find_substring(column, "-")).as_py().values()}


def _split(texts: Sequence[bytes], name: str) -> tuple[Sequence[bytes], pa.MapArray]:
    """Return the events without their last member and brace, and that member."""
    # Inside a JSON string a quotation mark is escaped, so `,"` in front of a name is outside.
    match = re.search(rb"\s*,\s*%b\s*:\s*" % re.escape(_quoted(name)), texts[0])
    if not match:
        raise ValueError(f"the first event has no {name}")
    # Slices, not tuples: thousands of tuples start the search for garbage again and again. An
    # event without the member is a ValueError.
    rows = [text[: text.rindex(match[0])] for text in texts]
    objects = [text[len(row) + len(match[0]) :] for text, row in zip(texts, rows, strict=True)]
    # Parsed even if it is empty: text that is not JSON is an error.
    return rows, map_of_pairs(text_array(objects), suffix="}")


def _cut(
    rows: Sequence[bytes], types: Types, fields: Mapping[str, pa.DataType], *, skip_others: bool
) -> dict[str, pa.Array]:
    """Return columns cut out of events with the members of the first one, in the same order.

    What follows a comma inside of a string or a list does not begin with the quoted name of a
    member, so if all parts between commas begin with the name of their column, all are members.
    """
    text = b"\n".join(rows)
    matches = [match for cell in rows[0].split(b",") if (match := _NAME.match(cell))]
    names = [match["name"].decode() for match in matches]
    strangers = {*names} - fields.keys()
    # An object inside of a column that is left out may have members with the same names.
    if strangers and (not skip_others or text.count(b"{") > len(rows)):
        raise ValueError("other columns")
    if b"\\" in text or len({*names}) < len(names):
        raise ValueError("an escaped character, or a repeated name")
    table = pv.read_csv(
        pa.BufferReader(text),
        pv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
        pv.ParseOptions(quote_char=False),
        pv.ConvertOptions(column_types=dict.fromkeys(names, pa.binary())),
    )
    if table.num_rows != len(rows):
        raise ValueError("a line is not one event")
    columns = {name: pa.nulls(len(rows), type_) for name, type_ in fields.items()}
    for match, name in zip(matches, names, strict=True):
        column, type_ = table[name].combine_chunks(), fields.get(name)
        is_text = type_ == pa.string()
        start = match[0] + b'"' * is_text
        is_null, fits = (pc.starts_with(column, front) for front in (match[0] + b"null", start))
        if is_text:
            fits = pc.and_(fits, pc.ends_with(column, b'"'))
        if not pc.all(pc.or_(fits, is_null)).as_py():
            raise ValueError(f"{name} has other values, or is elsewhere")
        if type_ is None:
            continue
        # Without an end, `binary_slice` overflows (seen with pyarrow 26).
        values = pc.binary_slice(column, len(start), -1 if is_text else len(text))
        values = values.view(pa.string())
        if pc.any(is_null).as_py():
            values = pc.if_else(is_null, pa.NULL, values)
        # Of JSON's values, Arrow casts only whole numbers to int64.
        pattern = None if is_text or type_ == pa.int64() else plain_pattern(types[name], wide=True)
        if pattern and not all_match(values, pattern):
            raise ValueError(f"{name} has other values")
        columns[name] = values.cast(type_)
    return columns


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
    return pa.int64() if type_.base in {"bit", "epoch"} else arrow_type(type_, wide=True)


def _parse(
    rows: Sequence[bytes],
    types: Types,
    fields: Mapping[str, pa.DataType],
    numbers: Collection[str],
    *,
    skip_others: bool,
) -> dict[str, pa.Array]:
    """Return columns parsed by Arrow, where it reads no number as another."""
    text = b"}\n".join([*rows, b""])
    if numbers and _EXPONENT.search(text):
        raise ValueError("a number has an exponent")
    for name in numbers:
        if not _is_plain(name) or _odd_number(name, types[name]).search(text):
            raise ValueError(f"{name} has values that Arrow reads as other numbers")
    table = pj.read_json(
        pa.BufferReader(text),
        # The page is one block, so more threads would save nothing.
        read_options=pj.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema(fields.items()),
            unexpected_field_behavior="ignore" if skip_others else "error",
        ),
    )
    if table.num_rows != len(rows):
        raise ValueError("a line is not one event")
    return {name: table[name].combine_chunks() for name in fields}
