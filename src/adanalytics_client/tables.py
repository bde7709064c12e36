"""Events, wherever they came from, as Arrow batches like those of `to_arrow`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adanalytics_client._arrow_pairs import pairs_array
from adanalytics_client._arrow_rows import ArrowRows
from adanalytics_client._arrow_schema import EVENT_KINDS, arrow_schema
from adanalytics_client._json import Json

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["event_batch", "event_schema", "jsonl_batch", "pairs_array"]


def event_schema() -> "pa.Schema":
    """The documented columns of an event and their types, as `event_batch` makes them.

    Raises:
        ConfigurationError: when pyarrow is not installed.

    Example:
        >>> event_schema().field("revenue").type
        Decimal128Type(decimal128(38, 9))
    """
    return arrow_schema(EVENT_KINDS, EVENT_KINDS)


def event_batch(
    rows: Sequence[Mapping[str, Json]], columns: Sequence[str] | None = None
) -> "pa.RecordBatch":
    """Events as one batch of the documented types.

    Known columns come first, in the order of `Event`, and are always there; money is
    `decimal128(38, 9)`, times are `timestamp[ms, UTC]`, days `date32`. Others follow as text.

    Args:
        rows: events as `EventQuery.rows` gives them.
        columns: only these, in this order.

    Raises:
        ConfigurationError: when pyarrow is not installed, or for an unknown column.
        ProtocolError: for a value that its column cannot hold exactly.

    Example:
        >>> event_batch([{"event_id": "a", "event_hour": 13}], ["event_id", "event_hour"]).num_rows
        1
    """
    table = ArrowRows(columns)
    batch = table.batch(rows)
    table.check()
    return batch


def jsonl_batch(lines: bytes, columns: Sequence[str] | None = None) -> "pa.RecordBatch":
    """The same from JSON lines, several times as fast as from rows where values are as documented.

    Args:
        lines: events in UTF-8, each with its line break.
        columns: only these, in this order.

    Raises:
        ConfigurationError: as `event_batch`.
        ProtocolError: as `event_batch`, and for a line that is not JSON.

    Example:
        >>> jsonl_batch(b'{"event_id":"a","key_values":{}}\\n', ["event_id"]).num_rows
        1
    """
    table = ArrowRows(columns)
    batch = table.jsonl(lines)
    table.check()
    return batch
