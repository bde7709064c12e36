"""The columns of events, and the rows of summaries, in Arrow."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ._json.exact import Json
from ._json.fields import SUMMARY_KINDS

if TYPE_CHECKING:
    import pyarrow as pa


def event_schema() -> "pa.Schema":
    """Return the documented columns of an event, with the types that they have in datasets.

    Money has 38 digits, so files of different days have the same type. By contrast, `to_arrow` uses
    only 18 digits if these are enough, which makes calculations easier.

    Raises:
        ConfigurationError: when pyarrow is not installed.

    Examples:
        >>> event_schema().field("revenue").type
        Decimal128Type(decimal128(38, 9))
    """
    from ._outputs.arrow.batches import ArrowRows

    return ArrowRows(wide=True).schema


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
    from ._outputs.arrow.batches import ArrowRows

    table = ArrowRows(kind_of=SUMMARY_KINDS.get, documented=SUMMARY_KINDS)
    return table.table([table.batch(rows)])
