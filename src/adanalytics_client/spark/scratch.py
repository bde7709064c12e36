"""A temporary folder for a task, which a later task removes if the first one was killed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir, mkdtemp

from adanalytics_client._base.locks import POSIX, take_lock

_PREFIX = "adanalytics-task-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder, locked until the block ends, and remove those that killed tasks left.

    The operating system unlocks the folder of a process that ends, however it ends. In a file
    system without locks, and on Windows, nothing that others left is removed.
    """
    if not POSIX:
        with TemporaryDirectory(prefix=_PREFIX) as temporary:
            yield Path(temporary)
        return
    for left in Path(gettempdir()).glob(f"{_PREFIX}*"):
        _remove_if_abandoned(left)
    folder, opened = _make_locked()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(opened)


def _make_locked() -> tuple[Path, int]:
    while True:
        folder = Path(mkdtemp(prefix=_PREFIX))
        with suppress(FileNotFoundError):
            opened = os.open(folder, os.O_RDONLY)
            with suppress(OSError):
                take_lock(opened, wait=True)
            if folder.exists():
                return folder, opened
            os.close(opened)
        # Another task took it for abandoned before it was locked.


def _remove_if_abandoned(folder: Path) -> None:
    # Another user's folder cannot be opened, and that of a running task is locked.
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            take_lock(opened, wait=False)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(opened)
