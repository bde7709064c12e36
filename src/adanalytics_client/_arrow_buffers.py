"""Arrow arrays straight from buffers: `pyarrow.array` imports pandas where that is installed.

That import takes 40 MB and a third of a second, which nobody asked for who asks for Arrow.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from adanalytics_client._extras import import_extra

if TYPE_CHECKING:
    import pyarrow as pa


def text_array(texts: Sequence[bytes]) -> "pa.StringArray":
    """An array of text from UTF-8, which is not checked here.

    Raises:
        OverflowError: for more than 2 GiB.
    """
    arrow = import_extra("pyarrow", extra="arrow")
    ends = array("i", accumulate(map(len, texts), initial=0))
    buffers = [arrow.py_buffer(ends), arrow.py_buffer(b"".join(texts))]
    made: pa.StringArray = arrow.StringArray.from_buffers(len(texts), *buffers)
    return made


def offsets_array(lengths: Iterable[int]) -> "pa.Int32Array":
    """Where pieces of these lengths begin, and where the last of them ends."""
    arrow = import_extra("pyarrow", extra="arrow")
    ends = array("i", accumulate(lengths, initial=0))
    buffers = [None, arrow.py_buffer(ends)]
    made: pa.Int32Array = arrow.Array.from_buffers(arrow.int32(), len(ends), buffers)
    return made
