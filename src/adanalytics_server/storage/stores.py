"""The partners' stores of one data folder, opened when they are first asked for."""

import threading
from pathlib import Path

from adanalytics_server.storage.store import PartnerStore


class Stores:
    """Hands out one store per partner; the folder's name is the partner's number, never its id."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "partners"
        self._lock = threading.Lock()
        self._open: dict[int, PartnerStore] = {}

    def of(self, partner: int) -> PartnerStore:
        """Return the store of the partner with this number."""
        with self._lock:
            store = self._open.get(partner)
            if store is None:
                store = self._open[partner] = PartnerStore(self._folder / str(partner))
            return store

    def drop(self, partner: int) -> None:
        """Close the store of a partner, whose files are about to go."""
        with self._lock:
            store = self._open.pop(partner, None)
        if store is not None:
            store.close()

    def close(self) -> None:
        """Close all stores."""
        with self._lock:
            stores, self._open = list(self._open.values()), {}
        for store in stores:
            store.close()
