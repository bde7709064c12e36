"""A dataset in object storage, through fsspec; all it needs is that a put is atomic.

There are no renames and no system locks. A put makes the new object visible at once and complete;
until then the old one is there.
"""

import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from io import BufferedIOBase
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

from adanalytics_client._base.locks import POSIX
from adanalytics_client.dataset.layout import LOCK
from adanalytics_client.dataset.store import write_errors
from adanalytics_client.errors import DatasetError, DatasetInUse

LEASE_SECONDS = 120.0
"""The lifetime of a lease that nobody renews, for example because its process was killed."""

FileSystem = Any
"""An `fsspec.AbstractFileSystem`; fsspec has no types, and its errors are of any class."""


class ObjectStore:
    """Objects below one address.

    Unfinished files are in a temporary folder of this machine until they are put.

    Attributes:
        file_system: the library that reads and writes them.
    """

    def __init__(self, files: FileSystem, root: str, place: str) -> None:
        self.file_system = files
        self._root = root.rstrip("/")
        self.place = place
        self._token = token_hex(8)

    def read(self, name: str) -> bytes | None:
        try:
            with self._storage_errors():
                content: bytes = self.file_system.cat_file(self._path(name))
                return content
        except FileNotFoundError:
            return None

    @contextmanager
    def open(self, name: str) -> Iterator[BufferedIOBase]:
        path = Path(name)
        files = self.file_system
        with path.open("rb") if path.is_absolute() else files.open(self._path(name)) as file:
            yield file

    def write(
        self,
        name: str,
        content: bytes,
        *,
        lasting: bool = True,  # noqa: ARG002  # it always lasts
        private: bool = False,  # noqa: ARG002  # who may read a bucket is set for the bucket
    ) -> None:
        with self._storage_errors(), write_errors(self.place):
            self.file_system.pipe_file(self._path(name), content)

    def move_in(self, file: str, name: str) -> None:
        """Put or copy a finished file; large ones go in parts that become visible together."""
        is_here = Path(file).is_absolute()
        with self._storage_errors(), write_errors(self.place):
            if is_here:
                self.file_system.put_file(file, self._path(name))
            else:
                self.file_system.cp_file(self._path(file), self._path(name))
        Path(file).unlink() if is_here else self.remove(file)

    def flush(self) -> None:
        """Do nothing: an object is durable once it is put."""

    def remove(self, name: str) -> None:
        path = self._path(name)
        with self._storage_errors():
            if self.file_system.exists(path):
                self.file_system.rm_file(path)

    def names(self) -> Collection[str]:
        try:
            with self._storage_errors():
                found = self.file_system.ls(self._root, detail=False)
        except FileNotFoundError:
            return ()
        return {path.rstrip("/").rpartition("/")[2] for path in found}

    def sizes(self, folder: str) -> Mapping[str, int]:
        try:
            with self._storage_errors():
                found = self.file_system.find(self._path(folder), detail=True)
        except FileNotFoundError:
            return {}
        # Some file systems return paths with a leading slash and some without.
        cut = len(self._root.lstrip("/")) + 1
        return {path.lstrip("/")[cut:]: int(info["size"]) for path, info in found.items()}

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="adanalytics-") as folder:
            yield Path(folder)

    def local(self, name: str) -> None:
        """Return None: nothing is on this machine."""

    def address(self, name: str) -> str:
        return str(self.file_system.unstrip_protocol(self._path(name)))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold a lease: an object that expires, which a thread renews while the block runs.

        It is put only if there is none, atomically where the storage supports that (S3 does). Two
        processes that both take over an expired lease at the same moment may both continue; since
        every object is put atomically, that costs requests but no data.
        """
        with self._storage_errors(), write_errors(self.place):
            self._take_lease()
        done = threading.Event()
        renewing = threading.Thread(target=self._renew_lease, args=(done,), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            done.set()
            renewing.join()
            # A lease that cannot be released expires. Storage libraries raise any class.
            with suppress(Exception):
                self.file_system.rm_file(self._path(LOCK))

    @contextmanager
    def _storage_errors(self) -> Iterator[None]:
        """Turn an error of a storage library, which may be of any class, into a DatasetError."""
        try:
            yield
        except (DatasetError, FileNotFoundError):
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise DatasetError(
                f"Cannot use {self.place}: {reason.rstrip('.')}.",
                remedy="Check the address, the credentials for it and the network.",
            ) from error

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _take_lease(self) -> None:
        """Take a lease that is free, expired, or of a process of this machine that has ended."""
        path = self._path(LOCK)
        with suppress(FileExistsError):
            self.file_system.pipe_file(path, self._lease(), mode="create")
            return
        try:
            held = json.loads(self.file_system.cat_file(path))
            # Its own lease, if the answer to the first put was lost.
            expired = held["token"] == self._token or time.time() > float(held["until"])
            ended = held["host"] == socket.gethostname() and not _is_running(int(held["process"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            held, expired, ended = {}, True, True
        if not (expired or ended):
            raise DatasetInUse(
                f"Process {held['process']} on {held['host']} works on {self.place}.",
                remedy="Wait until it has ended, then run the same command again.",
            )
        self.file_system.pipe_file(path, self._lease())

    def _renew_lease(self, done: threading.Event) -> None:
        while not done.wait(LEASE_SECONDS / 4):
            with suppress(Exception):
                self.file_system.pipe_file(self._path(LOCK), self._lease())

    def _lease(self) -> bytes:
        lease = {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "token": self._token,
            "until": time.time() + LEASE_SECONDS,
        }
        return json.dumps(lease).encode()


def _is_running(process: int) -> bool:
    if not POSIX:
        # There it would end the process: https://docs.python.org/3/library/os.html#os.kill
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def open_object_store(place: str) -> ObjectStore:
    """Open an fsspec address.

    Raises:
        DatasetError: when the library for the address is missing, or its kind is unknown.
    """
    kind = urlsplit(place).scheme
    try:
        fsspec = import_module("fsspec")
        # Other processes may write too, so listings are not cached.
        files, root = fsspec.core.url_to_fs(place, use_listings_cache=False)
    except ImportError as error:
        if kind not in {"s3", "memory"}:
            raise DatasetError(
                f"{kind}:// needs a library that is not installed: {error}.",
                remedy="Install the fsspec library for it, with python -m pip install.",
            ) from None
        raise DatasetError(
            f"{kind}:// needs the 's3' extra, which is not installed.",
            remedy="Install it: python -m pip install 'adanalytics[s3]'",
        ) from None
    except ValueError as error:
        raise DatasetError(f"{place}: {error}.", remedy="Name a folder or s3://...") from None
    return ObjectStore(files, root, place)
