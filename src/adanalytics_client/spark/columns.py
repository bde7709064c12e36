"""The columns of a read: their types in Spark, and batches that match them exactly."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from adanalytics_client._outputs.schema import EVENT_KINDS, Kind, arrow_type
from adanalytics_client.errors import ConfigurationError, ProtocolError

_TYPES: Mapping[Kind, DataType] = {
    Kind.TEXT: StringType(),
    Kind.WHOLE: LongType(),
    Kind.FLAG: BooleanType(),
    Kind.MONEY: DecimalType(18, 9),
    Kind.TIME: TimestampType(),
    Kind.DATE: DateType(),
    Kind.PAIRS: MapType(StringType(), StringType()),
}
_WIDE_MONEY = DecimalType(38, 9)
# Spark's timestamps count microseconds:
# https://spark.apache.org/docs/latest/api/python/tutorial/sql/arrow_pandas.html
_TIME = pa.timestamp("us", tz="UTC")

EVENT_SCHEMA = StructType([StructField(name, _TYPES[kind]) for name, kind in EVENT_KINDS.items()])
"""The documented columns, with the types of `to_arrow`."""


@dataclass(frozen=True, slots=True)
class SparkColumns:
    """The columns of a read in order, with the Arrow types that Spark expects of them."""

    schema: pa.Schema

    @classmethod
    def of(cls, schema: StructType) -> "SparkColumns":
        """Check a schema, which the user may have given.

        Raises:
            ConfigurationError: for a column that events do not have, or have with another type.
        """
        if not schema.fields:
            raise ConfigurationError("The schema has no column; choose at least one.")
        return cls(pa.schema([_arrow_field(each) for each in schema.fields]))

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the same events with these columns and types.

        Raises:
            ProtocolError: for an amount that needs more digits than its column has.
        """
        columns = [_cast(batch, field) for field in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _cast(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    try:
        return batch.column(field.name).cast(field.type)
    except pa.ArrowInvalid:
        raise ProtocolError(
            f"An amount in {field.name} needs more than 18 digits. Read with .schema(...), "
            f"in which {field.name} is {_WIDE_MONEY.simpleString()}."
        ) from None


def _arrow_field(field: StructField) -> pa.Field:
    kind = EVENT_KINDS.get(field.name)
    if kind is None:
        known = ", ".join(EVENT_KINDS)
        raise ConfigurationError(f"Events have no column {field.name}. Columns: {known}.")
    is_wide = kind is Kind.MONEY and field.dataType == _WIDE_MONEY
    if not is_wide and field.dataType != _TYPES[kind]:
        allowed = [_TYPES[kind], *([_WIDE_MONEY] if kind is Kind.MONEY else [])]
        names = " or ".join(each.simpleString() for each in allowed)
        raise ConfigurationError(
            f"The column {field.name} is {names}, not {field.dataType.simpleString()}."
        )
    if not field.nullable:
        raise ConfigurationError(
            f"The column {field.name} must be nullable, because the service promises no field."
        )
    return pa.field(field.name, _TIME if kind is Kind.TIME else arrow_type(kind, wide=is_wide))
