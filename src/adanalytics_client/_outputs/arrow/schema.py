"""The Arrow types of learned types."""

from collections.abc import Mapping

import pyarrow as pa

from adanalytics_client._json.types import (
    DEFAULTS,
    INT64_DIGITS,
    LEAST_SCALE,
    MOST_DIGITS,
    NULL,
    UNITS,
    Base,
    ColumnType,
    KindOf,
    Types,
)

_ARROW: Mapping[Base, pa.DataType] = {
    "null": pa.string(),
    "bit": pa.bool_(),
    "flag": pa.bool_(),
    "date": pa.date32(),
    "pairs": pa.map_(pa.string(), pa.string()),
    "text": pa.string(),
}


def arrow_type(type_: ColumnType, *, wide: bool = False) -> pa.DataType:
    """Return the Arrow type.

    Args:
        wide: whether all decimals have 38 digits. Otherwise those that fit have 18: Arrow gives
            a product the digits of both factors and one more, and refuses more than 38
            (https://arrow.apache.org/docs/cpp/compute.html#arithmetic-functions), so a column
            of 38 digits can be neither added nor multiplied.
    """
    if type_.base == "number":
        if not is_decimal(type_):
            return pa.int64()
        if not type_.scale:
            return pa.decimal128(MOST_DIGITS, 0)
        scale = max(type_.scale, LEAST_SCALE)
        # 18 digits are 64 bits, with which most programs calculate faster.
        narrow = type_.digits <= LEAST_SCALE == scale and not wide
        return pa.decimal128(2 * LEAST_SCALE if narrow else MOST_DIGITS, scale)
    if type_.base in {"time", "epoch"}:
        unit = next(unit for unit in ("ms", "us", "ns") if UNITS[unit] >= type_.decimals)
        return pa.timestamp(unit, tz="UTC")
    return _ARROW[type_.base]


def is_decimal(type_: ColumnType) -> bool:
    """Return whether a column needs decimals, for fractions or for what int64 cannot hold."""
    return type_.base == "number" and (type_.scale > 0 or type_.digits > INT64_DIGITS)


def arrow_schema(columns: Types, kind_of: KindOf, *, wide: bool = False) -> pa.Schema:
    """Return the Arrow schema; a column without any value has the type of its documented kind."""
    return pa.schema(
        (name, arrow_type(DEFAULTS[kind_of(name)] if type_ == NULL else type_, wide=wide))
        for name, type_ in columns.items()
    )
