"""A dataset in object storage: in S3, GCS and Azure by obstore, elsewhere through fsspec.

There are no renames and no system locks. A put makes the new object visible at once and complete;
until then the old one is there.
"""

import json
import math
import os
import socket
import tempfile
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from io import BufferedIOBase, BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from secrets import token_hex
from typing import Any

from adanalytics_client._base.urls import redact_queries
from adanalytics_client._base.validation import import_extra
from adanalytics_client.dataset.records.layout import LOCK
from adanalytics_client.errors import ConfigurationError, DatasetError, DatasetInUse

LEASE_SECONDS = 120.0
"""The lifetime of a lease that nobody renews, for example because its process was killed."""

READERS = 16
"""The most small objects that are read side by side; of other libraries, not all allow it."""

BLOCK = 5 << 20
"""The bytes that are read at once of a file that is read from its begin to its end."""

_CHECK = "Check the address, the credentials for it and the network."
_SET_KEYS = (
    "Set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION; for the keys of a profile, run "
    'eval "$(aws configure export-credentials --format env)".'
)


class ObjectStore:
    """Objects below one address.

    Unfinished files are in a temporary folder on this machine until they are uploaded.

    Attributes:
        file_system: an `fsspec.AbstractFileSystem`, which may raise errors of any class.
    """

    def __init__(
        self,
        files: Any,  # noqa: ANN401  # fsspec has no types
        root: str,
        place: str,
        *,
        readers: int = 1,
    ) -> None:
        self.file_system = files
        self._readers = readers
        self._root = root.rstrip("/")
        self.place = place
        # Of objects that were listed and not written since.
        self._sizes = dict[str, int]()
        self._token = token_hex(8)
        # What its put may replace: nothing, or later anything, or one version.
        self._lock: object = "create"
        self._held_until = math.inf

    def read(self, name: str) -> bytes | None:
        with self._storage_errors(), suppress(FileNotFoundError):
            return bytes(self.file_system.cat_file(self._path(name)))
        return None

    def read_all(self, names: Iterable[str]) -> list[bytes | None]:
        with ThreadPoolExecutor(self._readers) as pool:
            return [*pool.map(self.read, names)]

    def read_range(self, name: str, start: int, end: int) -> bytes:
        """Read some bytes of a file. Raises FileNotFoundError."""
        with self._storage_errors(), suppress(FileNotFoundError):
            return bytes(self.file_system.cat_file(self._path(name), start, end))
        raise FileNotFoundError(name)

    def open(self, name: str) -> AbstractContextManager[BufferedIOBase]:
        if Path(name).is_absolute():
            return Path(name).open("rb")
        if name not in self._sizes:
            self._sizes[name] = self._find_size(name)
        size = self._sizes[name]
        if size <= BLOCK:
            return BytesIO(self.read_range(name, 0, size) if size else b"")
        return BufferedReader(_StoredFile(self, name, size), BLOCK)

    def write(
        self,
        name: str,
        content: bytes,
        *,
        lasting: bool = True,  # noqa: ARG002  # it always lasts
        private: bool = False,  # noqa: ARG002  # who may read a bucket is set for the bucket
    ) -> None:
        self._sizes.pop(name, None)
        with self._storage_errors():
            self.file_system.pipe_file(self._path(name), content)

    def move_in(self, file: str, name: str) -> None:
        """Upload or copy a finished file; the parts of a large file become visible together."""
        self._sizes.pop(name, None)
        with self._storage_errors():
            if Path(file).is_absolute():
                self.file_system.put_file(file, self._path(name))
                Path(file).unlink()
            else:
                self.file_system.cp_file(self._path(file), self._path(name))
                self.remove(file)

    def flush(self) -> None:
        """Do nothing: an object is durable once it is uploaded."""

    def remove(self, name: str) -> None:
        self._sizes.pop(name, None)
        with self._storage_errors(), suppress(FileNotFoundError):
            self.file_system.rm_file(self._path(name))

    def names(self) -> Collection[str]:
        with self._storage_errors(), suppress(FileNotFoundError):
            found = self.file_system.ls(self._root, detail=False)
            return {path.rstrip("/").rpartition("/")[2] for path in found}
        return ()

    def sizes(self, folder: str) -> Mapping[str, int]:
        with self._storage_errors(), suppress(FileNotFoundError):
            found = self.file_system.find(self._path(folder), detail=True)
            start = self._path("")
            sizes = {path.removeprefix(start): int(info["size"]) for path, info in found.items()}
            self._sizes.update(sizes)
            return sizes
        return {}

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="adanalytics-") as folder:
            yield Path(folder)

    def local(self, name: str) -> None:
        """Return None: the objects are not files on this machine."""

    def address(self, name: str) -> str:
        return str(self.file_system.unstrip_protocol(self._path(name)))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold a lease, an object that expires; a thread renews it while the `with` block runs.

        A process replaces only the lease that it has read, so S3, GCS and Azure give it to one
        process. In other storage, two processes that take over an expired lease at the same moment
        may both continue; since every object is written atomically, this costs extra requests but
        loses no data.
        """
        with self._storage_errors():
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
                # A deletion has no condition, and could hit the lease of another process.
                self._put_lease(seconds=0)
            self._held_until = math.inf

    @contextmanager
    def _storage_errors(self) -> Iterator[None]:
        """Turn an error of a storage library, which may be of any class, into a DatasetError."""
        try:
            if time.time() > self._held_until:
                self._keep_lease()
            yield
        except DatasetError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            lacks_keys = self.place.startswith("s3") and not os.environ.get("AWS_ACCESS_KEY_ID")
            raise DatasetError(
                f"Cannot use {self.place}: {redact_queries(reason).rstrip('.')}.",
                remedy=f"{_CHECK} {_SET_KEYS}" if lacks_keys else _CHECK,
            ) from error

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _find_size(self, name: str) -> int:
        with self._storage_errors(), suppress(FileNotFoundError):
            return int(self.file_system.info(self._path(name))["size"])
        raise FileNotFoundError(name)

    def _take_lease(self) -> None:
        """Take a lease that is free or expired."""
        held, self._lock = self._read_lease()
        if time.time() > held.get("until", 0):
            with suppress(FileExistsError):
                return self._put_lease()
            held, _ = self._read_lease()
        end = datetime.fromtimestamp(held.get("until", 0), UTC)
        raise DatasetInUse(
            f"Process {held.get('process')} on {held.get('host')} works on {self.place}.",
            remedy="Wait until it has ended, then run the same command again. If it was killed, "
            f"its lock expires at {end:%H:%M:%S} UTC.",
        )

    def _renew_lease(self, done: threading.Event) -> None:
        while not done.wait(LEASE_SECONDS / 4):
            with suppress(Exception):
                self._put_lease()

    def _keep_lease(self) -> None:
        """Renew a lease that expired because this process was suspended. Raises DatasetInUse."""
        try:
            self._put_lease()
        except FileExistsError:
            raise DatasetInUse(
                f"Another process took over {self.place} while this one was suspended.",
                remedy="Run the same command again.",
            ) from None

    def _put_lease(self, *, seconds: float = LEASE_SECONDS) -> None:
        """Put the lease, unless another process put one since. Raises FileExistsError."""
        until = time.time() + seconds
        lease = {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "token": self._token,
            "until": until,
        }
        content = json.dumps(lease).encode()
        try:
            put = self.file_system.pipe_file(self._path(LOCK), content, mode=self._lock)
            self._lock = put or "overwrite"
        except Exception:
            # If only the answer was lost, it is there.
            held, version = self._read_lease()
            if held.get("token") != self._token:
                raise
            self._lock = version
        self._held_until = until

    def _read_lease(self) -> tuple[dict[str, Any], object]:
        """Return the lease that is there, empty if it is none, and what a put may replace."""
        path = self._path(LOCK)
        with suppress(FileNotFoundError):
            # Before the content: what is put in between is then not replaced.
            info = self.file_system.info(path)
            held = json.loads(self.file_system.cat_file(path))
            return held, info if "e_tag" in info else "overwrite"
        return {}, "create"


class _StoredFile(RawIOBase):
    """An object as a file; unlike those of storage libraries, it raises errors of the store."""

    def __init__(self, store: ObjectStore, name: str, size: int) -> None:
        self._store, self._name, self._size = store, name, size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  # its type has no name in 3.11
        end = min(self._position + len(buffer), self._size)
        if end <= self._position:
            return 0
        content = self._store.read_range(self._name, self._position, end)
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)


def open_object_store(place: str) -> ObjectStore:
    """Open an address in S3, GCS or Azure, or an address of another fsspec library.

    Raises:
        ConfigurationError: when the `s3` extra is not installed, or when only an AWS profile has
            credentials.
        DatasetError: when the address is of an unknown kind, or its fsspec library is missing.
    """
    kind, _, name = place.partition("://")
    fsspec = import_extra("fsspec", extra="s3")
    has_only_profile = os.environ.get("AWS_PROFILE") and not os.environ.get("AWS_ACCESS_KEY_ID")
    if has_only_profile and kind in {"s3", "s3a"}:
        raise ConfigurationError("AWS_PROFILE is set, but profiles are not read.", remedy=_SET_KEYS)
    if kind in {"s3", "s3a", "gs", "az", "abfs", "abfss"}:
        import_extra("obstore", extra="s3")
        from adanalytics_client.dataset.storage.cloud import CloudFiles

        files = CloudFiles(kind, name.partition("/")[0])
        return ObjectStore(files, place, place, readers=READERS)
    try:
        # Other processes may write too, so listings are not cached.
        files, root = fsspec.core.url_to_fs(place, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise DatasetError(f"{place}: {error}.", remedy="Name a folder or s3://...") from None
    return ObjectStore(files, root, place)
