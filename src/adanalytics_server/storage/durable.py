"""Names that survive a power cut: the folder of each new name is synced."""

import os
from importlib.util import find_spec
from pathlib import Path

POSIX = find_spec("fcntl") is not None
"""Whether folders can be opened; Windows has neither that nor `fcntl`."""


def rename(part: Path, target: Path) -> None:
    """Give a finished file its name, replacing an earlier one."""
    part.replace(target)
    _sync(target.parent)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents where they are missing."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    if not POSIX:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
