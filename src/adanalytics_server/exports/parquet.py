"""Events as a parquet file with one fixed schema; needs pyarrow.

Arrow reads JSON. This module never calls ``pyarrow.array``, which makes columns of Python objects,
because it imports pandas if installed, and that wastes 50 MB.
"""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import IO, Any

import msgspec

from adanalytics_server.dialect import Row
from adanalytics_server.storage.events import EVENT_FIELDS, FIELDS, Kind

# Rows of one row group, and the most held in memory at a time.
ROWS_PER_GROUP = 8_192

_DATE_AT = EVENT_FIELDS.index("event_date")
_KEY_VALUES_AT = EVENT_FIELDS.index("key_values")

_encode_lines = msgspec.json.Encoder().encode_lines


def parquet_is_available() -> bool:
    """Return whether pyarrow is installed, without importing it."""
    return find_spec("pyarrow") is not None


class _Events:
    """Turns rows into Arrow tables.

    Money is ``decimal128(38, 9)``, times are ``timestamp[ms, UTC]``, the date is ``date32``,
    numbers are ``int64`` and ``key_values`` is a map of strings. Fields that are never null are
    declared as such.
    """

    def __init__(self) -> None:
        # By name: pyarrow is an extra without types.
        self._arrow: Any = import_module("pyarrow")
        self._json: Any = import_module("pyarrow.json")
        arrow = self._arrow
        text = arrow.string()
        types = {
            Kind.HOUR: arrow.int64(),
            Kind.INTEGER: arrow.int64(),
            Kind.ERROR_CODE: arrow.int64(),
            Kind.INSTANT: arrow.timestamp("ms", tz="UTC"),
            Kind.DATE: arrow.date32(),
            Kind.MONEY: arrow.decimal128(38, 9),
            Kind.BOOLEAN: arrow.bool_(),
            Kind.STRINGS: arrow.map_(text, text),
        }
        self.schema: Any = arrow.schema(
            [
                arrow.field(field.name, types.get(field.kind, text), field.nullable)
                for field in FIELDS.values()
            ]
        )
        # Arrow's JSON reader wants dates as numbers, and has no maps.
        pairs = arrow.list_(arrow.struct([("key", text), ("value", text)]))
        readable = self.schema.set(_DATE_AT, arrow.field("event_date", text))
        readable = readable.set(_KEY_VALUES_AT, arrow.field("key_values", pairs))
        self._parsing: Any = self._json.ParseOptions(explicit_schema=readable)

    def table(self, rows: list[Row]) -> object:
        lines = _encode_lines([row | {"key_values": _pairs(row["key_values"])} for row in rows])
        # One block, so that no row is cut, and only this thread, because the others have work.
        reading = self._json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
        table = self._json.read_json(self._arrow.BufferReader(lines), reading, self._parsing)
        columns = table.columns
        columns[_DATE_AT] = columns[_DATE_AT].cast(self._arrow.date32())
        lists = columns[_KEY_VALUES_AT].combine_chunks()
        keys, values = lists.values.flatten()
        columns[_KEY_VALUES_AT] = self._arrow.MapArray.from_arrays(lists.offsets, keys, values)
        # After reading and writing, the pool keeps more memory than is in use.
        self._arrow.default_memory_pool().release_unused()
        return self._arrow.table(columns, schema=self.schema)


def _pairs(strings: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in strings.items()]


def write_parquet(rows: Iterator[Row], file: IO[bytes], compression: str) -> None:
    """Write the rows of events as one parquet file, from its first byte to its last."""
    events = _Events()
    parquet: Any = import_module("pyarrow.parquet")
    with parquet.ParquetWriter(file, events.schema, compression=compression) as writer:
        while group := list(islice(rows, ROWS_PER_GROUP)):
            writer.write_table(events.table(group), row_group_size=ROWS_PER_GROUP)
