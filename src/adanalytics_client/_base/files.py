"""Where files may be written, and how a new one replaces another."""

import errno
import glob
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from adanalytics_client.errors import ConfigurationError

from .locks import POSIX, take_lock

UNFOLLOWED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags for `os.open`: open no file behind a link, and never block on a pipe."""

# Characters of the file's name in a temporary name, so that it is never too long.
_REPEATED = 40


def user_folder(environment: Mapping[str, str], variable: str, default: str) -> Path:
    """Return our folder in the user's folder for settings or for state.

    It is below the folder that `variable` names, else below `default` in the home folder, as the
    XDG base directory specification says, which ignores relative paths. On Windows the default is
    the folder for the data of applications.

    Raises:
        RuntimeError: when no home folder is known.
    """
    folder = Path(environment.get(variable, ""))
    if folder.is_absolute():
        return folder / "adanalytics"
    if not POSIX:
        from platformdirs import user_data_path

        return user_data_path("adanalytics", appauthor=False)
    return Path.home() / default / "adanalytics"


def state_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for what is kept between runs; raise RuntimeError as `user_folder` does."""
    return user_folder(environment, "XDG_STATE_HOME", ".local/state")


def check_target(path: Path) -> None:
    """Check that a file can have this name, before anything is fetched for it."""
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder.", remedy="Name a file in it.")
    check_place(path)


def check_place(path: Path) -> None:
    """Check that files can be created at a path, which may be a folder for them."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ConfigurationError(f"{path} is a device or a pipe.", remedy="Name a file.")
    if not (folder := real_path(path).parent).is_dir():
        raise ConfigurationError(f"The folder {folder} does not exist.", remedy="Create it first.")


def real_path(path: Path) -> Path:
    """Return the path to write for this name: a link stays a link, and its target is written."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def permissions_of(path: Path) -> int | None:
    """Return the permissions of an existing file, for the one that replaces it."""
    return stat.S_IMODE(path.stat().st_mode) if path.is_file() else None


def keep_permissions(file: BinaryIO, target: Path) -> None:
    """Give a file the permissions of the one that it will replace, if they differ."""
    permissions = permissions_of(target)
    # Only the owner may set them, and a file in a shared folder may have another owner.
    if POSIX and permissions not in {None, stat.S_IMODE(os.fstat(file.fileno()).st_mode)}:
        os.fchmod(file.fileno(), permissions)


def put_in_place(file: BinaryIO, path: Path, target: Path) -> None:
    """Rename a finished file, still open, so that a power cut loses neither bytes nor name."""
    file.flush()
    os.fsync(file.fileno())
    if not POSIX:
        file.close()
    rename(path, target)
    sync_folder(target.parent)


def rename(path: Path, target: Path) -> None:
    """Rename without syncing; of many files, `sync_folder` syncs the names together."""
    path.replace(target)


def make_folder(path: Path, *, mode: int = 0o777) -> None:
    """Make a folder and its parents, if they are missing, so that a power cut does not lose them.

    The parents get the usual permissions.
    """
    missing = [*takewhile(lambda folder: not folder.is_dir(), (path, *path.parents))]
    path.mkdir(mode, parents=True, exist_ok=True)
    for parent in missing:
        sync_folder(parent.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk, if its file system can do that."""
    if not POSIX:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def open_beside(path: Path, *, private: bool = False) -> tuple[Path, BinaryIO]:
    """Open a new file in the folder of `path`, to be renamed to it before it is closed.

    It has the permissions of the existing file; a `private` file is for its owner only. While it is
    open it is locked. Files that earlier runs made for `path` and that are no longer locked,
    because the runs were killed, are removed.

    Raises:
        OSError: when the folder cannot be written.
    """
    begin = f".{path.name[:_REPEATED]}."
    for old_file in path.parent.glob(f"{glob.escape(begin)}{'[0-9a-f]' * 12}.tmp"):
        with suppress(OSError):
            with old_file.open("r+b") as stream:
                take_lock(stream, wait=False)
                if POSIX:
                    old_file.unlink()
            old_file.unlink(missing_ok=True)
    temporary = path.with_name(f"{begin}{secrets.token_hex(6)}.tmp")
    # Not opened with tempfile, which makes files that only the owner may read.
    flags, mode = os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666
    # Its name, by which another library may write it, is then that of the file, not its number. The
    # caller closes it, or `replacing`.
    file = open(temporary, "r+b", opener=lambda path, _: os.open(path, flags, mode))  # noqa: SIM115
    # If the file system has no locks, no file is ever treated as abandoned.
    with suppress(OSError):
        take_lock(file, wait=True)
    if not temporary.exists():
        # Another run treated it as abandoned before it was locked.
        file.close()
        return open_beside(path, private=private)
    if not private:
        keep_permissions(file, path)
    return temporary, file


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a stream that takes the name `path` at the end; until then the old file stays.

    A file that is replaced keeps its permissions; a `private` one is for its owner only.
    """
    temporary, stream = open_beside(path, private=private)
    try:
        with stream:
            yield stream
            put_in_place(stream, temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
