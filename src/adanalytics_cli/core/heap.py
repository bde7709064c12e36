"""The C library's heap, set up for threads that hand large pieces to each other."""

import ctypes
from contextlib import suppress

# `M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD` and `M_ARENA_MAX` of malloc.h.
_KEPT_AT_THE_END, _MAPPED_FROM, _MOST_HEAPS = -1, -3, -8
# The largest that glibc takes.
_LARGEST_PIECE = 32 * 1024 * 1024


def share_heap() -> None:
    """Let all threads take memory from one heap for the rest of the process.

    The C library of most Linux systems gives each thread a heap that keeps freed memory. Running
    threads keep theirs. A C library without this setting is left as it is.
    """
    _set(_MOST_HEAPS, 1)


def keep_freed(most: int) -> None:
    """Keep up to `most` bytes that were freed, instead of asking the system anew for each page.

    The system maps fresh memory page by page, which is half of the cost of a buffer that is
    written once and freed.
    """
    _set(_MAPPED_FROM, min(most, _LARGEST_PIECE))
    _set(_KEPT_AT_THE_END, most)


def _set(what: int, value: int) -> None:
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(what, value)
