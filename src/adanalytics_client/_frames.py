"""Arrow tables as frames of pandas and polars, with the same exact types."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from adanalytics_client._extras import import_extra

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def pandas_frames() -> "Callable[[pa.Table], pd.DataFrame]":
    """What makes pandas frames whose columns stay Arrow's: no float for amounts or sparse numbers.

    Raises:
        ConfigurationError: when pandas is not installed.
    """
    pandas = import_extra("pandas", extra="pandas")
    return lambda table: table.to_pandas(types_mapper=pandas.ArrowDtype)


def polars_frames() -> "Callable[[pa.Table], pl.DataFrame]":
    """What makes polars frames with decimals, UTC times and dates.

    Raises:
        ConfigurationError: when polars is not installed.
    """
    polars = import_extra("polars", extra="polars")
    frames: Callable[[pa.Table], pl.DataFrame] = polars.from_arrow
    return frames
