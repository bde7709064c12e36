"""S3, GCS and Azure as a file system of fsspec, by obstore."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import from_url


class CloudFiles(AbstractFileSystem):  # type: ignore[misc]
    """The fsspec methods that a dataset and DuckDB need; each path is a complete address.

    obstore's own fsspec class is not used: it waits for responses in a thread, which can abort a
    process at exit.
    """

    cachable = False

    def __init__(self, kind: str, bucket: str) -> None:
        super().__init__()
        self.protocol = kind
        self._start = f"{kind}://{bucket}/"

    @cached_property
    def _bucket(self) -> Any:  # noqa: ANN401  # its class depends on the address
        # Tries end well before a lease does.
        tries: Any = {"max_retries": 6, "retry_timeout": timedelta(minutes=1)}
        return from_url(self._start, client_options={"allow_http": True}, retry_config=tries)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        if end is None:
            return bytes(self._bucket.get(self._name(path)).bytes())
        return bytes(self._bucket.get_range(self._name(path), start=start, end=end))

    def cat_version(self, path: str) -> tuple[bytes, dict[str, Any], datetime]:
        """Return an object, the mode to replace only this version, and when it was put."""
        result = self._bucket.get(self._name(path))
        return bytes(result.bytes()), result.meta, result.meta["last_modified"]

    def pipe_file(self, path: str, value: bytes | Path, mode: object = "overwrite") -> object:
        """Write an object; return the mode to replace only this version. Raises FileExistsError."""
        if isinstance(mode, dict):
            # obstore refuses what else it tells of an object, and None.
            mode = {key: mode[key] for key in ("e_tag", "version") if mode[key]}
        try:
            return self._bucket.put(self._name(path), value, mode=mode)
        except (AlreadyExistsError, PreconditionError) as error:
            raise FileExistsError(path) from error

    def put_file(self, lpath: str, rpath: str) -> None:
        self.pipe_file(rpath, Path(lpath))

    def cp_file(self, path1: str, path2: str) -> None:
        self._bucket.copy(self._name(path1), self._name(path2))

    def rm_file(self, path: str) -> None:
        self._bucket.delete(self._name(path))

    def rm_files(self, paths: Iterable[str]) -> None:
        self._bucket.delete([*map(self._name, paths)])

    def info(self, path: str) -> dict[str, Any]:
        return {**self._bucket.head(self._name(path)), "name": path, "type": "file"}

    def modified(self, path: str) -> datetime:
        modified: datetime = self._bucket.head(self._name(path))["last_modified"]
        return modified

    def ls(self, path: str, **_: bool) -> list[str]:
        listing = self._bucket.list_with_delimiter(self._name(path))
        return [
            *listing["common_prefixes"],
            *(entry["path"] for entry in _filled(listing["objects"])),
        ]

    def find(self, path: str, **_: bool) -> dict[str, Any]:
        chunks = self._bucket.list(self._name(path))
        return {self._start + entry["path"]: entry for chunk in chunks for entry in _filled(chunk)}

    def _name(self, path: str) -> str:
        return f"{path}/".removeprefix(self._start).rstrip("/")


def _filled(objects: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Leave out objects without bytes: a cloud console makes a folder of one whose key ends in /.

    obstore does not show that slash.
    """
    return (entry for entry in objects if entry["size"])
