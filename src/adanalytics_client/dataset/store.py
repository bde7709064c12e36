"""What a dataset needs of the place it lies in: whole files under names, nothing more."""

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
        """The content of a small file, or None when there is none."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A seekable stream of a file. Raises FileNotFoundError."""

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:
        """Put a small file; `lasting` sees it on the disk, for a loss of power."""

    def move_in(self, local: Path, name: str) -> None:
        """Put a finished local file, which is then gone, under a name."""

    def remove(self, name: str) -> None:
        """Take a file away, if it is there, and the folders that it leaves empty."""

    def names(self) -> Collection[str]:
        """What lies directly below the root, files and folders."""

    def sizes(self, folder: str) -> Mapping[str, int]:
        """Every file below a folder, at any depth, with its size in bytes."""

    def scratch(self) -> AbstractContextManager[Path]:
        """A local folder for files that `move_in` will take; empty at first, gone at the end."""

    def local(self, name: str) -> Path | None:
        """Where a name is on this machine's disk, or None when it is elsewhere."""

    def lock(self) -> AbstractContextManager[None]:
        """Keep other processes away while it lasts. Raises DatasetInUse."""


def open_store(place: str) -> Store:
    """The store of a folder, or of an fsspec address such as `s3://bucket/events`.

    Raises DatasetError when the address needs a library that is not installed, UnsuitablePlace for
    a place that cannot hold a dataset.
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
def as_failure(place: str) -> Iterator[None]:
    """Say in one line that a place cannot be written."""
    try:
        yield
    except OSError as error:
        raise DatasetError(
            f"cannot write the dataset {place}: {error.strerror or error}",
            remedy="Make room and permission there, and run the same command again.",
        ) from error
