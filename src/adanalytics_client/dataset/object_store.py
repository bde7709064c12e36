"""A dataset in object storage, by fsspec: an object is put as a whole, which is all it takes.

There is no rename and no lock of the system. A put makes the new object visible at once and as
a whole; until then the old one is there.
"""

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from adanalytics_client.dataset.file_system import FileSystem
from adanalytics_client.dataset.layout import LOCK
from adanalytics_client.dataset.lease import Lease
from adanalytics_client.dataset.store import as_failure
from adanalytics_client.errors import DatasetError

# Which extra brings the library of an address; others are installed by who uses them.
_EXTRAS = {"s3": "s3"}


class ObjectStore:
    """Objects below one address; `place` is the address as the user wrote it.

    Files on their way lie in a temporary folder of this machine until they are put.
    """

    def __init__(self, files: FileSystem, root: str, place: str) -> None:
        self._files = files
        self._root = root.rstrip("/")
        self.place = place

    def read(self, name: str) -> bytes | None:
        """The content of a small object, or None when there is none."""
        try:
            with self._errors_named():
                return self._files.cat_file(self._path(name))
        except FileNotFoundError:
            return None

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """A stream of an object."""
        with self._files.open(self._path(name), "rb") as file:
            yield file

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:  # noqa: ARG002  # it always lasts
        """Put a small object."""
        with self._errors_named(), as_failure(self.place):
            self._files.pipe_file(self._path(name), content)

    def move_in(self, local: Path, name: str) -> None:
        """Put a finished file; large ones go in parts that become visible together."""
        with self._errors_named(), as_failure(self.place):
            self._files.put_file(str(local), self._path(name))
        local.unlink()

    def remove(self, name: str) -> None:
        """Take an object away, if it is there."""
        path = self._path(name)
        with self._errors_named():
            if self._files.exists(path):
                self._files.rm_file(path)

    def names(self) -> Collection[str]:
        """The first parts of the names of all objects."""
        try:
            with self._errors_named():
                found = self._files.ls(self._root, detail=False)
        except FileNotFoundError:
            return ()
        return {path.rstrip("/").rpartition("/")[2] for path in found}

    def sizes(self, folder: str) -> Mapping[str, int]:
        """Every object below a folder with its size."""
        try:
            with self._errors_named():
                found = self._files.find(self._path(folder), detail=True)
        except FileNotFoundError:
            return {}
        # Some file systems give their paths with a leading slash and some without.
        cut = len(self._root.lstrip("/")) + 1
        return {path.lstrip("/")[cut:]: int(info["size"]) for path, info in found.items()}

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder of this machine."""
        with tempfile.TemporaryDirectory(prefix="adanalytics-") as folder:
            yield Path(folder)

    def local(self, name: str) -> None:
        """Nothing is on this machine."""

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the dataset by an object that says so."""
        lease = Lease(self._files, self._path(LOCK), self.place)
        with self._errors_named(), as_failure(self.place):
            lease.take()
        with lease.kept():
            yield

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Say in two lines what a library says of the storage, which may be of any class."""
        try:
            yield
        except (DatasetError, FileNotFoundError):
            raise
        except Exception as error:
            told = str(error).strip().partition("\n")[0] or type(error).__name__
            raise DatasetError(
                f"cannot use {self.place}: {told}",
                remedy="Check the address, the credentials for it and the network.",
            ) from error

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def open_object_store(place: str) -> ObjectStore:
    """The store of an fsspec address.

    Raises DatasetError without the library for it, or for an address of no known kind.
    """
    kind = urlsplit(place).scheme
    extra = _EXTRAS.get(kind, "s3")
    try:
        fsspec = import_module("fsspec")
        # What is listed must be what is there: others may write too.
        files, root = fsspec.core.url_to_fs(place, use_listings_cache=False)
    except ImportError as error:
        if kind not in {*_EXTRAS, "memory"}:
            raise DatasetError(
                f"{kind}:// needs a library that is not installed: {error}",
                remedy="Install the fsspec library for it, with python -m pip install.",
            ) from None
        raise DatasetError(
            f"{kind}:// needs the '{extra}' extra, which is not installed",
            remedy=f"Install it: python -m pip install 'adanalytics[{extra}]'",
        ) from None
    except ValueError as error:
        raise DatasetError(f"{place}: {error}", remedy="Give --to a folder or s3://...") from None
    return ObjectStore(files, root, place)
