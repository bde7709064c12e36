"""pyarrow, imported when a dataset is worked on; it is an extra, and has no types."""

from array import array
from types import ModuleType
from typing import TYPE_CHECKING

from adanalytics_client._base.validation import import_extra

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_module(name: str = "pyarrow") -> ModuleType:
    """A module of pyarrow. Raises ConfigurationError when it is not installed."""
    return import_extra(name, extra="arrow")


def whole_number(value: int) -> "pa.Scalar":
    """A scalar of 32 bits; `pyarrow.scalar` and plain numbers would import pandas."""
    arrow = arrow_module()
    numbers = arrow.py_buffer(array("i", [value]))
    return arrow.Array.from_buffers(arrow.int32(), 1, [None, numbers])[0]
