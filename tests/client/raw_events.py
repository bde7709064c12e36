"""Events as the client holds them, for tests of what it does with them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from adanalytics_client._json.raw import RawRows
from adanalytics_client._outputs.arrow.batches import ArrowRows


def raw_rows(texts: Iterable[bytes]) -> RawRows:
    """Return events from the texts of valid objects without line breaks."""
    return RawRows([*texts])


def event_batch(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> pa.RecordBatch:
    """Return events as one batch of the types that datasets have."""
    table = ArrowRows(columns, wide=True)
    batch = table.batch(rows)
    table.check()
    return batch


def jsonl_batch(lines: bytes, columns: Sequence[str] | None = None) -> pa.RecordBatch:
    """Return JSON lines as one batch of the types that datasets have."""
    table = ArrowRows(columns, wide=True)
    batch = table.jsonl(lines)
    table.check()
    return batch
