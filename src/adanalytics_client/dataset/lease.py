"""The lock of a dataset in object storage: an object with a moment at which it lapses."""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex

from adanalytics_client.dataset.file_system import FileSystem
from adanalytics_client.errors import DatasetInUse

SECONDS = 120.0
"""How long a lease holds that nobody renews, such as that of a process that was killed."""

_BETWEEN = SECONDS / 4


class Lease:
    """A lease on one object, renewed by a thread while it is held.

    It is put only where there is none, in one step where the storage can do that (S3 can). Two
    processes that both take over a lapsed lease at the same moment may both go on; since every
    object is put as a whole, that costs requests and no data.
    """

    def __init__(self, files: FileSystem, path: str, place: str) -> None:
        self._files = files
        self._path = path
        self._place = place
        self._token = token_hex(8)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew it, once it is taken, until the block ends; then give it up."""
        done = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(done,), daemon=True)
        keeper.start()
        try:
            yield
        finally:
            done.set()
            keeper.join()
            # What cannot be given up lapses. The errors of storage libraries are of any class.
            with suppress(Exception):
                self._files.rm_file(self._path)

    def take(self) -> None:
        """Take it. Raises DatasetInUse while somebody else has it."""
        try:
            self._files.pipe_file(self._path, self._content(), mode="create")
        except FileExistsError:
            self._take_over()

    def _take_over(self) -> None:
        """Take a lease that lapsed, or whose process is gone from this machine."""
        try:
            held = json.loads(self._files.cat_file(self._path))
            lapsed = time.time() > float(held["until"])
            gone = held["host"] == socket.gethostname() and not _runs(int(held["process"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            held, lapsed, gone = {}, True, True
        if not (lapsed or gone):
            raise DatasetInUse(
                f"process {held['process']} on {held['host']} works on {self._place}",
                remedy="Wait until it has ended, then run the same command again.",
            )
        self._files.pipe_file(self._path, self._content())

    def _keep(self, done: threading.Event) -> None:
        while not done.wait(_BETWEEN):
            with suppress(Exception):
                self._files.pipe_file(self._path, self._content())

    def _content(self) -> bytes:
        return json.dumps(
            {
                "host": socket.gethostname(),
                "process": os.getpid(),
                "token": self._token,
                "until": time.time() + SECONDS,
            }
        ).encode()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
