"""Columns of any Arrow type: their learned types, and arrays of these, by the rules of `values`."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from adanalytics_client._json.exact import Json, json_text, parse_text
from adanalytics_client._json.fields import Kind
from adanalytics_client._json.types import (
    AMOUNT,
    BIT,
    DATE,
    FLAG,
    LEAST_SCALE,
    MOST_DIGITS,
    NULL,
    PAIRS,
    TEXT,
    TIME,
    UNITS,
    ColumnType,
    join_all,
)

from .schema import arrow_type
from .values import FLAGS, REFUSALS, Pairs, pairs_of, plain_pattern, to_array, type_of

_IS = pa.types
_CANONICAL = "^(?:0|-?[1-9][0-9]*)$"
# No number keeps the sign of -0.
_FRACTION = "^(?:(?:0|-?[1-9][0-9]*)(?:[.][0-9]+)?|-0[.][0-9]*[1-9][0-9]*)$"
# As the shortest text of a float is: 1.5 and 1.0, but not 1.50, which may be a version.
_SHORTEST_FRACTION = "^(?:0(?:[.]0)?|-?(?:0[.][0-9]*[1-9]|[1-9][0-9]*(?:[.](?:0|[0-9]*[1-9]))?))$"
# With the small ones as Python and JavaScript write them: 5e-05 and 5e-7.
_FLOAT = f"{_SHORTEST_FRACTION}|^-?[1-9](?:[.][0-9]*[1-9])?e-[0-9]+$"
_FLAG = "^(?:true|false)$"
# Of a column with flags so far: as a flag, a text of another column would lose its spelling. A 1 or
# 0 may be one of several numbers.
_SPELLED_FLAG = f"^(?i:{'|'.join(filter(str.isalpha, FLAGS))})$"


def learn(
    kind: Kind | None, column: pa.Array, *, cells: bool = False, old_type: ColumnType = NULL
) -> ColumnType:
    """Return the type of the values of a column.

    Args:
        kind: that of the field, if it is documented.
        column: of any Arrow type.
        cells: whether the texts are cells of a CSV file, in which numbers and flags have no other
            form than text. They count as such if all of them are plain: neither 007 nor 1E5 is.
            1.10 beside 1.9 may be a version, unless earlier values were numbers.
        old_type: the type of the earlier values.
    """
    type_ = column.type
    if column.null_count == len(column):
        return NULL
    if _IS.is_dictionary(type_):
        return learn(kind, column.dictionary_decode(), cells=cells, old_type=old_type)
    if _is_text(type_):
        return _of_texts(kind, column, old_type, cells=cells)
    if _IS.is_boolean(type_):
        return FLAG
    if _IS.is_timestamp(type_):
        return ColumnType("time", scale=_decimals(column))
    if _IS.is_date(type_):
        return DATE
    # A number in a column of times is seconds since 1970, if it is a plausible moment.
    if (_IS.is_integer(type_) or _IS.is_decimal(type_)) and kind is not Kind.TIME:
        return _of_numbers(kind, column)
    if _IS.is_integer(type_) and (epoch := _epoch_of(column)):
        return epoch
    if _IS.is_floating(type_) or _IS.is_integer(type_) or _IS.is_decimal(type_):
        return join_all(type_of(kind, value) for value in pc.unique(column).to_pylist())
    members = [type_.item_type] if _IS.is_map(type_) else []
    if _IS.is_struct(type_):
        members = [member.type for member in type_]
    # A map of texts only where pairs are documented: any other object stays JSON.
    is_pairs = all(_is_text(member) or _IS.is_null(member) for member in members)
    return PAIRS if kind is Kind.PAIRS and members and is_pairs else TEXT


def convert(type_: ColumnType, column: pa.Array, *, wide: bool = False) -> pa.Array:
    """Return a column as an array of a type that holds all its values.

    Raises:
        REFUSALS: for a value that the type cannot hold exactly.
    """
    target, source = arrow_type(type_, wide=wide), column.type
    if source == target:
        return column
    if column.null_count == len(column):
        return pa.nulls(len(column), target)
    if _IS.is_dictionary(source):
        return convert(type_, column.dictionary_decode(), wide=wide)
    if type_.base in {"text", "null"}:
        return as_text(column)
    if _is_text(source):
        return _from_texts(type_, column.cast(pa.string()), wide=wide)
    if _IS.is_boolean(source) and type_.base == "number":
        return convert(type_, column.cast(pa.int64()), wide=wide)
    if _IS.is_decimal(target) and (_IS.is_integer(source) or _IS.is_decimal(source)):
        # Arrow refuses a whole number of 64 bits in other than its 19 digits, whatever it is.
        if _IS.is_integer(source):
            column = column.cast(pa.decimal128(MOST_DIGITS, 0))
        return column.cast(pa.decimal128(MOST_DIGITS, target.scale)).cast(target)
    if _IS.is_boolean(target) and _IS.is_integer(source) and not _are_bits(column):
        # To Arrow, any other number is true, too.
        raise ValueError("A flag is 0 or 1.")
    if _IS.is_timestamp(target) and _IS.is_integer(source) and (epoch := _epoch_of(column)):
        return column.cast(pa.int64()).cast(pa.timestamp(epoch.epoch, "UTC")).cast(target)
    if type_.base in _SAME_FAMILY and any(
        is_member(source) for is_member in _SAME_FAMILY[type_.base]
    ):
        return column.cast(target)
    if _IS.is_timestamp(source) and type_.epoch:
        return to_array(type_, epochs_of(type_, column), wide=wide)
    return to_array(type_, _plain_values(column), wide=wide)


_SAME_FAMILY = {
    "number": (_IS.is_integer, _IS.is_decimal),
    "bit": (_IS.is_integer,),
    "flag": (_IS.is_integer,),
    "time": (_IS.is_timestamp,),
    "date": (_IS.is_date,),
    "pairs": (lambda type_: _IS.is_map(type_) and _is_text(type_.item_type),),
}


def as_text(column: pa.Array) -> pa.Array:
    """Return any column as text: plain digits, RFC 3339, and JSON for everything with parts."""
    type_ = column.type
    if _IS.is_dictionary(type_):
        return as_text(column.dictionary_decode())
    if any(is_plain(type_) for is_plain in _CAST_TO_TEXT):
        return column.cast(pa.string())
    if _IS.is_timestamp(type_):
        # Seconds have as many decimals as the unit.
        return pc.strftime(column.cast(pa.timestamp(type_.unit, tz="UTC")), "%Y-%m-%dT%H:%M:%SZ")
    if _IS.is_map(type_) and type_ == arrow_type(PAIRS):
        return json_of_pairs(pa.chunked_array([column])).combine_chunks()
    values = _plain_values(column)
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(plain: Json) -> str:
    if isinstance(plain, Decimal):
        digits = f"{plain:f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return plain if isinstance(plain, str) else json_text(plain, sort_keys=True)


def _plain_values(column: pa.Array) -> list[Json]:
    values = column.to_pylist()
    if _IS.is_map(column.type):
        values = [None if value is None else dict(value) for value in values]
    return [*map(_plain, values)]


def _plain(value: Any) -> Json:  # noqa: ANN401  # of any Arrow type
    """Return a value of Arrow as JSON has it."""
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        # Only the members of a map are tuples.
        is_map = bool(value) and isinstance(value[0], tuple)
        return _plain(dict(value)) if is_map else [*map(_plain, value)]
    if isinstance(value, float):
        return repr(value) if value != value or abs(value) == float("inf") else Decimal(repr(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value if isinstance(value, str | int | Decimal | None) else str(value)


def _is_text(type_: pa.DataType) -> bool:
    return bool(_IS.is_string(type_) or _IS.is_large_string(type_) or _IS.is_string_view(type_))


_CAST_TO_TEXT = (_is_text, _IS.is_integer, _IS.is_boolean, _IS.is_date, _IS.is_time)


def _of_texts(
    kind: Kind | None, column: pa.Array, old_type: ColumnType, *, cells: bool
) -> ColumnType:
    if kind in {None, Kind.ID}:
        return _of_cells(column, old_type) if cells else TEXT
    if kind is Kind.TEXT:
        return TEXT
    texts = pc.unique(column.cast(pa.string()))
    if kind is Kind.AMOUNT and all_match(texts, plain_pattern(AMOUNT) or ""):
        return AMOUNT.join(ColumnType("number", LEAST_SCALE, LEAST_SCALE))
    if kind is Kind.TIME and all_match(texts, plain_pattern(TIME) or ""):
        # Most times differ, and Arrow is many times as fast; it refuses the same ones as Python,
        # except for the year 0.
        with suppress(pa.ArrowInvalid):
            texts.cast(arrow_type(TIME))
            if pc.min(texts).as_py() >= "0001":
                return TIME
    type_ = join_all(type_of(kind, text) for text in texts.to_pylist())
    return _of_cells(texts, old_type) if cells and type_.base == "text" else type_


def _of_cells(column: pa.Array, old_type: ColumnType) -> ColumnType:
    if old_type == FLAG and all_match(column, _SPELLED_FLAG):
        return FLAG
    if all_match(column, _CANONICAL):
        return join_all(type_of(None, int(text)) for text in _extremes(column))
    if all_match(column, _FRACTION):
        integer_part = pc.replace_substring_regex(column, "^-|[.].*$", "")
        digits = pc.max(pc.utf8_length(integer_part)).as_py()
        fraction = pc.replace_substring_regex(column, "^-?[0-9]+[.]?", "")
        scales = {*pc.unique(pc.utf8_length(fraction)).to_pylist()} - {0, None}
        is_number = old_type.base == "number" or len(scales) == 1
        if is_number or all_match(column, _SHORTEST_FRACTION):
            # Zeros at the end need no place.
            fraction = pc.utf8_rtrim(fraction, "0")
            scale = max(LEAST_SCALE, pc.max(pc.utf8_length(fraction)).as_py())
            number = ColumnType("number", digits, scale)
            return number if number.precision <= MOST_DIGITS else TEXT
    if all_match(column, _FLOAT):
        return join_all(type_of(Kind.AMOUNT, text) for text in pc.unique(column).to_pylist())
    return FLAG if all_match(column, _FLAG) else TEXT


def _extremes(column: pa.Array) -> Iterator[str]:
    """Yield the texts of whole numbers that have the most digits."""
    lengths = pc.utf8_length(column)
    longest = pc.max(lengths).as_py()
    if longest <= INT64_SURE:
        yield "9" * longest
        return
    long = pc.unique(column.filter(pc.greater(lengths, INT64_SURE)))
    yield from (text for text in long.to_pylist() if text is not None)


INT64_SURE = 18
"""Digits of a whole number that int64 holds, whatever they are."""


def all_match(column: pa.Array, pattern: str) -> bool:
    """Return whether all texts of a column match, except for nulls."""
    return pc.all(pc.match_substring_regex(column, pattern)).as_py() is not False


def _of_numbers(kind: Kind | None, column: pa.Array) -> ColumnType:
    if kind is Kind.FLAG and _IS.is_integer(column.type) and _are_bits(column):
        return BIT
    # The least and the most number decide the type, without a look at each.
    ends = pc.min_max(column).as_py().values()
    is_decimal = _IS.is_decimal(column.type) and column.type.scale > 0
    if not is_decimal and kind is not Kind.AMOUNT:
        return join_all(type_of(None, int(value)) for value in ends)
    of_kind = kind if kind is Kind.AMOUNT else None
    type_ = join_all(type_of(of_kind, value) for value in ends)
    if is_decimal and type_.base == "number":
        scale = max(LEAST_SCALE, column.type.scale)
        # A file's own scale may be larger than its values need, such as after a cast.
        with suppress(pa.ArrowInvalid):
            column.cast(pa.decimal128(MOST_DIGITS, LEAST_SCALE))
            scale = LEAST_SCALE
        type_ = type_.join(ColumnType("number", 1, scale))
    return type_


def _are_bits(column: pa.Array) -> bool:
    return {*pc.min_max(column).as_py().values()} <= {0, 1}


def _decimals(column: pa.Array) -> int:
    """Return the decimals of a second that times need, at least three."""
    for unit in ("ms", "us"):
        with suppress(pa.ArrowInvalid):
            column.cast(pa.timestamp(unit, tz=column.type.tz))
            return UNITS[unit]
    return UNITS["ns"]


def _epoch_of(column: pa.Array) -> ColumnType | None:
    """Return the type of whole numbers that are all times in one unit: these are a range."""
    ends = {type_of(Kind.TIME, value) for value in pc.min_max(column).as_py().values()}
    return next((end for end in ends if end.base == "epoch" and len(ends) == 1), None)


def epochs_of(type_: ColumnType, column: pa.Array) -> list[Json]:
    """Return the times of a column with an epoch as the numbers that they were sent as."""
    shift = UNITS[type_.epoch] - UNITS[column.type.unit]
    exact = (
        None if number is None else Decimal(number).scaleb(shift)
        for number in column.cast(pa.int64()).to_pylist()
    )
    return [number if number is None or number % 1 else int(number) for number in exact]


def _from_texts(type_: ColumnType, texts: pa.StringArray, *, wide: bool) -> pa.Array:
    pattern = plain_pattern(type_, wide=wide)
    with suppress(*REFUSALS):
        if type_.base == "pairs":
            return map_of_pairs(texts)
        if pattern and all_match(texts, pattern):
            return texts.cast(arrow_type(type_, wide=wide))
    dictionary = texts.dictionary_encode()
    distinct = to_array(type_, dictionary.dictionary.to_pylist(), wide=wide)
    return distinct.take(dictionary.indices)


def map_of_pairs(texts: pa.StringArray, suffix: str = "") -> pa.MapArray:
    """Return the members of JSON objects as maps; each distinct text is parsed only once.

    Raises:
        ValueError: for an element that is neither null nor an object of texts and nulls.
    """
    dictionary = texts.dictionary_encode()
    distinct = dictionary.dictionary.to_pylist()
    if not all(text.endswith(suffix) for text in distinct):
        raise ValueError(suffix)
    sets = [pairs_of(text.removesuffix(suffix)) for text in distinct]
    return _map_array(sets).take(dictionary.indices)


def json_of_pairs(maps: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Return maps as the JSON texts of a CSV; each distinct one is encoded once."""
    encode = cache(lambda *pairs: json_text(dict(pairs), sort_keys=True))

    def texts(chunk: pa.MapArray) -> Iterator[str | None]:
        names, values = chunk.keys.to_pylist(), chunk.items.to_pylist()
        ends = pairwise(chunk.offsets.to_pylist())
        for is_valid, (start, end) in zip(chunk.is_valid().to_pylist(), ends, strict=True):
            pairs = zip(names[start:end], values[start:end], strict=True)
            yield encode(*pairs) if is_valid else None

    chunks = [pa.array(texts(chunk), pa.string()) for chunk in maps.chunks]
    return pa.chunked_array(chunks, pa.string())


def comparable(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """Return a column without what a page and a CSV of the same events may write differently."""
    if _IS.is_map(column.type):
        return json_of_pairs(column)
    if column.type != pa.string():
        return column
    # A CSV that does not quote an empty text cannot distinguish it from null.
    texts = pc.fill_null(column, "")
    # The JSON of objects has spaces and an order of its own in each of them.
    if pc.any(pc.match_substring_regex(texts, r"^[{\[]")).as_py():
        texts = pa.chunked_array([[*map(_ordered, texts.to_pylist())]], pa.string())
    return texts


def _ordered(text: str) -> str:
    with suppress(ValueError):
        value = parse_text(text)
        if isinstance(value, dict | list):
            ordered = json_text(value, sort_keys=True)
            # An escaped half of a character cannot be in a column unescaped.
            ordered.encode()
            return ordered
    return text


def _map_array(sets: Sequence[Pairs | None]) -> pa.MapArray:
    # Nulls are rare; without them, the buffers are built at once, which is faster.
    if any(pairs is None or any(text is None for _, text in pairs) for pairs in sets):
        return pa.array(sets, arrow_type(PAIRS))
    flat = [pair for pairs in sets for pair in pairs or ()]
    names = text_array([name.encode() for name, _ in flat])
    texts = text_array([(text or "").encode() for _, text in flat])
    offsets = _offsets(len(pairs or ()) for pairs in sets)
    starts = pa.Array.from_buffers(pa.int32(), len(sets) + 1, [None, offsets])
    return pa.MapArray.from_arrays(starts, names, texts)


def text_array(texts: Sequence[bytes]) -> pa.StringArray:
    """Return an array of text from UTF-8 that is not checked here.

    `pyarrow.array` would import pandas if that is installed: 40 MB and a third of a second.

    Raises:
        OverflowError: for more than 2 GiB.
    """
    buffers = [_offsets(map(len, texts)), pa.py_buffer(b"".join(texts))]
    return pa.StringArray.from_buffers(len(texts), *buffers)


def _offsets(lengths: Iterable[int]) -> pa.Buffer:
    """Return the starts of pieces with these lengths, and the end of the last."""
    return pa.py_buffer(array("i", accumulate(lengths, initial=0)))
