"""pyarrow, imported when a dataset is worked on; it is an extra, and has no types."""

from array import array
from importlib import import_module
from typing import Any

from adanalytics_cli.errors import MissingExtra


def arrow_module(name: str = "pyarrow") -> Any:  # noqa: ANN401 - a library without types
    """A module of pyarrow. Raises MissingExtra when it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra("arrow", needed_for="a dataset") from None


def whole_number(value: int) -> Any:  # noqa: ANN401 - a library without types
    """A scalar of 32 bits; `pyarrow.scalar` and plain numbers would import pandas."""
    arrow = arrow_module()
    numbers = arrow.py_buffer(array("i", [value]))
    return arrow.Array.from_buffers(arrow.int32(), 1, [None, numbers])[0]
