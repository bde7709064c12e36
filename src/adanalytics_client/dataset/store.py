"""The storage of a dataset: files by name below a root, on this machine or elsewhere."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, Protocol

from adanalytics_client.dataset.layout import IDENTITY
from adanalytics_client.dataset.local_store import LocalStore
from adanalytics_client.dataset.object_store import open_object_store
from adanalytics_client.errors import UnsuitablePlace


class Store(Protocol):
    """Files by name; each appears complete or not at all, in one step.

    Attributes:
        place: the root, as the user wrote it.
    """

    place: str

    def read(self, name: str) -> bytes | None:
        """Read a small file; None when it does not exist."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file as a seekable stream. Raises FileNotFoundError."""

    def write(
        self, name: str, content: bytes, *, lasting: bool = True, private: bool = False
    ) -> None:
        """Write a small file.

        Args:
            name: its name.
            content: all of it.
            lasting: make it survive a loss of power.
            private: make it readable for its owner only, where the storage can.
        """

    def move_in(self, local: Path, name: str) -> None:
        """Move a finished file from the scratch folder to its name; `flush` makes that durable."""

    def flush(self) -> None:
        """Make the moved files durable."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def names(self) -> Collection[str]:
        """List the names directly below the root."""

    def sizes(self, folder: str) -> Mapping[str, int]:
        """List every file below a folder with its size."""

    def scratch(self) -> AbstractContextManager[Path]:
        """Make a folder on this machine for unfinished files."""

    def local(self, name: str) -> Path | None:
        """Return the path of a name on this machine's disk; None if it is elsewhere."""

    def lock(self) -> AbstractContextManager[None]:
        """Lock out other processes. Raises DatasetInUse."""


class DryStore:
    """A store for planning: it drops what would be written.

    A plan moves no files in, so `scratch` and `move_in` are those of the store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.place = store.place
        self.read, self.open, self.local = store.read, store.open, store.local
        self.names, self.sizes = store.names, store.sizes
        self.scratch, self.move_in = store.scratch, store.move_in

    def write(
        self, name: str, content: bytes, *, lasting: bool = True, private: bool = False
    ) -> None:
        """Drop a small file."""

    def flush(self) -> None:
        """Do nothing."""

    def remove(self, name: str) -> None:
        """Leave a file where it is."""

    def lock(self) -> AbstractContextManager[None]:
        """Lock out other processes, if there is a dataset. Raises DatasetInUse."""
        return self._store.lock() if self._store.read(IDENTITY) else nullcontext()


def open_store(place: str) -> Store:
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
