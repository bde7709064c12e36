"""Where the bytes of an unfinished download lie, and whether they can."""

import hashlib
import os
from pathlib import Path

from adanalytics_client._files import check_place, open_beside, permissions_of, real_path
from adanalytics_client._part_lock import open_locked

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
    part, _note = names_beside(target)
    with open_locked(part, within=permissions_of(target)) as file:
        if file.seek(0, os.SEEK_END) == 0:
            part.unlink()
    return None
