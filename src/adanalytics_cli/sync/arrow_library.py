"""pyarrow, imported when a dataset is worked on; it is an extra, and has no types."""

from array import array
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from adanalytics_cli.core.errors import MissingExtra

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_module(name: str = "pyarrow") -> ModuleType:
    """A module of pyarrow. Raises MissingExtra when it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra("arrow", needed_for="a dataset") from None


def whole_number(value: int) -> "pa.Scalar":
    """A scalar of 32 bits; `pyarrow.scalar` and plain numbers would import pandas."""
    arrow = arrow_module()
    numbers = arrow.py_buffer(array("i", [value]))
    return arrow.Array.from_buffers(arrow.int32(), 1, [None, numbers])[0]
