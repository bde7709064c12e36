"""How `split="auto"` divides days into queries by their rough number of events; no I/O.

For programs that plan pulls of their own, as `adanalytics sync` does.
"""

from adanalytics_client._events import MOST_FULL_PAGES, DateRange, lay_out, requests_of

__all__ = ["MOST_FULL_PAGES", "DateRange", "lay_out", "requests_of"]
