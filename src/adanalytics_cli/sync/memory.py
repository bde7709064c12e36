"""Where a sync takes memory from, so that what is freed serves the next page, on any thread."""

from adanalytics_cli.core.heap import share_heap
from adanalytics_cli.sync.arrow_library import arrow_module


def share_memory() -> None:
    """Let Arrow and all threads take memory from one heap for the rest of the process.

    Arrow's own pools keep what was freed, for each thread by itself, and so do the heaps of the
    threads. A sync would need 60 to 120 MB more.
    """
    arrow = arrow_module()
    arrow.set_memory_pool(arrow.system_memory_pool())
    share_heap()


def release_memory() -> None:
    """Hand back to the system what was freed, by Arrow and by Python, and is still kept."""
    arrow_module().default_memory_pool().release_unused()
