"""Events parsed from JSON lines by Arrow itself, if that is exact.

The key_values of an event, whose names differ from event to event, must be its last member: they
are cut off and parsed separately.
"""

import re

import pyarrow as pa
import pyarrow.json as pj

from adanalytics_client._outputs.arrow.conversion import convert, map_of_pairs, text_array
from adanalytics_client._outputs.arrow.schema import DECIMALS, EVENT_KINDS, Kind, arrow_type
from adanalytics_client._outputs.arrow.values import TEXT_FIRST

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
    pairs = map_of_pairs(text_array(parted[1::2]), suffix="}")
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
    kind, array = EVENT_KINDS[field.name], column.combine_chunks()
    wide = kind in DECIMALS and field.type == arrow_type(kind, wide=True)
    return convert(kind, array, wide=wide)
