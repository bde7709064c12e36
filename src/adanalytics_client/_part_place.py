"""Where the bytes of an unfinished download lie, and whether they can."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from adanalytics_client._files import check_place, open_beside, permissions_of, real_path
from adanalytics_client._part_lock import open_locked, unlock

# Bytes, with which `.NAME.part.json.tmp` is short enough for the usual 255.
_LONGEST_NAME = 238
_REPEATED = 40


def names_beside(target: Path) -> tuple[Path, Path]:
    """What an unfinished download and its note are called, the same in every run.

    Of the longest names that a file system takes only the beginning is repeated, and a digest of
    the whole.
    """
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()
        name = f"{name[:_REPEATED]}.{digest[:_REPEATED]}"
    return target.with_name(f"{name}.part"), target.with_name(f"{name}.part.json")


def open_part(target: Path) -> BinaryIO:
    """The file that takes what arrives of `target`, open to nobody who may not read that.

    Raises:
        ConfigurationError: when a link, a device or a pipe is there.
        DownloadError: when another download has it.
        OSError: when it cannot be written.
    """
    return open_locked(names_beside(target)[0], within=permissions_of(target))


def check_arrival(path: Path) -> None:
    """See that a download can come to `path`, or into that folder, before anything is sent for it.

    It is tried, since permissions alone do not tell; no trace of that stays.

    Raises:
        ConfigurationError: when it cannot be the path of a file, or of a folder for several.
        DownloadError: when another process is downloading to it.
        OSError: when nothing can be written there.
    """
    check_place(path)
    if path.is_dir():
        beside, probe = open_beside(path / "part")
        probe.close()
        return beside.unlink()
    target = real_path(path)
    with open_part(target) as file:
        if file.seek(0, os.SEEK_END) == 0:
            names_beside(target)[0].unlink()
        unlock(file)
    return None
