"""Events of a table as text, with the digits and the times that the service writes."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from adanalytics_client.dataset.arrow_events import Table
from adanalytics_client.dataset.arrow_library import arrow_module
from adanalytics_client.encoding import json_text, utf8

if TYPE_CHECKING:
    import pyarrow as pa

# Seconds come with their three digits, since the times count milliseconds.
_RFC_3339 = "%Y-%m-%dT%H:%M:%SZ"


def to_jsonl(table: Table) -> Iterator[bytes]:
    """One line of JSON for each event."""
    for row in _readable(table).to_pylist():
        pairs = row.get("key_values")
        known = {**row, "key_values": dict(pairs) if pairs is not None else None}
        yield utf8(json_text(known)) + b"\n"


def to_cells(table: Table) -> Table:
    """A table of text only, as the cells of a CSV: null stays null, pairs are compact JSON."""
    arrow = arrow_module()
    readable = _readable(table)
    columns = []
    for name in readable.column_names:
        column = readable[name]
        if arrow.types.is_map(column.type):
            column = _pairs_as_json(column)
        columns.append(column.cast(arrow.string()))
    return arrow.table(columns, names=readable.column_names)


def _readable(table: Table) -> Table:
    """The table with text in place of times, dates and money; numbers and flags stay."""
    arrow, compute = arrow_module(), arrow_module("pyarrow.compute")
    columns = []
    for field in table.schema:
        column = table[field.name]
        if arrow.types.is_timestamp(field.type):
            column = compute.strftime(column, format=_RFC_3339)
        elif arrow.types.is_date(field.type):
            column = column.cast(arrow.string())
        elif arrow.types.is_decimal(field.type):
            # Arrow's own text of a small amount is 1E-9.
            column = _each(column, lambda amount: format(amount, "f"))
        columns.append(column)
    return arrow.table(columns, names=table.column_names)


def _each(column: "pa.ChunkedArray", write: Callable[[Any], str]) -> "pa.ChunkedArray":
    """A column of text from a column of values; values repeat, so each is written once."""
    arrow = arrow_module()
    chunks = []
    for chunk in column.dictionary_encode().chunks:
        texts = [write(each) for each in chunk.dictionary.to_pylist()]
        chunks.append(arrow.array(texts, arrow.string()).take(chunk.indices))
    return arrow.chunked_array(chunks, arrow.string())


def _pairs_as_json(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    arrow = arrow_module()
    texts = [
        None if pairs is None else json_text(dict(pairs), sort_keys=True)
        for pairs in column.to_pylist()
    ]
    return arrow.chunked_array([texts], arrow.string())
