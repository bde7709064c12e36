"""pyarrow, imported when a dataset is worked on; it is an extra, and has no types."""

from array import array
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any

from adanalytics_cli.errors import MissingExtra


def arrow_module(name: str = "pyarrow") -> Any:  # noqa: ANN401  a library without types
    """A module of pyarrow. Raises MissingExtra when it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra("arrow", needed_for="a dataset") from None


def text_array(texts: Sequence[bytes]) -> Any:  # noqa: ANN401  a library without types
    """An array of text from UTF-8; `pyarrow.array` would import pandas, which takes 40 MB."""
    arrow = arrow_module()
    ends = array("i", accumulate(map(len, texts), initial=0))
    buffers = [arrow.py_buffer(ends), arrow.py_buffer(b"".join(texts))]
    return arrow.StringArray.from_buffers(len(texts), *buffers)


def offsets_of(lengths: Iterable[int]) -> Any:  # noqa: ANN401  a library without types
    """An array of 32-bit integers: where pieces of these lengths begin, and where the last ends."""
    arrow = arrow_module()
    ends = array("i", accumulate(lengths, initial=0))
    return arrow.Array.from_buffers(arrow.int32(), len(ends), [None, arrow.py_buffer(ends)])


def whole_number(value: int) -> Any:  # noqa: ANN401  a library without types
    """A scalar of 32 bits; `pyarrow.scalar` and plain numbers would import pandas."""
    return offsets_of([value])[1]


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
