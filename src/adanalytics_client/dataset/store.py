"""The storage of a dataset: files by name below a root, on this machine or elsewhere."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from adanalytics_client.dataset.layout import IDENTITY
from adanalytics_client.dataset.local_store import LocalStore
from adanalytics_client.dataset.object_store import ObjectStore, open_object_store
from adanalytics_client.errors import UnsuitablePlace


class DryStore:
    """A read-only store: it drops what a sync writes while it plans."""

    def __init__(self, store: LocalStore | ObjectStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # each attribute has its own type
        """Return an attribute of the store."""
        return getattr(self._store, name)

    def write(
        self, name: str, content: bytes, *, lasting: bool = True, private: bool = False
    ) -> None:
        """Drop a small file."""

    def remove(self, name: str) -> None:
        """Leave a file where it is."""

    def lock(self) -> AbstractContextManager[None]:
        """Lock out other processes, if there is a dataset. Raises DatasetInUse."""
        return self._store.lock() if self._store.read(IDENTITY) else nullcontext()


Store = LocalStore | ObjectStore | DryStore
"""A file appears complete or not at all, in one step; all kinds have the same methods."""


def open_store(place: str) -> LocalStore | ObjectStore:
    """Open a folder, or an fsspec address such as `s3://bucket/events`.

    Raises:
        DatasetError: when the address needs a library that is not installed.
        UnsuitablePlace: for a place that cannot hold a dataset.
    """
    if not place:
        raise UnsuitablePlace(
            "The place of the dataset is empty.", remedy="Name a folder or an address."
        )
    try:
        place.encode()
    except UnicodeEncodeError:
        raise UnsuitablePlace(
            "The name of the dataset is not UTF-8 text, which its readers need.",
            remedy="Name it in UTF-8, or in ASCII alone.",
        ) from None
    if "://" not in place or place.startswith("file://"):
        root = Path(place.removeprefix("file://"))
        if root.exists() and not root.is_dir():
            raise UnsuitablePlace(
                f"{place} is a file.", remedy="A dataset is a folder: name another."
            )
        return LocalStore(root, place)
    return open_object_store(place)
