"""A folder on a disk that forgets what was not synced."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from proof.simulate.choices import Choices

MEMORY = Path("/dev/shm")
"""A file system in memory, if the machine has one: it takes what the model calls synced."""

Tree = dict[str, "bytes | Tree"]


@dataclass
class Disk:
    """A folder, and what of it would survive a power cut.

    Attributes:
        stop: called at each sync and rename, which are the moments between two states of a disk.
    """

    folder: Path
    stop: Callable[[], None] = lambda: None
    _contents: dict[int, bytes] = field(default_factory=dict)
    _names: dict[int, dict[str, int]] = field(default_factory=dict)
    _folders: set[int] = field(default_factory=set)

    def sync(self, descriptor: int) -> None:
        """Remember what is there now, as `os.fsync` does."""
        self.stop()
        status = os.fstat(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_dir():
            self._names[status.st_ino] = {each.name: each.lstat().st_ino for each in path.iterdir()}
            self._folders |= {each.lstat().st_ino for each in path.iterdir() if each.is_dir()}
        else:
            self._contents[status.st_ino] = path.read_bytes()

    def state(self, power_cut: Choices | None = None) -> Tree:
        """Return all files as a kill leaves them, or as a power cut may."""
        return self._read(self.folder, power_cut)

    def _read(self, folder: Path, cut: Choices | None) -> Tree:
        found = {each.lstat().st_ino: each for each in sorted(folder.iterdir())}
        names = {each.name: number for number, each in found.items()}
        own = folder.stat().st_ino
        if cut is not None and folder != self.folder and cut.happens(50):
            names = self._names.get(own, {})
        elif cut is not None and own in self._names and cut.happens(50):
            names = self._names[own]
        tree: Tree = {}
        for name, number in names.items():
            path = found.get(number)
            if path is not None and path.is_dir():
                tree[name] = self._read(path, cut)
            elif path is None and number in self._folders:
                # Removed since, with what was in it.
                tree[name] = {}
            elif path is None or (cut is not None and cut.happens(50)):
                # Renamed or removed since, or not written yet.
                tree[name] = self._contents.get(number, b"")
            else:
                tree[name] = path.read_bytes()
        return tree

    def restore(self, tree: Tree) -> None:
        """Make the folder what a restart finds."""
        for each in self.folder.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        for memory in (self._contents, self._names, self._folders):
            memory.clear()
        self._write(self.folder, tree)

    def _write(self, folder: Path, tree: Tree) -> None:
        for name, content in tree.items():
            path = folder / name
            if isinstance(content, bytes):
                path.write_bytes(content)
                self._contents[path.stat().st_ino] = content
            else:
                path.mkdir()
                self._folders.add(path.stat().st_ino)
                self._write(path, content)
        names = {each.name: each.lstat().st_ino for each in folder.iterdir()}
        self._names[folder.stat().st_ino] = names


@contextmanager
def forgetful_disk() -> Iterator[Disk]:
    """Make a folder whose syncs are remembered; at the end it is removed."""
    folder = Path(mkdtemp(prefix="simulate-", dir=MEMORY if MEMORY.is_dir() else None))
    disk = Disk(folder)
    sync, replace = os.fsync, os.replace

    def replaced(*arguments: str) -> None:
        disk.stop()
        replace(*arguments)

    os.fsync, os.replace = disk.sync, replaced  # type: ignore[assignment]
    try:
        yield disk
    finally:
        os.fsync, os.replace = sync, replace
        with suppress(OSError):
            shutil.rmtree(folder)
