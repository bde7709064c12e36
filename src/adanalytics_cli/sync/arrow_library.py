"""pyarrow, imported when a dataset is worked on; it is an extra, and has no types."""

from array import array
from importlib import import_module
from typing import Any

from adanalytics_cli.errors import MissingExtra


def arrow_module(name: str = "pyarrow") -> Any:  # noqa: ANN401  a library without types
    """A module of pyarrow. Raises MissingExtra when it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra("arrow", needed_for="a dataset") from None


def whole_number(value: int) -> Any:  # noqa: ANN401  a library without types
    """A scalar of 32 bits; `pyarrow.scalar` and plain numbers would import pandas."""
    arrow = arrow_module()
    numbers = arrow.py_buffer(array("i", [value]))
    return arrow.Array.from_buffers(arrow.int32(), 1, [None, numbers])[0]


def give_memory_back() -> None:
    """Let Arrow take memory from the system for the rest of the process.

    Its own pools keep what was freed, for each thread by itself; a sync would then need half as
    much again.
    """
    arrow = arrow_module()
    arrow.set_memory_pool(arrow.system_memory_pool())


def release_memory() -> None:
    """Hand back to the system what was freed, by Arrow and by Python, and is still kept."""
    arrow_module().default_memory_pool().release_unused()
