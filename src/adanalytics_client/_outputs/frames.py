"""Arrow tables as pandas and polars frames: amounts exact or floats, key_values as JSON text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

from adanalytics_client._base.validation import check_choice, import_extra

if TYPE_CHECKING:
    import pyarrow as pa

Amounts = Literal["exact", "float"]
"""How a DataFrame holds money, fractions and prices: as exact decimals or as the nearest floats."""


def frame_maker(
    library: Literal["pandas", "polars"], amounts: Amounts
) -> "Callable[[pa.Table], Any]":
    """Return a function that makes frames; pandas gets Arrow's own types.

    Raises:
        ConfigurationError: for another choice, or when the library is not installed.
    """
    check_choice("amounts", amounts, get_args(Amounts))
    module = import_extra(library, extra=library)
    if library == "polars":
        return lambda table: module.from_arrow(_simple(table, amounts))
    return lambda table: _simple(table, amounts).to_pandas(types_mapper=module.ArrowDtype)


def _simple(table: "pa.Table", amounts: Amounts) -> "pa.Table":
    """Return a table without maps: pandas cannot read them from its own Parquet files."""
    import pyarrow as pa

    from adanalytics_client._outputs.arrow.conversion import json_of_pairs

    for index, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        if pa.types.is_map(field.type):
            table = table.set_column(index, field.name, json_of_pairs(column))
        elif amounts == "float" and pa.types.is_decimal(field.type):
            # Arrow's own cast is not to the nearest float: of 0.0045 it is 0.0045000000000000005.
            floats = column.cast(pa.string()).cast(pa.float64())
            table = table.set_column(index, field.name, floats)
    return table
