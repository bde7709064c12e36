"""Make this process behave as on Windows, as far as this project could notice.

Modules, constants and functions of POSIX are not there. A folder cannot be opened. A file that is
open can be neither renamed, replaced nor removed, and only one that is open for writing is synced.
"""

# What needs POSIX on POSIX is imported before it goes: this process is not really Windows.
import asyncio  # noqa: F401
import errno
import fcntl
import os
import shutil
import signal
import subprocess  # noqa: F401
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import platformdirs  # noqa: F401

MODULES = ["fcntl", "grp", "pwd", "resource", "termios"]
OF_OS = ["O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK"]
OF_OS += ["chown", "fchmod", "fork", "getegid", "geteuid", "getgid", "getuid", "killpg", "mkfifo"]
OF_OS += ["pread", "pwrite", "register_at_fork", "sendfile", "setsid", "statvfs"]
SIGNALS = ["SIGALRM", "SIGHUP", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"]


def install() -> None:
    """Change this process; modules that are imported later see a Windows."""
    # What shutil has seen of the system before.
    shutil._USE_CP_SENDFILE = False  # type: ignore[attr-defined]
    lacking: dict[str, None] = dict.fromkeys(MODULES)
    sys.modules.update(lacking)  # type: ignore[arg-type]  # None refuses an import
    sys.modules["msvcrt"] = _msvcrt()
    for name in OF_OS:
        delattr(os, name)
    for name in SIGNALS:
        delattr(signal, name)
    changes: dict[str, Any] = {name: _closed_only(getattr(os, name)) for name in _CHANGING}
    changes |= {"open": _no_folder(os.open), "fsync": _writable_only(os.fsync)}
    for name, change in changes.items():
        setattr(os, name, change)
    # Two of the standard library's own ways with open files on POSIX.
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # type: ignore[assignment]


_CHANGING = ["rename", "replace", "remove", "unlink"]


def _msvcrt() -> ModuleType:
    module = ModuleType("msvcrt")
    ways = {"LK_UNLCK": fcntl.LOCK_UN, "LK_LOCK": fcntl.LOCK_EX}
    ways |= {"LK_NBLCK": fcntl.LOCK_EX | fcntl.LOCK_NB}

    def locking(descriptor: int, mode: int, _count: int) -> None:
        try:
            fcntl.flock(descriptor, mode)
        except BlockingIOError:
            raise _denied() from None

    for name, way in ways.items():
        setattr(module, name, way)
    module.locking = locking  # type: ignore[attr-defined]
    return module


def _denied(path: Any = None) -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _closed_only(change: Callable[..., None]) -> Callable[..., None]:
    def changed(*paths: Any, **options: Any) -> None:
        for path in paths:
            if "dir_fd" not in options and os.path.realpath(path) in _open_files():
                raise _denied(path)
        change(*paths, **options)

    return changed


def _open_files() -> set[str]:
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        try:
            found.add(str(each.readlink()))
        except FileNotFoundError:
            continue
    return found


def _no_folder(open_it: Callable[..., int]) -> Callable[..., int]:
    def opened(path: Any, *args: Any, **options: Any) -> int:
        if Path(path).is_dir():
            raise _denied(path)
        return open_it(path, *args, **options)

    return opened


def _writable_only(sync: Callable[[int], None]) -> Callable[[int], None]:
    def synced(descriptor: int) -> None:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        sync(descriptor)

    return synced
