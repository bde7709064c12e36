"""A dataset in object storage: in S3, GCS and Azure by obstore, elsewhere through fsspec.

There are no renames and no system locks. A put makes the new object visible at once and complete;
until then the old one is there.
"""

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BufferedIOBase, BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import Any

from adanalytics_client._base.urls import redact_queries
from adanalytics_client._base.validation import import_extra
from adanalytics_client.dataset.errors import DatasetError
from adanalytics_client.errors import ConfigurationError

from .lease import Lease

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
        # Of objects that were listed or uploaded, and not written since.
        self._sizes = dict[str, int]()
        self._lease: Lease | None = None

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
        # One request for a small file; larger ones are read as far as needed.
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
        if not Path(file).is_absolute():
            self.copy(file, name)
            self.remove(file)
            return
        self._sizes.pop(name, None)
        with self._storage_errors():
            size = Path(file).stat().st_size
            self.file_system.put_file(file, self._path(name))
            Path(file).unlink()
        self._sizes[name] = size

    def copy(self, name: str, target: str) -> None:
        self._sizes.pop(target, None)
        with self._storage_errors():
            self.file_system.cp_file(self._path(name), self._path(target))
        if name in self._sizes:
            self._sizes[target] = self._sizes[name]

    def flush(self) -> None:
        """Do nothing: an object is durable once it is uploaded."""

    def remove(self, name: str) -> None:
        self._sizes.pop(name, None)
        with self._storage_errors(), suppress(FileNotFoundError):
            self.file_system.rm_file(self._path(name))

    def remove_all(self, names: Iterable[str]) -> None:
        """Remove files; in S3, that is one request for up to 1,000."""
        names = [*names]
        if names and hasattr(self.file_system, "rm_files"):
            for name in names:
                self._sizes.pop(name, None)
            with self._storage_errors(), suppress(FileNotFoundError):
                self.file_system.rm_files([*map(self._path, names)])
        else:
            for name in names:
                self.remove(name)

    def names(self) -> Collection[str]:
        with self._storage_errors(), suppress(FileNotFoundError):
            names = self.file_system.ls(self._root, detail=False)
            return {path.rstrip("/").rpartition("/")[2] for path in names}
        return ()

    def sizes(self, folder: str) -> Mapping[str, int]:
        with self._storage_errors(), suppress(FileNotFoundError):
            entries = self.file_system.find(self._path(folder), detail=True)
            start = self._path("")
            sizes = {path.removeprefix(start): int(info["size"]) for path, info in entries.items()}
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
        """Hold the lease. Raises DatasetInUse, also while it is held; see `lease`."""
        lease = Lease(self.file_system, self._path, self.place)
        with self._storage_errors():
            lease.acquire()
        self._lease = lease
        try:
            with lease.renewed():
                yield
        finally:
            self._lease = None

    @contextmanager
    def _storage_errors(self) -> Iterator[None]:
        """Turn an error of a storage library, which may be of any class, into a DatasetError."""
        try:
            # Whatever touches the store first makes sure that the lock is still ours.
            if self._lease:
                self._lease.keep()
            yield
        except DatasetError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            # Without keys the library asks the machine for a role, and its error is about that.
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
    fsspec = import_extra("fsspec")
    has_only_profile = os.environ.get("AWS_PROFILE") and not os.environ.get("AWS_ACCESS_KEY_ID")
    if has_only_profile and kind in {"s3", "s3a"}:
        raise ConfigurationError("AWS_PROFILE is set, but profiles are not read.", remedy=_SET_KEYS)
    if kind in {"s3", "s3a", "gs", "az", "abfs", "abfss"}:
        import_extra("obstore")
        from .cloud import CloudFiles

        files = CloudFiles(kind, name.partition("/")[0])
        return ObjectStore(files, place, place, readers=READERS)
    try:
        # Other processes may write too, so listings are not cached.
        files, root = fsspec.core.url_to_fs(place, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise DatasetError(f"{place}: {error}.", remedy="Name a folder or s3://...") from None
    return ObjectStore(files, root, place)
