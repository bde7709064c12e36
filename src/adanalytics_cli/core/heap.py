"""The C library's heap, set up for threads that hand large pieces to each other."""

import ctypes
from contextlib import suppress

# `M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD` and `M_ARENA_MAX` of malloc.h.
_KEPT_AT_THE_END, _MAPPED_FROM, _MOST_HEAPS = -1, -3, -8
# The largest that glibc takes.
_LARGEST_PIECE = 32 * 1024 * 1024


def share_heap() -> None:
    """Let all threads take memory from one heap for the rest of the process.

    The C library of most Linux systems gives each thread a heap, which keeps what was freed to it.
    Threads that run already keep theirs; a C library that knows no such setting is left as it is.
    """
    _set(_MOST_HEAPS, 1)


def keep_freed(most: int) -> None:
    """Keep up to `most` bytes that were freed, instead of asking the system anew for each page.

    Memory that comes fresh from the system is paid for page by page of it, which for a piece that
    is written once and freed is half of its costs.
    """
    _set(_MAPPED_FROM, min(most, _LARGEST_PIECE))
    _set(_KEPT_AT_THE_END, most)


def _set(what: int, value: int) -> None:
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(what, value)
