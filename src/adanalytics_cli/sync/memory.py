"""Where a sync takes memory from, so that what is freed serves the next page, on any thread."""

import ctypes
from contextlib import suppress

from adanalytics_cli.sync.arrow_library import arrow_module

# `M_ARENA_MAX` of malloc.h.
_MOST_HEAPS = -8


def share_memory() -> None:
    """Let Arrow and all threads take memory from one heap for the rest of the process.

    Arrow's own pools keep what was freed, for each thread by itself, and so does the C library of
    most Linux systems, which gives each thread a heap. A sync would need 60 to 120 MB more. Threads
    that run already keep theirs; a C library that knows no such setting is left as it is.
    """
    arrow = arrow_module()
    arrow.set_memory_pool(arrow.system_memory_pool())
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_MOST_HEAPS, 1)


def release_memory() -> None:
    """Hand back to the system what was freed, by Arrow and by Python, and is still kept."""
    arrow_module().default_memory_pool().release_unused()
