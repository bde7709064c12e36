"""Rows of events, wherever they came from, as Arrow batches like those of `to_arrow`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adanalytics_client._arrow_rows import ArrowRows
from adanalytics_client._json import Json

if TYPE_CHECKING:
    import pyarrow as pa


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
    return ArrowRows(columns).batch(rows)
