"""A dataset in a folder: files are written aside, brought to the disk, and renamed."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from adanalytics_client.dataset.layout import DATA, LOCK, SCRATCH
from adanalytics_client.dataset.store import as_failure
from adanalytics_client.errors import DatasetInUse


class LocalStore:
    """Files below `root`; `place` is the root as the user wrote it.

    The lock is flock(2) on a file, so it ends with the process that holds it, however that ends.
    """

    def __init__(self, root: Path, place: str) -> None:
        self._root = root
        self.place = place

    def read(self, name: str) -> bytes | None:
        """The content of a small file, or None when there is none."""
        try:
            return self._path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """A stream of a file."""
        with self._path(name).open("rb") as file:
            yield file

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:
        """Put a small file in one step."""
        aside = self._make_folder(self._path(SCRATCH)) / secrets.token_hex(8)
        try:
            with aside.open("xb") as file:
                file.write(content)
                if lasting:
                    file.flush()
                    os.fsync(file.fileno())
            self._rename(aside, self._path(name), lasting=lasting)
        finally:
            aside.unlink(missing_ok=True)

    def move_in(self, local: Path, name: str) -> None:
        """Put a finished file from the scratch folder under its name, for good."""
        with local.open("rb") as file:
            os.fsync(file.fileno())
        self._rename(local, self._path(name), lasting=True)

    def remove(self, name: str) -> None:
        """Take a file away and the folders that it leaves empty."""
        path = self._path(name)
        path.unlink(missing_ok=True)
        # A folder that is not empty, or the first one that is kept, ends the climb.
        with suppress(OSError):
            for folder in path.parents:
                if folder.parent in (self._root, self._path(SCRATCH).parent):
                    return
                folder.rmdir()

    def names(self) -> Collection[str]:
        """What lies in the folder."""
        try:
            return [path.name for path in self._root.iterdir()]
        except FileNotFoundError:
            return ()

    def sizes(self, folder: str) -> Mapping[str, int]:
        """Every file below a folder with its size."""
        found: dict[str, int] = {}
        for base, _, names in os.walk(self._path(folder)):
            for name in names:
                path = Path(base, name)
                found[path.relative_to(self._root).as_posix()] = path.stat().st_size
        return found

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder inside the dataset, on the same file system; leftovers of a kill go first."""
        folder = self._path(SCRATCH)
        shutil.rmtree(folder, ignore_errors=True)
        try:
            yield self._make_folder(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def local(self, name: str) -> Path:
        """Where a name is."""
        return self._path(name)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the dataset for this process."""
        path = self._path(LOCK)
        with as_failure(self.place):
            self._make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        with os.fdopen(descriptor, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DatasetInUse(
                    f"another process works on {self.place}",
                    remedy="Wait until it has ended, then run the same command again.",
                ) from None
            yield

    def _path(self, name: str) -> Path:
        return self._root / name

    def _rename(self, aside: Path, target: Path, *, lasting: bool) -> None:
        missing = [folder for folder in target.parents if not folder.exists()]
        if missing and target.is_relative_to(self._path(DATA)):
            aside, target = self._wrap(aside, target, missing[-1]), missing[-1]
        self._make_folder(target.parent)
        aside.replace(target)
        if lasting:
            _sync(target.parent)

    def _wrap(self, aside: Path, target: Path, top: Path) -> Path:
        """A folder that is to become `top`, with the file inside, so that both appear in one step.

        Readers look below `data` at any moment; there, one thread at a time puts files.
        """
        tree = self._path(SCRATCH) / secrets.token_hex(8)
        inside = tree / target.relative_to(top)
        self._make_folder(inside.parent)
        aside.replace(inside)
        _sync(inside.parent)
        return tree

    def _make_folder(self, folder: Path) -> Path:
        """Make a folder and those above it; each new name is brought to the disk."""
        if not folder.is_dir():
            self._make_folder(folder.parent)
            with suppress(FileExistsError):
                folder.mkdir()
            _sync(folder.parent)
        return folder


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
