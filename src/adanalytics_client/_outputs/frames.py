"""Arrow tables as pandas and polars frames, with the same exact types."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from adanalytics_client._base.validation import import_extra

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def pandas_frames() -> "Callable[[pa.Table], pd.DataFrame]":
    """Return a function that makes pandas frames with Arrow's types: no amount is a float."""
    pandas = import_extra("pandas", extra="pandas")
    return lambda table: table.to_pandas(types_mapper=pandas.ArrowDtype)


def polars_frames() -> "Callable[[pa.Table], pl.DataFrame]":
    """Return a function that makes polars frames with decimals, UTC times and dates."""
    frames: Callable[[pa.Table], pl.DataFrame] = import_extra("polars", extra="polars").from_arrow
    return frames
