"""The storage that a dataset needs: whole files under names."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from adanalytics_client.errors import DatasetError, UnsuitablePlace


class Store(Protocol):
    """Files by name below one root; a file appears whole or not at all, in one step."""

    @property
    def place(self) -> str:
        """The root as the user named it."""

    def read(self, name: str) -> bytes | None:
        """Read a small file; None when there is none."""

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
            private: let nobody else read it, where the storage knows of owners.
        """

    def move_in(self, local: Path, name: str) -> None:
        """Put a finished local file, which is then gone, under a name."""

    def flush(self) -> None:
        """Make every `move_in` so far survive a loss of power."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there, and the folders that it leaves empty."""

    def names(self) -> Collection[str]:
        """List the names directly below the root, of files and folders."""

    def sizes(self, folder: str) -> Mapping[str, int]:
        """List every file below a folder, at any depth, with its size in bytes."""

    def scratch(self) -> AbstractContextManager[Path]:
        """Make a local folder for files to `move_in`; empty at first, gone at the end."""

    def local(self, name: str) -> Path | None:
        """Return the path of a name on this machine's disk; None when it is elsewhere."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep other processes away. Raises DatasetInUse."""


def open_store(place: str) -> Store:
    """Open a folder, or an fsspec address such as `s3://bucket/events`.

    Raises:
        DatasetError: when the address needs a library that is not installed.
        UnsuitablePlace: for a place that cannot hold a dataset.
    """
    if not place:
        raise UnsuitablePlace(
            "the place of the dataset is empty", remedy="Name a folder or an address."
        )
    try:
        place.encode()
    except UnicodeEncodeError:
        raise UnsuitablePlace(
            "the name of the dataset is not UTF-8 text, which its readers need",
            remedy="Name it in UTF-8, or in ASCII alone.",
        ) from None
    if "://" not in place or place.startswith("file://"):
        from adanalytics_client.dataset.local_store import LocalStore

        root = Path(place.removeprefix("file://"))
        if root.exists() and not root.is_dir():
            raise UnsuitablePlace(
                f"{place} is a file", remedy="A dataset is a folder: name another."
            )
        return LocalStore(root, place)
    from adanalytics_client.dataset.object_store import open_object_store

    return open_object_store(place)


@contextmanager
def write_errors(place: str) -> Iterator[None]:
    """Turn an error of the system into a DatasetError that names the place."""
    try:
        yield
    except OSError as error:
        raise DatasetError(
            f"cannot write the dataset {place}: {error.strerror or error}",
            remedy="Make room and permission there, and run the same command again.",
        ) from error
