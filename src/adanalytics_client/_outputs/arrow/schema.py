"""The types of a table's columns: fixed for known fields, text for all others."""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

import pyarrow as pa

from adanalytics_client._json.columns import EVENT_COLUMNS, SUMMARY_COLUMNS


class Kind(Enum):
    """The kinds of columns; the value names the widest Arrow type of a kind."""

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
"""The columns of events. No column is declared as never null: the service promises no field."""

_NAMES = ("campaign_name", "demand_tag_name")
SUMMARY_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(SUMMARY_COLUMNS, Kind.WHOLE),
    **dict.fromkeys(_NAMES, Kind.TEXT),
    **dict.fromkeys(("revenue", "cost", "profit"), Kind.MONEY),
    **dict.fromkeys(SUMMARY_COLUMNS[18:], Kind.RATIO),
    "date": Kind.DATE,
}
"""The columns of a summary; fractions and prices have room for more digits than money."""

DECIMALS: Mapping[Kind, tuple[tuple[int, int], tuple[int, int]]] = {
    Kind.MONEY: ((18, 9), (38, 9)),
    Kind.RATIO: ((18, 9), (38, 18)),
}
"""Precision and scale of amounts: the default while all amounts of a column fit, and the widest.

Arrow gives a product the digits of both factors and one more, and refuses more than 38
(https://arrow.apache.org/docs/cpp/compute.html#arithmetic-functions). A column of 38 digits can be
neither added nor multiplied; one of 18 can, even with a whole number, which has 19.
"""

_TYPES = {
    Kind.TEXT: pa.string(),
    Kind.WHOLE: pa.int64(),
    Kind.FLAG: pa.bool_(),
    Kind.TIME: pa.timestamp("ms", tz="UTC"),
    Kind.DATE: pa.date32(),
    Kind.PAIRS: pa.map_(pa.string(), pa.string()),
}


def arrow_type(kind: Kind, *, wide: bool = False) -> pa.DataType:
    """Return the Arrow type of a kind; kinds of amounts have two."""
    return pa.decimal128(*DECIMALS[kind][wide]) if kind in DECIMALS else _TYPES[kind]


def arrow_schema(
    names: Iterable[str], kinds: Mapping[str, Kind], wide: Collection[str] = ()
) -> pa.Schema:
    """Return the schema of columns in this order: unknown ones are text, `wide` amounts widest."""
    types = [(name, arrow_type(kinds.get(name, Kind.TEXT), wide=name in wide)) for name in names]
    return pa.schema(types)
