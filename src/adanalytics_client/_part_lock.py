"""Open a file that only one process at a time may write."""

import fcntl
import os
from pathlib import Path
from typing import BinaryIO

from adanalytics_client.errors import DownloadError


def open_locked(path: Path) -> BinaryIO:
    """The file for reading and writing, made when it is not there; the lock ends with it.

    Raises:
        DownloadError: when another process, or another download of this one, has it.
        OSError: when it cannot be written.
    """
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between open and lock another process may have renamed it to its target.
            if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        except BlockingIOError:
            file.close()
            raise DownloadError(
                f"Another process is downloading to {path}; wait for it or take another name."
            ) from None
        except BaseException:
            file.close()
            raise
        file.close()
