"""Events as a parquet file with one typed schema, whatever its rows are; needs pyarrow."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import IO, Any

from adanalytics_server.events import EVENT_FIELDS, LogEvent, decode_event

# Rows of one row group, and the most that are held as Arrow columns at a time: about 15 MB.
ROWS_PER_GROUP = 32_768

_INTEGERS = ("event_hour", "supply_tag_id", "demand_tag_id", "campaign_id", "error_code")
_TIMES = ("event_time", "received_at")
_MONEY = ("revenue", "cost")
_NULLABLE = (
    "demand_tag_id",
    "campaign_id",
    "creative_id",
    "deal_id",
    "country",
    "os",
    "cost",
    "domain",
    "app_bundle",
    "error_code",
)


def parquet_is_available() -> bool:
    """Tell whether pyarrow is installed, without importing it."""
    return find_spec("pyarrow") is not None


class ParquetEvents:
    """Turns lists of stored events into Arrow batches.

    Money is ``decimal128(38, 9)``, times are ``timestamp[ms, UTC]``, the date is ``date32``,
    numbers are ``int64`` and ``key_values`` is a map of strings. A field that is never null is
    declared so.
    """

    def __init__(self) -> None:
        # By name: pyarrow is an extra, and has no types.
        self._arrow: Any = import_module("pyarrow")
        arrow = self._arrow
        kinds = dict.fromkeys(EVENT_FIELDS, arrow.string())
        kinds |= dict.fromkeys(_INTEGERS, arrow.int64())
        kinds |= dict.fromkeys(_TIMES, arrow.timestamp("ms", tz="UTC"))
        kinds |= dict.fromkeys(_MONEY, arrow.decimal128(38, 9))
        kinds["event_date"] = arrow.date32()
        kinds["is_filtered"] = arrow.bool_()
        kinds["key_values"] = arrow.map_(arrow.string(), arrow.string())
        self._kinds = kinds
        self._schema: Any = arrow.schema(
            [arrow.field(name, kind, nullable=name in _NULLABLE) for name, kind in kinds.items()]
        )

    def write(self, chunks: Iterator[list[bytes]], out: IO[bytes], *, compression: str) -> None:
        """Write lists of stored events as one parquet file, from its first byte to its last.

        Args:
            chunks: lists of bodies; only the rows of one group are held at once.
            out: written to in order, never sought in.
            compression: of the pages inside the file, ``none`` or ``gzip``.
        """
        parquet: Any = import_module("pyarrow.parquet")
        with parquet.ParquetWriter(out, self._schema, compression=compression) as writer:
            for batches in _groups(self._batch(bodies) for bodies in chunks):
                writer.write_table(
                    self._arrow.Table.from_batches(batches), row_group_size=ROWS_PER_GROUP
                )

    def _batch(self, bodies: list[bytes]) -> object:
        events = [decode_event(body) for body in bodies]
        columns = [self._column(name, events) for name in EVENT_FIELDS]
        return self._arrow.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, name: str, events: list[LogEvent]) -> object:
        kind = self._kinds[name]
        values = [getattr(event, name) for event in events]
        if name == "key_values":
            return self._arrow.array([list(pairs.items()) for pairs in values], kind)
        if name in (*_TIMES, *_MONEY, "event_date"):
            # Arrow reads the canonical texts itself, exactly.
            return self._arrow.array(values, self._arrow.string()).cast(kind)
        return self._arrow.array(values, kind)


def _groups(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Collect batches up to the rows of a group; each of them has fewer than that."""
    group: list[Any] = []
    held = 0
    for batch in batches:
        if group and held + batch.num_rows > ROWS_PER_GROUP:
            yield group
            group, held = [], 0
        group.append(batch)
        held += batch.num_rows
    if group:
        yield group
