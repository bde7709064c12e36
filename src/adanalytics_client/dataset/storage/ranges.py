"""Committed files in object storage, as DuckDB reads them: by ranges, and of a known size."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from threading import get_ident
from typing import Any

from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

from adanalytics_client.dataset.errors import DatasetError

from .objects import ObjectStore

_SMALL = 1 << 20
"""The bytes up to which a file is read whole, because a request takes longer than they do."""
_RANGES = 64
"""The number of small ranges that are kept, because DuckDB soon opens each file a second time."""


class SizedFiles(AbstractFileSystem):  # type: ignore[misc]
    """A file system of the files that a manifest lists, whose sizes need no request.

    The address of a file is that of the store, behind a scheme that no other file system has.

    Args:
        scheme: the scheme of the addresses.
        store: where the files are.
        files: the size and the SHA-256 checksum of each, by its name in the store.
        failures: takes the errors of the store, because DuckDB turns them into its own.
    """

    cachable = False

    def __init__(
        self,
        scheme: str,
        store: ObjectStore,
        files: Mapping[str, tuple[int, str]],
        failures: list[DatasetError],
    ) -> None:
        super().__init__()
        self.protocol = scheme
        self._store = store
        self._files = {f"{scheme}://{store.address(name)}": (name, *files[name]) for name in files}
        self._read_small = lru_cache(_RANGES)(store.read_range)
        self._failures = failures

    def glob(self, path: str, **_: object) -> list[str]:
        return [path] if path in self._files else []

    def info(self, path: str, **_: object) -> dict[str, Any]:
        if path not in self._files:
            raise FileNotFoundError(path)
        return {"name": path, "size": self._files[path][1], "type": "file"}

    def modified(self, path: str) -> datetime:
        """Return a time in the past that is another for another content, as caches need it."""
        return datetime.fromtimestamp(int(self._files[path][2][:7], 16), UTC)

    def open(self, path: str, mode: str = "rb", **_: object) -> "RangeFile":  # noqa: ARG002  # no other
        name, size, _checksum = self._files[path]

        def read(start: int, end: int) -> bytes:
            try:
                # DuckDB asks for a footer, a header and columns: a small file costs one request for
                # all.
                if size <= _SMALL:
                    return self._read_small(name, 0, size)[start:end]
                read = self._read_small if end - start <= _SMALL else self._store.read_range
                return read(name, start, min(end, size))
            except DatasetError as error:
                # DuckDB turns any error into one of its own, without ours.
                self._failures.append(error)
                raise

        return RangeFile(read)


class RangeFile:
    """A file in which threads seek and read at once, as DuckDB's do."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        # A thread reads where it has sought; without that, where the last read ended. Not in a
        # `threading.local`: the threads of DuckDB lose that whenever they release the GIL.
        self._sought, self._end = dict[int, int](), 0

    def seek(self, position: int) -> int:
        self._sought[get_ident()] = position
        return position

    def tell(self) -> int:
        return self._sought.get(get_ident(), self._end)

    def read(self, size: int) -> bytes:
        start = self._sought.pop(get_ident(), self._end)
        content = self._read(start, start + size)
        self._end = start + len(content)
        return content

    def close(self) -> None:
        """Do nothing: no connection stays open."""
