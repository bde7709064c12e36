"""Events as a parquet file with one fixed schema; needs pyarrow.

Arrow reads the stored texts itself. This module never calls ``pyarrow.array``, which makes columns
of Python objects, because it imports pandas if installed, and that wastes 50 MB.
"""

from array import array
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, chain
from typing import IO, Any

import msgspec

from adanalytics_server.storage.chunks import as_lines
from adanalytics_server.storage.events import EVENT_FIELDS, FIELDS, Kind

# Rows of one row group, and the most held as Arrow columns at a time: about 5 MB.
ROWS_PER_GROUP = 16_384

_DATE_AT = EVENT_FIELDS.index("event_date")
_KEY_VALUES_AT = EVENT_FIELDS.index("key_values")


class _KeyValues(msgspec.Struct, frozen=True):
    """The only field that Arrow cannot read, because its JSON reader has no maps."""

    key_values: dict[str, str]


_decode_key_values = msgspec.json.Decoder(list[_KeyValues]).decode


def parquet_is_available() -> bool:
    """Return whether pyarrow is installed, without importing it."""
    return find_spec("pyarrow") is not None


class ParquetEvents:
    """Turns the texts of stored events into Arrow batches.

    Money is ``decimal128(38, 9)``, times are ``timestamp[ms, UTC]``, the date is ``date32``,
    numbers are ``int64`` and ``key_values`` is a map of strings. Fields that are never null are
    declared as such.
    """

    def __init__(self) -> None:
        # By name: pyarrow is an extra without types.
        self._arrow: Any = import_module("pyarrow")
        self._json: Any = import_module("pyarrow.json")
        arrow = self._arrow
        types = {
            Kind.HOUR: arrow.int64(),
            Kind.INTEGER: arrow.int64(),
            Kind.ERROR_CODE: arrow.int64(),
            Kind.INSTANT: arrow.timestamp("ms", tz="UTC"),
            Kind.DATE: arrow.date32(),
            Kind.MONEY: arrow.decimal128(38, 9),
            Kind.BOOLEAN: arrow.bool_(),
            Kind.STRINGS: arrow.map_(arrow.string(), arrow.string()),
        }
        self._schema: Any = arrow.schema(
            [
                arrow.field(field.name, types.get(field.kind, arrow.string()), field.nullable)
                for field in FIELDS.values()
            ]
        )
        # Without the map, and with the date as text: Arrow's JSON reader wants dates as numbers.
        readable = self._schema.remove(_KEY_VALUES_AT).set(
            _DATE_AT, arrow.field("event_date", arrow.string())
        )
        self._parsing: Any = self._json.ParseOptions(
            explicit_schema=readable, unexpected_field_behavior="ignore"
        )

    def write(self, parts: Iterator[list[bytes]], file: IO[bytes], *, compression: str) -> None:
        """Write stored events as one parquet file, from its first byte to its last.

        Each part has pieces of events separated by commas, and becomes a group of rows.
        """
        parquet: Any = import_module("pyarrow.parquet")
        with parquet.ParquetWriter(file, self._schema, compression=compression) as writer:
            for pieces in parts:
                writer.write_table(self._table(pieces), row_group_size=ROWS_PER_GROUP)

    def _table(self, pieces: list[bytes]) -> object:
        lines = b"\n".join(map(as_lines, pieces))
        # One block, so that no row is cut, and only this thread, because the others have work.
        reading = self._json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
        table = self._json.read_json(self._arrow.BufferReader(lines), reading, self._parsing)
        columns = table.columns
        columns[_DATE_AT] = columns[_DATE_AT].cast(self._arrow.date32())
        # After reading and writing, the pool keeps more memory than is in use.
        self._arrow.default_memory_pool().release_unused()
        columns.insert(_KEY_VALUES_AT, self._key_values(pieces))
        return self._arrow.table(columns, schema=self._schema)

    def _key_values(self, pieces: list[bytes]) -> object:
        events = _decode_key_values(b"[" + b",".join(pieces) + b"]")
        maps = [event.key_values for event in events]
        arrow = self._arrow
        offsets = arrow.Array.from_buffers(
            arrow.int32(), len(maps) + 1, [None, self._offsets(map(len, maps))]
        )
        values = chain.from_iterable(pairs.values() for pairs in maps)
        return arrow.MapArray.from_arrays(
            offsets, self._strings(chain.from_iterable(maps)), self._strings(values)
        )

    def _strings(self, values: Iterable[str]) -> object:
        texts = [value.encode() for value in values]
        return self._arrow.StringArray.from_buffers(
            len(texts), self._offsets(map(len, texts)), self._arrow.py_buffer(b"".join(texts))
        )

    def _offsets(self, lengths: Iterable[int]) -> object:
        """Return the start of each value and the end of the last, as Arrow stores them."""
        return self._arrow.py_buffer(array("i", accumulate(lengths, initial=0)))
