"""One server per data folder: two would work off the same exports."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FolderInUse(RuntimeError):
    """Another server has the data folder."""


@contextmanager
def folder_lock(data: Path) -> Iterator[None]:
    """Hold a data folder for the time of a block; the kernel lets go when the process dies.

    Raises:
        FolderInUse: another server, of this process or another one, holds it.
    """
    data.mkdir(parents=True, exist_ok=True)
    with (data / "server.lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FolderInUse(
                f"another server is running on {data}: stop it first, or use another folder"
            ) from error
        yield
