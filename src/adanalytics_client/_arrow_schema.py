"""The types of the columns of a table: fixed for known fields, text for all others.

Importing this needs no pyarrow; making a schema does.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from adanalytics_client._extras import import_extra
from adanalytics_client.columns import EVENT_COLUMNS, SUMMARY_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa


class Kind(Enum):
    """What a column holds; the value names its Arrow type."""

    TEXT = "string"
    WHOLE = "int64"
    FLAG = "bool"
    MONEY = "decimal128(38, 9)"
    RATIO = "decimal128(38, 18)"
    TIME = "timestamp[ms, UTC]"
    DATE = "date32"
    PAIRS = "map<string, string>"


_WHOLE = ("event_hour", "supply_tag_id", "demand_tag_id", "campaign_id", "error_code")
EVENT_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(EVENT_COLUMNS, Kind.TEXT),
    **dict.fromkeys(_WHOLE, Kind.WHOLE),
    **dict.fromkeys(("event_time", "received_at"), Kind.TIME),
    **dict.fromkeys(("revenue", "cost"), Kind.MONEY),
    "event_date": Kind.DATE,
    "is_filtered": Kind.FLAG,
    "key_values": Kind.PAIRS,
}
"""The columns of events. None is declared as never null: the service promises no field."""

_NAMES = ("campaign_name", "demand_tag_name")
_RATIOS = ("fill_rate", "ctr", "vcr", "completion_rate_started", "error_rate", "margin")
_PRICES = ("ecpm", "rpm", "cpm_cost")
SUMMARY_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(SUMMARY_COLUMNS, Kind.WHOLE),
    **dict.fromkeys(_NAMES, Kind.TEXT),
    **dict.fromkeys(("revenue", "cost", "profit"), Kind.MONEY),
    **dict.fromkeys((*_RATIOS, *_PRICES), Kind.RATIO),
    "date": Kind.DATE,
}
"""The columns of a summary; fractions and prices have room for more digits than money."""


def arrow_type(kind: Kind) -> "pa.DataType":
    """The Arrow type of a kind.

    Raises:
        ConfigurationError: when pyarrow is not installed.
    """
    arrow = import_extra("pyarrow", extra="arrow")
    types: dict[Kind, pa.DataType] = {
        Kind.TEXT: arrow.string(),
        Kind.WHOLE: arrow.int64(),
        Kind.FLAG: arrow.bool_(),
        Kind.MONEY: arrow.decimal128(38, 9),
        Kind.RATIO: arrow.decimal128(38, 18),
        Kind.TIME: arrow.timestamp("ms", tz="UTC"),
        Kind.DATE: arrow.date32(),
        Kind.PAIRS: arrow.map_(arrow.string(), arrow.string()),
    }
    return types[kind]


def arrow_schema(names: Iterable[str], kinds: Mapping[str, Kind]) -> "pa.Schema":
    """The schema of columns in this order; one without a kind is text."""
    arrow = import_extra("pyarrow", extra="arrow")
    schema: pa.Schema = arrow.schema(
        [(name, arrow_type(kinds.get(name, Kind.TEXT))) for name in names]
    )
    return schema
