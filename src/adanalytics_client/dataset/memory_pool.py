"""Give memory back to the system between pages."""

from adanalytics_client.dataset.arrow_library import arrow_module


def release_memory() -> None:
    """Hand back to the system what was freed, by Arrow and by Python, and is still kept."""
    arrow_module().default_memory_pool().release_unused()
