"""Events parsed from JSON lines by Arrow itself, if that is exact.

The key_values of an event, whose names differ from event to event, must be its last member: they
are cut off and parsed separately.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.exact import parse_text
from adanalytics_client._outputs.arrow.schema import DECIMALS, EVENT_KINDS, Kind, arrow_type
from adanalytics_client._outputs.arrow.values import TEXT_FIRST, Pairs, amount_pattern, pairs_of

# Inside a JSON string a quotation mark is escaped, so `,"` is always outside.
_PAIRS = re.compile(rb',"key_values":(.*)\n')


def read_lines(lines: bytes, schema: pa.Schema, *, skip_others: bool) -> pa.RecordBatch:
    """Return known columns of events, parsed directly from their text.

    Arrow's reader is given the type of every column, so it refuses numbers in place of text, text
    in place of numbers, fractions in place of whole numbers, and repeated names.

    Args:
        lines: at least one event, each with its line break.
        schema: of columns of `EVENT_KINDS`.
        skip_others: leave other columns out; otherwise they are refused.

    Raises:
        REFUSALS: when the text does not fit the schema; then read the values one by one.
    """
    parted = _PAIRS.split(lines)
    table = _read(b"}\n".join(parted[::2]), schema, skip_others=skip_others)
    if table.num_rows != len(parted) // 2:
        raise ValueError("a line is not one event, or has no key_values")
    # Parsed even if the column is not chosen: text that is not JSON is an error.
    pairs = map_of_pairs(_text_array(parted[1::2]), suffix="}")
    arrays = [
        pairs if EVENT_KINDS[field.name] is Kind.PAIRS else _cast(table[field.name], field)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _read(text: bytes, schema: pa.Schema, *, skip_others: bool) -> pa.Table:
    """Return all columns but the pairs; columns that Arrow casts from text stay text."""
    fields = [
        field.with_type(pa.string()) if EVENT_KINDS[field.name] in TEXT_FIRST else field
        for field in schema
        if EVENT_KINDS[field.name] is not Kind.PAIRS
    ]
    return pj.read_json(
        pa.BufferReader(text),
        # The page is one block, so more threads would save nothing.
        read_options=pj.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema(fields),
            unexpected_field_behavior="ignore" if skip_others else "error",
        ),
    )


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.Array:
    kind, texts = EVENT_KINDS[field.name], column.combine_chunks()
    if kind in DECIMALS:
        pattern = amount_pattern(kind, wide=field.type == arrow_type(kind, wide=True))
        if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
            raise ValueError(f"{field.name}: an amount is not plain")
    return texts.cast(field.type) if kind in TEXT_FIRST else texts


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
    value = parse_text(text.removesuffix(suffix))
    return None if value is None else pairs_of(value)


def _map_array(sets: Sequence[Pairs | None]) -> pa.MapArray:
    if any(each is None or any(text is None for _, text in each) for each in sets):
        return pa.array(sets, arrow_type(Kind.PAIRS))
    flat = [pair for each in sets for pair in each or ()]
    names = _text_array([name.encode() for name, _ in flat])
    texts = _text_array([(text or "").encode() for _, text in flat])
    offsets = _offsets(len(each or ()) for each in sets)
    starts = pa.Array.from_buffers(pa.int32(), len(sets) + 1, [None, offsets])
    return pa.MapArray.from_arrays(starts, names, texts)


def _text_array(texts: Sequence[bytes]) -> pa.StringArray:
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
