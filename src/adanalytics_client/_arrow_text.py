"""Pages as Arrow batches straight from their text, where Arrow's own reader is exact.

That reader is given the type of every column, and then refuses numbers where text is expected, text
where numbers are, fractions for whole numbers, unknown names and names that come twice. Its answer
to any of these is None here, and the page is read the careful way.
"""

import io
from typing import TYPE_CHECKING

from adanalytics_client._arrow_schema import EVENT_KINDS, Kind, arrow_schema, arrow_type
from adanalytics_client._arrow_values import REFUSALS, to_array
from adanalytics_client._extras import import_extra
from adanalytics_client._json import DECODER, Json
from adanalytics_client._lines import Lines

if TYPE_CHECKING:
    import pyarrow as pa

# The one member whose names differ from event to event; with the comma it cannot lie in a string.
_PAIRS = ',"key_values":{'
_NO_PAIRS: dict[str, Json] = {}
_AS_TEXT = (Kind.MONEY, Kind.TIME, Kind.DATE)
_READ = {
    name: Kind.TEXT if kind in _AS_TEXT else kind
    for name, kind in EVENT_KINDS.items()
    if kind is not Kind.PAIRS
}


def batch_of_text(lines: Lines, most: int | None) -> "pa.RecordBatch | None":
    """The known columns of a page, or None where a careful reader is needed."""
    arrow = import_extra("pyarrow", extra="arrow")
    parted = _part(lines.upto(most))
    if parted is None:
        return None
    text, pairs = parted
    try:
        table = _read(text)
        if table.num_rows != len(pairs):
            return None
        arrays = [
            to_array(kind, pairs) if kind is Kind.PAIRS else _cast(table[name], kind)
            for name, kind in EVENT_KINDS.items()
        ]
    except REFUSALS:
        return None
    batch: pa.RecordBatch = arrow.RecordBatch.from_arrays(
        arrays, schema=arrow_schema(EVENT_KINDS, EVENT_KINDS)
    )
    return batch


def _part(lines: Lines) -> tuple[str, list[dict[str, Json]]] | None:
    """The events without their last member, which must be their pairs, and these."""
    text, ends = lines.spans()
    begin = 1
    find, read = text.rfind, DECODER.raw_decode
    rests: list[str] = []
    pairs: list[dict[str, Json]] = []
    for end in ends:
        at = find(_PAIRS, begin, end)
        if at < 0:
            return None
        value = at + len(_PAIRS) - 1
        if text.startswith("{}}", value) and value + 3 == end:
            pairs.append(_NO_PAIRS)
        else:
            try:
                found, behind = read(text, value)
            except (ValueError, RecursionError, ArithmeticError):
                return None
            if behind + 1 != end:
                return None
            pairs.append(found)
        rests.append(text[begin:at])
        begin = end + 1
    return "}\n".join(rests) + "}\n", pairs


def _read(text: str) -> "pa.Table":
    reader = import_extra("pyarrow.json", extra="arrow")
    body = text.encode()
    table: pa.Table = reader.read_json(
        io.BytesIO(body),
        # One block holds the page; more threads would save no work.
        read_options=reader.ReadOptions(use_threads=False, block_size=len(body) + 1),
        parse_options=reader.ParseOptions(
            explicit_schema=arrow_schema(_READ, _READ), unexpected_field_behavior="error"
        ),
    )
    return table


def _cast(column: "pa.ChunkedArray", kind: Kind) -> "pa.Array":
    whole = column.combine_chunks()
    return whole.cast(arrow_type(kind)) if kind in _AS_TEXT else whole
