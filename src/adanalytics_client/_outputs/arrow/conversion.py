"""Columns of any Arrow type as columns of a kind, by the rules of `values`."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate, pairwise

import pyarrow as pa
import pyarrow.compute as pc

from adanalytics_client._json.encoding import json_text
from adanalytics_client._outputs.arrow.schema import DECIMALS, Kind, arrow_type
from adanalytics_client._outputs.arrow.values import (
    REFUSALS,
    Pairs,
    UnfitValue,
    pairs_of,
    plain_pattern,
    to_array,
)

_IS = pa.types


def convert(kind: Kind, column: pa.Array, *, wide: bool = False) -> pa.Array:
    """Return a column with the type of its kind.

    Texts are read as `to_array` reads them. Other Arrow types are cast within their own family,
    such as timestamps of another unit; the cast refuses what it would change. Numbers and flags
    have the rules of those in JSON, so a number is neither a time nor a flag.

    Raises:
        UnfitValue: for the first value that the type cannot hold exactly.
        REFUSALS: for a column of a type that does not fit, such as floats.
    """
    made, type_ = arrow_type(kind, wide=wide), column.type
    if type_ == made:
        return column
    if _IS.is_dictionary(type_):
        return convert(kind, column.dictionary_decode(), wide=wide)
    if _IS.is_string(type_) or _IS.is_large_string(type_):
        return _from_texts(kind, column.cast(pa.string()), wide=wide)
    if _IS.is_null(type_) or any(belongs(type_) for belongs in _FAMILIES.get(kind, ())):
        return column.cast(made)
    if any(belongs(type_) for belongs in _OF_JSON):
        return to_array(kind, column.to_pylist(), wide=wide)
    raise ValueError(f"{type_} does not fit {made}")


def _from_texts(kind: Kind, texts: pa.StringArray, *, wide: bool) -> pa.Array:
    if kind is Kind.TEXT:
        return texts
    pattern = plain_pattern(kind, wide=wide)
    with suppress(*REFUSALS):
        if kind is Kind.PAIRS:
            return map_of_pairs(texts)
        if pattern and pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False:
            return texts.cast(arrow_type(kind, wide=wide))
    encoded = texts.dictionary_encode()
    try:
        distinct = to_array(kind, encoded.dictionary.to_pylist(), wide=wide)
    except UnfitValue as unfit:
        row = pc.index(encoded.indices, unfit.index).as_py()
        raise UnfitValue(row, unfit.value) from None
    return distinct.take(encoded.indices)


_OF_JSON = (_IS.is_boolean, _IS.is_integer, _IS.is_decimal)
_FAMILIES = {
    Kind.WHOLE: (_IS.is_integer,),
    Kind.TIME: (_IS.is_timestamp,),
    Kind.DATE: (_IS.is_date,),
    Kind.PAIRS: (_IS.is_map,),
    **dict.fromkeys(DECIMALS, (_IS.is_integer, _IS.is_decimal)),
}


def map_of_pairs(texts: pa.StringArray, suffix: str = "") -> pa.MapArray:
    """Return the members of JSON objects as maps; see `tables.pairs_array`."""
    encoded = texts.dictionary_encode()
    sets = [_read_pairs(text, suffix) for text in encoded.dictionary.to_pylist()]
    return _map_array(sets).take(encoded.indices)


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


def _read_pairs(text: str, suffix: str) -> Pairs | None:
    if not text.endswith(suffix):
        raise ValueError(text)
    return pairs_of(text.removesuffix(suffix))


def _map_array(sets: Sequence[Pairs | None]) -> pa.MapArray:
    if any(each is None or any(text is None for _, text in each) for each in sets):
        return pa.array(sets, arrow_type(Kind.PAIRS))
    flat = [pair for each in sets for pair in each or ()]
    names = text_array([name.encode() for name, _ in flat])
    texts = text_array([(text or "").encode() for _, text in flat])
    offsets = _offsets(len(each or ()) for each in sets)
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
