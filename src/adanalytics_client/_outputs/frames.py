"""Arrow tables as pandas and polars frames: amounts exact or floats, key_values as JSON text."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from adanalytics_client._base.validation import check_choice, import_extra

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Amounts = Literal["exact", "float"]
"""How a DataFrame holds numbers with a fraction: as exact decimals or as the nearest floats."""


Dtypes = Literal["arrow", "numpy"]
"""The types of a pandas DataFrame: Arrow's own, or those of NumPy that most pandas code expects."""

_MOST_IN_FLOAT = 2**53


def frame_maker(
    library: Literal["pandas", "polars"], amounts: Amounts | None, dtypes: Dtypes = "arrow"
) -> "Callable[[pa.Table], Any]":
    """Return a function that makes frames; pandas gets Arrow's own types, or those of NumPy.

    Raises:
        ConfigurationError: for another choice, or when the library is not installed.
    """
    check_choice("dtypes", dtypes, Dtypes)
    amounts = amounts or ("float" if dtypes == "numpy" else "exact")
    check_choice("amounts", amounts, Amounts)
    module = import_extra(library)
    if library == "polars":
        return lambda table: module.from_arrow(_simple(table, amounts))
    if dtypes == "numpy":
        return lambda table: _with_numpy_types(_simple(table, amounts))
    return lambda table: _simple(table, amounts).to_pandas(types_mapper=module.ArrowDtype)


def _with_numpy_types(table: "pa.Table") -> "pd.DataFrame":
    import pandas as pd

    columns = zip(table.column_names, map(_numpy_column, table.columns), strict=True)
    return pd.DataFrame(dict(columns))


def _numpy_column(column: "pa.ChunkedArray") -> "pd.Series[Any]":
    import pyarrow as pa
    import pyarrow.compute as pc

    is_large = False
    if pa.types.is_integer(column.type) and column.null_count < len(column):
        # A column with nulls becomes floats, which hold no larger number exactly.
        ends = pc.min_max(column).as_py()
        is_large = max(abs(end) for end in ends.values()) > _MOST_IN_FLOAT
    if pa.types.is_temporal(column.type):
        # A time before 1677 or after 2262 has no nanoseconds, and stays in milliseconds.
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.timestamp("ns", getattr(column.type, "tz", None)))
    return column.to_pandas(integer_object_nulls=is_large, date_as_object=False)


def _simple(table: "pa.Table", amounts: Amounts) -> "pa.Table":
    """Return a table without maps: pandas cannot read them from its own Parquet files."""
    import pyarrow as pa

    from .arrow.conversion import json_of_pairs

    for index, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        if pa.types.is_map(field.type):
            table = table.set_column(index, field.name, json_of_pairs(column))
        elif amounts == "float" and pa.types.is_decimal(field.type) and field.type.scale:
            # Arrow's own cast is not to the nearest float: of 0.0045 it is 0.0045000000000000005.
            floats = column.cast(pa.string()).cast(pa.float64())
            table = table.set_column(index, field.name, floats)
    return table
