"""The bytes of one file in transfer: judged by the head, stored, resumed, verified."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from adanalytics_client._base.compression import GZIP_MAGIC, DamagedBody
from adanalytics_client._base.dates import read_http_date
from adanalytics_client._base.effects import Pairs, ResponseHead
from adanalytics_client._base.files import check_target, real_path
from adanalytics_client._base.observer import BytesReceived, Observer, notify
from adanalytics_client.errors import ChecksumMismatch, DownloadError

from .checks import Decoding, is_answer
from .content import AGAIN, Content, FileOrder, incomplete, read_content
from .part import Note, PartialFile, is_etag
from .status import ExportFile

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)


class Transfer:
    """A `Sink` that stores one file and renames it once it is verified.

    Each response is judged by its head: a 200 starts again, a 206 continues if it has the same
    version and starts in the right place (RFC 9110, sections 14.2 to 15.3.7). Bytes of an earlier
    run are resumed if their note identifies the same file.

    Attributes:
        received: bytes of the body that arrived, including those of an earlier run.
        total: bytes of the complete body, if known.
        accepted: whether the last response was the file, or a part of it.
        has_earlier_bytes: whether some bytes are from an earlier run.
        content: what the verified file holds.

    Args:
        file: the announced file.
        source: its name, as `source_of` returns it.
        order: the content that was ordered.
    """

    content = Content(None)

    def __init__(
        self, target: Path, file: ExportFile, source: str, order: FileOrder, observer: Observer
    ) -> None:
        check_target(target)
        self._stated, self._source, self._order = file, source, order
        self._observer = observer
        self._part = PartialFile(real_path(target))
        self._file = self._part.file
        self._reset()
        self._resume()

    @property
    def kept(self) -> Path | None:
        """The part that a later run can resume, or None."""
        usable = self.received and self._note is not None and self._part.is_ours
        return self._part.path if usable else None

    def ranges(self) -> Pairs:
        """Return headers that request the missing rest of the same version, or none."""
        if self.received == 0 or self._note is None:
            return ()
        return (("range", f"bytes={self.received}-"), ("if-range", self._note.validator))

    def accept(self, head: ResponseHead) -> bool | None:
        """Judge a response before its body: True for the file, False for one to be collected."""
        self.accepted = False
        if head.status == 206:
            self.accepted = self._accept_rest(head)
            return self.accepted or None
        if head.status != 200 or is_answer(head, self._order.format):
            return False
        self._begin(head)
        self.accepted = True
        return True

    def write(self, piece: bytes) -> bool:
        """Store a piece and update the checksum; every piece is wanted."""
        if not self.received and self._decoding is None and self._is_packed_unasked(piece):
            self._decode()
        self.received += len(piece)
        for plain in self._decoding.feed(piece) if self._decoding else (piece,):
            self._file.write(plain)
            if self._max_bytes is not None and min(self._sizes()) > self._max_bytes:
                raise DamagedBody(f"more than the {self._max_bytes} bytes announced")
        if not self.has_earlier_bytes:
            self._sha256.update(piece)
        # The announced size may be that of the decompressed bytes.
        size = None if self._decoding else self._stated.size_bytes
        total = size if self.total is None else self.total
        notify(self._observer.bytes, BytesReceived(self.received, total))
        return True

    def verify(self) -> None:
        """Check that everything arrived unchanged."""
        size, sha256 = self._stated.size_bytes, self._stated.sha256
        try:
            if self._decoding is not None:
                self._file.write(self._decoding.finish())
        except DamagedBody as error:
            raise incomplete(f"The file is incomplete ({error}).") from None
        # Services announce the size or the digest of the stored file or of the decompressed one.
        if size is not None and size not in self._sizes():
            actual_size = self._sizes()[-1]
            raise incomplete(f"The file has {actual_size} bytes, but {size} were announced.")
        digest = self._decoding.sha256 if self._decoding else None
        if sha256 not in (None, digest, self._digest()):
            raise ChecksumMismatch(
                "The file's sha256 differs from the announced one.", remedy=AGAIN
            )
        is_checked = self._decoding is not None or size is not None or sha256 is not None
        self.content = read_content(
            self._file, self._order, has_frame=is_checked or self._framed, has_digest=is_checked
        )

    def restart(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._reset()
        self._part.keep_note(None)

    def commit(self) -> None:
        """Rename the file to its target; if that fails, it is kept as before."""
        self._part.finish(self._note)

    def close(self) -> None:
        """Unlock the part, unless it was renamed: it is kept to be resumed, or removed."""
        if self.kept is None:
            self._part.remove()
        self._part.close()

    def _reset(self) -> None:
        self.received, self.has_earlier_bytes, self.accepted = 0, False, False
        self.total: int | None = None
        self._framed = False
        self._max_bytes: int | None = None
        self._note: Note | None = None
        self._decoding: Decoding | None = None
        self._sha256 = hashlib.sha256()

    def _resume(self) -> None:
        """Continue with an earlier run's bytes, if their note identifies the same file.

        For a complete file, request its last byte again, because only the service knows whether it
        is still current.
        """
        note, size = self._part.read_note(), self._file.seek(0, 2)
        is_same = note is not None and note.is_about(self._source, self._stated)
        if note is None or not is_same or (note.total is not None and size > note.total):
            self._file.truncate(self._file.seek(0))
            return
        # At least one byte is requested again, since no range is empty.
        size = size if note.total is None else min(size, note.total - 1)
        self._file.truncate(self._file.seek(max(size, 0)))
        self.received, self.total, self._note = self._file.tell(), note.total, note
        self.has_earlier_bytes = self.received > 0

    def _begin(self, head: ResponseHead) -> None:
        """Start again with the version that `head` describes."""
        self.restart()
        self.total = head.length
        # Without either, the end of the connection is the end of the body, wherever it comes
        # (RFC 9112, section 6.3).
        self._framed = head.length is not None or head.get("transfer-encoding") is not None
        self._max_bytes = self._stated.size_bytes
        if encoding := head.encoding:
            if encoding not in {"gzip", "x-gzip"}:
                raise DownloadError(
                    f"The file has the encoding {encoding!r}, which was not requested.",
                    remedy="Configure "
                    "the service, or the proxy on the way, to send files unencoded or with gzip.",
                )
            self._decode()
            return
        if (validator := validator_of(head)) is not None:
            source = self._source
            self._note = Note(source, validator, self.total, self._stated.sha256)
            self._part.keep_note(self._note)

    def _is_packed_unasked(self, piece: bytes) -> bool:
        """Return whether a body begins as gzip, in place of the text that was ordered."""
        order = self._order
        is_plain = order.is_text and not order.packed
        return is_plain and bool(piece) and GZIP_MAGIC.startswith(piece[: len(GZIP_MAGIC)])

    def _decode(self) -> None:
        """Decode the body from here on.

        Ranges count encoded bytes, but the file may hold decoded ones: nothing can be resumed.
        """
        self._decoding = Decoding(to_packed=self._order.packed)
        if self._note is not None:
            self._note = None
            self._part.keep_note(None)

    def _accept_rest(self, head: ResponseHead) -> bool:
        """Return whether a 206 is the rest; if not, the file starts again."""
        first, last, total = _range_of(head)
        is_same = self._note is not None and _is_version(head, self._note.validator)
        same_length = self.total in {None, total} and first <= last < total
        # Whatever the service sends instead of the rest, the file begins again: never two versions
        # in one.
        if not (is_same and same_length and first == self.received and not head.encoding):
            self.restart()
            return False
        self.total, self._max_bytes, self._framed = total, last + 1, True
        return True

    def _sizes(self) -> list[int]:
        """Return the sizes of the body and its decompressed content; either may be announced."""
        return [self.received, *([self._decoding.size] if self._decoding else [])]

    def _digest(self) -> str:
        """Return the checksum of the body; for it, bytes of an earlier run are read again."""
        if not self.has_earlier_bytes:
            return self._sha256.hexdigest()
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A version of a file that a service sends in ranges: its length, and what `If-Range` names."""

    size: int
    validator: str


class FileRange:
    """A `Sink` that puts a range of the bytes of a file into their place in another file.

    Every response must be of `file_version`, or else of the version of the first response.

    Attributes:
        received: bytes of the range that arrived.
        total: bytes of the range.
        accepted: whether the last response was the range.
    """

    has_earlier_bytes = False

    def __init__(
        self, file: BinaryIO, bounds: range, file_version: StoredFile | None = None
    ) -> None:
        self._file = file
        self._bounds = bounds
        self.file_version = file_version
        self.total = len(bounds)
        self.restart()

    def ranges(self) -> Pairs:
        header = f"bytes={self._bounds.start + self.received}-{self._bounds.stop - 1}"
        version = (("if-range", self.file_version.validator),) if self.file_version else ()
        return (("range", header), *version)

    def accept(self, head: ResponseHead) -> bool:
        """Return True for the range, False for an error of the service.

        Raises:
            DownloadError: for anything else, such as the complete file.
        """
        self.accepted = False
        if head.status not in {200, 206}:
            return False
        first, last, size = _range_of(head)
        validator = validator_of(head)
        if self.file_version is None and validator is not None:
            self.file_version = StoredFile(size, validator)
        rest = (self._bounds.start + self.received, self._bounds.stop - 1)
        version = (
            self.file_version
            and size == self.file_version.size
            and _is_version(head, self.file_version.validator)
        )
        # Bytes of another version, or compressed ones, would be put between those that are there.
        if (first, last) != rest or not version or head.encoding:
            raise DownloadError(
                "The service sent another file than planned, or not the requested part of it.",
                remedy="Plan again, or download the complete file.",
            )
        self.accepted = True
        return True

    def write(self, piece: bytes) -> bool:
        self.received += len(piece)
        if self.received > self.total:
            raise DamagedBody(f"more than the {self.total} bytes requested")
        self._file.write(piece)
        return True

    def verify(self) -> None:
        """Do nothing: a checksum is that of a complete file."""

    def restart(self) -> None:
        self.received, self.accepted = 0, False
        self._file.seek(self._bounds.start)


def _range_of(head: ResponseHead) -> tuple[int, ...]:
    """Return the first and last byte of a range, and the length of the file."""
    match = _RANGE.fullmatch((head.get("content-range") or "").strip())
    return tuple(map(int, match.groups())) if match else (-1, 0, 0)


def validator_of(head: ResponseHead) -> str | None:
    """Return the value for `If-Range`, or None if the response has no strong validator.

    A strong ETag; else the date of the last change, which is strong only if the response was sent
    at least a second later (RFC 9110, sections 8.8.2.2 and 13.1.5).
    """
    etag = (head.get("etag") or "").strip()
    if is_etag(etag):
        return etag
    text = head.get("last-modified")
    changed, sent = read_http_date(text), head.sent_at
    if changed is None or sent is None:
        return None
    # A date has whole seconds: a file may change twice within one (RFC 9110, section 8.8.2.2).
    return text if sent - changed >= 1 else None


def _is_version(head: ResponseHead, validator: str) -> bool:
    """Return whether a 206 is of the version that has `validator`; an ETag must be repeated."""
    if is_etag(validator):
        return head.get("etag") == validator
    return head.get("last-modified") in (None, validator)
