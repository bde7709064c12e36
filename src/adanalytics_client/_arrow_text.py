"""JSON lines as Arrow batches straight from their text, where Arrow's own reader is exact.

That reader is given the type of every column, and then refuses numbers where text is expected, text
where numbers are, fractions for whole numbers and names that come twice. Its answer to any of these
is None here, and the page is read the careful way.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from adanalytics_client._arrow_buffers import text_array
from adanalytics_client._arrow_pairs import pairs_array
from adanalytics_client._arrow_schema import EVENT_KINDS, Kind, arrow_schema, arrow_type
from adanalytics_client._arrow_values import REFUSALS
from adanalytics_client._extras import import_extra

if TYPE_CHECKING:
    import pyarrow as pa

# The one member whose names differ from event to event. Its quotation mark behind a comma cannot
# lie in a string; and nothing but the end of the event may follow its value.
_PAIRS = b',"key_values":'
_AS_TEXT = (Kind.MONEY, Kind.TIME, Kind.DATE)
_AT_A_TIME = 512 * 1024
"""Bytes of lines that are cut at a time: many small pieces, which the caches of a core hold."""


def batch_of_jsonl(
    lines: bytes, columns: Collection[str], *, others: bool = False
) -> "pa.RecordBatch | None":
    """Known columns of events, or None where a careful reader is needed.

    Args:
        lines: at least one event, each on a line of its own.
        columns: names of `EVENT_KINDS`.
        others: leave other columns out; without it they are for the careful reader.
    """
    arrow = import_extra("pyarrow", extra="arrow")
    kinds = {name: EVENT_KINDS[name] for name in columns}
    try:
        rest, pairs = _part(lines)
        table = _read(rest, kinds, others=others)
        if table.num_rows != len(pairs):
            return None
        # Read also where nobody wants them: what is no JSON is an error.
        sets = pairs_array(text_array(pairs), behind="}")
        arrays = [
            sets if kind is Kind.PAIRS else _cast(table[name], kind) for name, kind in kinds.items()
        ]
    except REFUSALS:
        return None
    batch: pa.RecordBatch = arrow.RecordBatch.from_arrays(arrays, schema=arrow_schema(kinds, kinds))
    return batch


def _part(lines: bytes) -> tuple[bytes, list[bytes]]:
    """The events without their last member, which must be their pairs, and these with the brace.

    Raises:
        ValueError: when the last line is not whole.
    """
    rests: list[bytes] = []
    pairs: list[bytes] = []
    for group in _groups(lines):
        # An event without pairs leaves no rest, which no reader takes for one.
        parted = [event.rpartition(_PAIRS) for event in group]
        rests.append(b"}\n".join([*(rest for rest, _, _ in parted), b""]))
        pairs += [found for _, _, found in parted]
    return b"".join(rests), pairs


def _groups(lines: bytes) -> Iterator[list[bytes]]:
    begin = 0
    while begin < len(lines):
        behind = lines.rfind(b"\n", begin, begin + _AT_A_TIME)
        if behind < 0:
            behind = lines.index(b"\n", begin)
        yield lines[begin:behind].split(b"\n")
        begin = behind + 1


def _read(text: bytes, kinds: dict[str, Kind], *, others: bool) -> "pa.Table":
    arrow = import_extra("pyarrow", extra="arrow")
    reader = import_extra("pyarrow.json", extra="arrow")
    read = {
        name: Kind.TEXT if kind in _AS_TEXT else kind
        for name, kind in kinds.items()
        if kind is not Kind.PAIRS
    }
    table: pa.Table = reader.read_json(
        arrow.BufferReader(text),
        # One block holds the page; more threads would save no work.
        read_options=reader.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=reader.ParseOptions(
            explicit_schema=arrow_schema(read, read),
            unexpected_field_behavior="ignore" if others else "error",
        ),
    )
    return table


def _cast(column: "pa.ChunkedArray", kind: Kind) -> "pa.Array":
    whole = column.combine_chunks()
    return whole.cast(arrow_type(kind)) if kind in _AS_TEXT else whole
