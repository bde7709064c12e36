"""A file being downloaded: what has arrived lies beside the target until it is whole."""

import fcntl
import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from adanalytics_client._body import DamagedBody, Gunzip
from adanalytics_client._effects import Head
from adanalytics_client._export import ExportFile
from adanalytics_client._files import check_target, sync_folder
from adanalytics_client._hooks import BytesReceived, Observer
from adanalytics_client.errors import ChecksumMismatch, DownloadError

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.ASCII)
_GZIP_MAGIC = b"\x1f\x8b"
# Deflate grows at most about a thousandfold, so a check holds at most some 64 MiB.
_CHECKED_AT_ONCE = 65_536


class PartFile:
    """Takes the pieces of one file and renames it once it is proven whole.

    It is a `Sink`. Each answer is judged by its head: 200 starts afresh, 206 goes on if it is about
    the same version from the right place. Only one process at a time may download to a target.

    Args:
        target: the name it gets at the end; what is there stays until then.
        expected: the file's announced size and checksum.
        observer: told about bytes.

    Raises:
        ConfigurationError: when the target cannot be a file.
        DownloadError: when another process is downloading to it.
        OSError: when the folder cannot be written.
    """

    def __init__(self, target: Path, expected: ExportFile, observer: Observer) -> None:
        check_target(target)
        self.target = target
        self._expected = expected
        self._observer = observer
        self._path = target.with_name(target.name + ".part")
        self._file = _open_locked(self._path)
        self._begin({})

    def ranges(self) -> tuple[tuple[str, str], ...]:
        """Headers that ask for the missing rest of the same version, or none."""
        if self.received == 0 or self._validator is None or self._gunzip is not None:
            return ()
        return (("range", f"bytes={self.received}-"), ("if-range", self._validator))

    def accept(self, head: Head) -> bool | None:
        """Judge an answer before its body (RFC 9110, sections 14.2 to 15.3.7)."""
        self.taken = False
        if head.status == 206:
            return self._accept_rest(head)
        if head.status != 200 or self._is_page(head):
            return False
        self._begin(dict(head.headers))
        self.taken = True
        return True

    def write(self, piece: bytes) -> None:
        """Store a piece and take its checksum."""
        self.received += len(piece)
        plain = self._gunzip.feed(piece) if self._gunzip else piece
        self._file.write(plain)
        self._sha256.update(plain)
        self._observer.bytes(BytesReceived(self.received, self.total))

    def verify(self) -> None:
        """See that everything arrived, unchanged.

        Raises:
            DownloadError: when it is shorter or longer than announced, or its gzip has no end.
            ChecksumMismatch: when the bytes are others.
        """
        if self.total is not None and self.received != self.total:
            raise DownloadError(
                f"{self.received} of {self.total} bytes of the file arrived; download it again."
            )
        try:
            if self._gunzip is not None:
                self._gunzip.finish()
            if self._expected.sha256 is None:
                self._check_gzip()
        except DamagedBody as error:
            raise DownloadError(f"The file is not whole ({error}); download it again.") from None
        size, length = self._expected.size_bytes, self._file.tell()
        if size is not None and size != length:
            raise DownloadError(
                f"The file has {length} bytes and {size} were announced; download it again."
            )
        if self._expected.sha256 not in (None, self._sha256.hexdigest()):
            raise ChecksumMismatch("The file's sha256 is not the one announced; download it again.")

    def restart(self) -> None:
        """Forget what has arrived."""
        self._begin({})

    def commit(self) -> None:
        """Bring the file to the disk and put it under its name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._path.replace(self.target)
        self._file.close()
        sync_folder(self.target)

    def discard(self) -> None:
        """Remove what has arrived; does nothing after `commit`."""
        if self._file.closed:
            return
        self._path.unlink(missing_ok=True)
        # A full disk refuses the buffered rest once more on close.
        with suppress(OSError):
            self._file.close()

    def _begin(self, headers: dict[str, str]) -> None:
        self._file.seek(0)
        self._file.truncate()
        self.received = 0
        self.taken = False
        length = headers.get("content-length", "")
        self.total = int(length) if length.isdigit() else None
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in {"", "identity", "gzip", "x-gzip"}:
            raise DownloadError(f"The file came in the encoding {encoding!r}, not asked for.")
        self._gunzip = Gunzip() if encoding.endswith("gzip") else None
        self._sha256 = hashlib.sha256()
        self._validator = _validator(headers)

    def _accept_rest(self, head: Head) -> bool | None:
        found = _RANGE.fullmatch((head.get("content-range") or "").strip())
        same = _validator(dict(head.headers)) in (None, self._validator)
        if found is None or int(found[1]) != self.received or not same:
            self._begin({})
            return None
        self.total = self.total if found[3] == "*" else int(found[3])
        self.taken = True
        return True

    def _is_page(self, head: Head) -> bool:
        return "html" in (head.get("content-type") or "").lower()

    def _check_gzip(self) -> None:
        """Follow a gzip file's own structure, so that a cut without a length is noticed."""
        end = self._file.tell()
        self._file.seek(0)
        if self._file.read(2) == _GZIP_MAGIC:
            self._file.seek(0)
            inner = Gunzip()
            while piece := self._file.read(_CHECKED_AT_ONCE):
                inner.feed(piece)
            inner.finish()
        self._file.seek(end)


def _validator(headers: dict[str, str]) -> str | None:
    """What If-Range may carry: a strong ETag, else the date of the last change."""
    etag = headers.get("etag", "").strip()
    return etag if etag.startswith('"') else headers.get("last-modified")


def _open_locked(path: Path) -> BinaryIO:
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
