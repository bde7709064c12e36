"""Convert events and summaries from any source to Arrow batches and tables."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adanalytics_client._json.exact import Json
from adanalytics_client._json.fields import SUMMARY_KINDS

if TYPE_CHECKING:
    import pyarrow as pa


def event_schema() -> "pa.Schema":
    """Return the documented columns of an event, with the types that `event_batch` usually gives.

    Money has 38 digits, so files of different days have the same type. By contrast, `to_arrow` uses
    only 18 digits if these are enough, which makes calculations easier.

    Raises:
        ConfigurationError: when pyarrow is not installed.

    Examples:
        >>> event_schema().field("revenue").type
        Decimal128Type(decimal128(38, 9))
    """
    from adanalytics_client._outputs.arrow.batches import ArrowRows

    return ArrowRows(wide=True).schema


def event_batch(
    rows: Sequence[Mapping[str, Json]], columns: Sequence[str] | None = None
) -> "pa.RecordBatch":
    """Return events as one batch, with the columns and types of `EventQuery.to_arrow`.

    Decimals always have 38 digits: money is `decimal128(38, 9)`.

    Args:
        rows: events as `EventQuery.rows` yields them.
        columns: the columns to include, in this order; by default all.

    Raises:
        ConfigurationError: when pyarrow is not installed, or for an unknown column.

    Examples:
        >>> event_batch([{"event_id": "a", "event_hour": 13}], ["event_id", "event_hour"]).num_rows
        1
    """
    from adanalytics_client._outputs.arrow.batches import ArrowRows

    table = ArrowRows(columns, wide=True)
    batch = table.batch(rows)
    table.check()
    return batch


def jsonl_batch(lines: bytes, columns: Sequence[str] | None = None) -> "pa.RecordBatch":
    """Return JSON lines as one batch; faster than `event_batch` if columns have one type each.

    Args:
        lines: events as JSON in UTF-8, each followed by a line break.
        columns: the columns to include, in this order; by default all.

    Raises:
        ConfigurationError: as for `event_batch`.
        ProtocolError: for a line that is not a JSON object.

    Examples:
        >>> jsonl_batch(b'{"event_id":"a","key_values":{}}\\n', ["event_id"]).num_rows
        1
    """
    from adanalytics_client._outputs.arrow.batches import ArrowRows

    table = ArrowRows(columns, wide=True)
    batch = table.jsonl(lines)
    table.check()
    return batch


def pairs_array(texts: "pa.StringArray") -> "pa.MapArray":
    """Convert JSON objects to Arrow maps; each distinct text is parsed only once.

    Values are texts. A null value stays null.

    Args:
        texts: JSON objects as text, or null. A null element becomes a null map.

    Raises:
        ConfigurationError: when pyarrow is not installed.
        ValueError: for an element that is neither null nor an object of texts and nulls.

    Examples:
        >>> pairs_array(pyarrow.array(['{"slot":"top"}', None])).to_pylist()
        [[('slot', 'top')], None]
    """
    from adanalytics_client._outputs.arrow.conversion import map_of_pairs

    return map_of_pairs(texts)


def summary_table(rows: Sequence[Mapping[str, Json]]) -> "pa.Table":
    """Return a summary's rows as a table: counts are `int64`, days `date32`, and amounts decimals.

    Money, fractions and prices are `decimal128(18, 9)`, or have 38 digits where a value needs more.
    Columns are those of the rows; undocumented ones have the types of their values.

    Raises:
        ConfigurationError: when pyarrow is not installed.

    Examples:
        >>> summary_table([{"impressions": 3, "revenue": "0.25"}])["revenue"].to_pylist()
        [Decimal('0.250000000')]
    """
    from adanalytics_client._outputs.arrow.batches import ArrowRows

    table = ArrowRows(kind_of=SUMMARY_KINDS.get, documented=SUMMARY_KINDS)
    return table.table([table.batch(rows)])
