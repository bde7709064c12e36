"""Where a sync takes memory from, so that what is freed serves the next page, on any thread."""

from importlib import import_module

from adanalytics_cli.core.heap import share_heap


def share_memory() -> None:
    """Let Arrow and all threads take memory from one heap for the rest of the process.

    Arrow's own pools keep what was freed, for each thread by itself, and so do the heaps of the
    threads. A sync would need 60 to 120 MB more.
    """
    arrow = import_module("pyarrow")
    arrow.set_memory_pool(arrow.system_memory_pool())
    share_heap()
