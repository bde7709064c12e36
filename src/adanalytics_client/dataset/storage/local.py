"""The storage of a dataset: files by name below a root, on this machine or elsewhere."""

import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

from adanalytics_client._base.files import make_folder, put_in_place, rename, sync_folder
from adanalytics_client._base.locks import lock
from adanalytics_client.dataset.errors import DatasetError, DatasetInUse, UnsuitablePlace
from adanalytics_client.dataset.records.layout import LOCK, OURS, SCRATCH

if TYPE_CHECKING:
    from .objects import ObjectStore

Store: TypeAlias = "LocalStore | ObjectStore"


@contextmanager
def write_errors(place: str) -> Iterator[None]:
    """Turn a system error into a DatasetError that names the place."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise DatasetError(f"Cannot write the dataset {place}: {reason}.") from error


class LocalStore:
    """Files by name in a folder; each appears complete or not at all, in one step.

    They are written in a scratch folder, synced and renamed.

    The lock is a file lock, so it ends with its process, even if that is killed.
    """

    def __init__(self, root: Path, place: str) -> None:
        self._root = root.absolute()
        self.place = place
        # Folders with new names that a loss of power could still lose.
        self._unsynced: set[Path] = set()
        self._is_swept = False

    def read(self, name: str) -> bytes | None:
        """Read a small file; None when it does not exist."""
        try:
            return self._path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read_all(self, names: Iterable[str]) -> list[bytes | None]:
        """Read small files, in the order of their names."""
        return [*map(self.read, names)]

    def open(self, name: str) -> AbstractContextManager[BufferedIOBase]:
        """Open a file, by its name or by an absolute path on this machine, as a seekable stream."""
        return self._path(name).open("rb")

    def write(
        self, name: str, content: bytes, *, lasting: bool = True, private: bool = False
    ) -> None:
        """Write a small file.

        Args:
            lasting: make the file survive a power failure.
            private: make the file readable only by its owner, if the storage supports this.
        """
        target, opener = self._path(name), partial(os.open, mode=0o600) if private else None
        with self._aside() as aside:
            with open(aside, "xb", opener=opener) as file:
                file.write(content)
                make_folder(target.parent)
                # A file whose loss costs nothing is spared the sync to the disk.
                if lasting:
                    put_in_place(file, aside, target)
            if not lasting:
                rename(aside, target)

    @contextmanager
    def _aside(self) -> Iterator[Path]:
        """Name a file to be moved to its place; it is removed if that fails."""
        aside = self._path(SCRATCH) / secrets.token_hex(8)
        with write_errors(self.place):
            make_folder(aside.parent)
            try:
                yield aside
            except BaseException:
                aside.unlink(missing_ok=True)
                raise

    def move_in(self, file: str, name: str) -> None:
        """Move a file (absolute path or current name) to `name`; the caller then calls `flush`."""
        path, target = self._path(file), self._path(name)
        with write_errors(self.place):
            # Windows syncs only what is open for writing.
            with path.open("r+b") as opened:
                os.fsync(opened.fileno())
            make_folder(target.parent)
            self._unsynced.add(target.parent)
            rename(path, target)

    def copy(self, name: str, target: str) -> None:
        """Copy a file; the copy appears complete or not at all, and the caller then calls `flush`.

        It may replace another file.
        """
        with self._aside() as aside:
            shutil.copyfile(self._path(name), aside)
            self.move_in(str(aside), target)

    def flush(self) -> None:
        """Sync the names of the moved files to the disk."""
        for folder in self._unsynced:
            with write_errors(self.place), suppress(FileNotFoundError):
                sync_folder(folder)
        self._unsynced.clear()

    def remove(self, name: str) -> None:
        """Remove a file, if it exists, and folders that this empties, except top-level ones."""
        path = self._path(name)
        with write_errors(self.place):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            for folder in path.parents:
                if folder.parent in (self._root, self._path(OURS)):
                    return
                folder.rmdir()

    def remove_all(self, names: Iterable[str]) -> None:
        """Remove files, in any order."""
        for name in names:
            self.remove(name)

    def names(self) -> Collection[str]:
        try:
            return [path.name for path in self._root.iterdir()]
        except FileNotFoundError:
            return ()

    def sizes(self, folder: str) -> Mapping[str, int]:
        """List every file below a folder with its size."""
        sizes = {}
        for base, _, names in os.walk(self._path(folder)):
            for name in names:
                path = Path(base, name)
                sizes[path.relative_to(self._root).as_posix()] = path.stat().st_size
        return sizes

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Make a folder for files to `move_in`; the first removes what a killed process left."""
        folder = self._path(SCRATCH)
        if not self._is_swept:
            shutil.rmtree(folder, ignore_errors=True)
            self._is_swept = True
        with write_errors(self.place):
            make_folder(folder)
        with TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as name:
            yield Path(name)
        with suppress(OSError):
            folder.rmdir()

    def local(self, name: str) -> Path:
        return self._path(name)

    def address(self, name: str) -> str:
        """Return the full path of a file, or its address, for other programs that read it."""
        return str(self._path(name))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock out other processes. Raises DatasetInUse."""
        path = self._path(LOCK)
        with write_errors(self.place):
            make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        with os.fdopen(descriptor, "rb") as file:
            try:
                lock(file, path.parent, wait=False)
            except BlockingIOError:
                raise DatasetInUse(
                    f"Another process works on {self.place}.",
                    remedy="Wait until it has ended, then run the same command again.",
                ) from None
            yield

    def _path(self, name: str) -> Path:
        return self._root / name


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
    # fsspec knows `file`, too, but has neither our locks nor our syncs.
    if "://" not in place or place.startswith("file://"):
        root = Path(place.removeprefix("file://"))
        if root.exists() and not root.is_dir():
            raise UnsuitablePlace(
                f"{place} is a file.", remedy="A dataset is a folder: name another."
            )
        return LocalStore(root, place)
    from .objects import open_object_store

    return open_object_store(place)
