"""A file being downloaded: what has arrived lies beside the target until it is whole."""

import hashlib
import os
from pathlib import Path

from adanalytics_client._body import DamagedBody
from adanalytics_client._content_range import range_sent, total_of_refused
from adanalytics_client._effects import Head
from adanalytics_client._export import ExportFile
from adanalytics_client._file_checks import beginning_of, check_gzip, digest_of
from adanalytics_client._files import check_target, real_path
from adanalytics_client._hooks import BytesReceived, Observer, tell
from adanalytics_client._instead import LARGEST_ANSWER, Arrival
from adanalytics_client._locked_part import LockedPart
from adanalytics_client._sidecar import Sidecar
from adanalytics_client._source import Source
from adanalytics_client._unpacking import Unpacking, encoding_of
from adanalytics_client._validator import is_same_version, validator_of
from adanalytics_client.errors import ChecksumMismatch, DownloadError


class PartFile:
    """Takes the pieces of one file and renames it once it is proven whole.

    It is a `Sink`. Each answer is judged by its head: 200 starts afresh, 206 goes on if it is about
    the same version from the right place. What an earlier run left is gone on with when its note
    (see `_sidecar`) says that it is of the same file. Only one process at a time may download to a
    target.

    Args:
        target: the name it gets at the end; what is there stays until then.
        expected: the file's announced size and checksum.
        source: names the file for a later run.
        packed: whether it is to be a file packed with gzip.
        observer: told about bytes.

    Raises:
        ConfigurationError: when the target cannot be a file.
        DownloadError: when another process is downloading to it.
        OSError: when the folder cannot be written.
    """

    def __init__(
        self,
        target: Path,
        expected: ExportFile,
        *,
        source: Source,
        packed: bool,
        observer: Observer,
    ) -> None:
        check_target(target)
        self._expected = expected
        self._source = source
        self._packed = packed
        self._observer = observer
        self.received = 0
        self.total: int | None = None
        self.taken = self.inherited = self._open_ended = False
        self._kind = ""
        self._until: int | None = None
        self._note: Sidecar | None = None
        self._unpacking: Unpacking | None = None
        self._sha256 = hashlib.sha256()
        self._part = LockedPart(real_path(target))
        self._file = self._part.file
        self._take_up()

    @property
    def kept(self) -> Path | None:
        """Where a later run finds what has arrived, or None when nothing is worth keeping."""
        usable = self.received and self._note is not None and self._part.is_ours
        return self._part.path if usable else None

    @property
    def short(self) -> bool:
        """Whether more may be to come: a service may send less of a range than was asked for.

        Where it does not tell the length of the whole (RFC 9110, section 14.4), only its refusal of
        a further range proves the end.
        """
        return self.total is None or self.received < self.total

    def ends_here(self, head: Head) -> bool:
        """Whether a 416 says that what arrived is the whole of this very version."""
        if head.status != 416 or not self._open_ended:
            return False
        return total_of_refused(head) in {None, self.received}

    def expect(self, file: ExportFile) -> None:
        """Believe a later announcement; other bytes than announced before are another file."""
        known = self._expected
        pairs = (file.sha256, known.sha256), (file.size_bytes, known.size_bytes)
        if any(None not in pair and pair[0] != pair[1] for pair in pairs):
            self.restart()
        self._expected = file

    def ranges(self) -> tuple[tuple[str, str], ...]:
        """Headers that ask for the missing rest of the same version, or none."""
        if self.received == 0 or self._note is None:
            return ()
        return (("range", f"bytes={self.received}-"), ("if-range", self._note.validator))

    def accept(self, head: Head) -> bool | None:
        """Judge an answer before its body (RFC 9110, sections 14.2 to 15.3.7)."""
        self.taken = False
        self._kind = head.media_type
        if head.status == 206:
            return self._accept_rest(head)
        if head.status != 200 or "html" in self._kind:
            return False
        self._begin(head)
        self.taken = True
        return True

    def write(self, piece: bytes) -> bool:
        """Store a piece and take its checksum; every one is wanted.

        Raises:
            DamagedBody: when more comes than was told before.
            OSError: when it cannot be written.
        """
        self.received += len(piece)
        for plain in self._unpacking.feed(piece) if self._unpacking else (piece,):
            self._file.write(plain)
            if self._until is not None and min(self._sizes()) > self._until:
                raise DamagedBody(f"more than the {self._until} bytes told before")
        if not self.inherited:
            self._sha256.update(piece)
        # The size announced may be of what is packed in the bytes that come.
        announced = None if self._unpacking else self._expected.size_bytes
        expected = announced if self.total is None else self.total
        tell(self._observer.bytes, BytesReceived(self.received, expected))
        return True

    def verify(self) -> bool:
        """See that everything arrived, unchanged; whether a size or checksum told before says so.

        Raises:
            DownloadError: when it is shorter or longer than announced, or its gzip has no end.
            ChecksumMismatch: when the bytes are others.
        """
        if self.total is not None and self.received != self.total:
            raise DownloadError(
                f"{self.received} of {self.total} bytes of the file arrived; download it again."
            )
        try:
            if self._unpacking is not None:
                self._file.write(self._unpacking.finish())
            if self._expected.sha256 is None:
                check_gzip(self._file)
        except DamagedBody as error:
            raise DownloadError(f"The file is not whole ({error}); download it again.") from None
        size, found = self._expected.size_bytes, self._sizes()
        if size is not None and size not in found:
            raise DownloadError(
                f"The file has {found[-1]} bytes and {size} were announced; download it again."
            )
        unpacked = self._unpacking.sha256 if self._unpacking else None
        if self._expected.sha256 not in (None, unpacked, self._digest()):
            raise ChecksumMismatch("The file's sha256 is not the one announced; download it again.")
        return (size, self._expected.sha256) != (None, None)

    def arrival(self) -> Arrival:
        """What has arrived, as far as it tells a file from another answer."""
        beginning, whole = beginning_of(self._file, LARGEST_ANSWER)
        return Arrival(beginning, whole, self._kind)

    def restart(self) -> None:
        """Forget what has arrived."""
        self._clear()
        self._part.keep_note(None)

    def commit(self) -> None:
        """Put the file under its name; where that fails, it is kept as before.

        Raises:
            DownloadError: when somebody removed it meanwhile, or something is in its way.
            OSError: when it cannot be brought to the disk.
        """
        self._part.rename(self._note)

    def leave(self) -> None:
        """Let go of the file, unless it has its name: kept to be gone on with, or removed."""
        if self.kept is None:
            self._part.remove()
        self._part.close()

    def _take_up(self) -> None:
        """Go on with what is there, if its note fits.

        Of a file that is there whole the last byte is asked for again: only an answer of the
        service tells whether it is still the present version.
        """
        note, size = self._part.read_note(), self._file.seek(0, os.SEEK_END)
        if note is None or not note.is_of(self._source, self._expected):
            return self._clear()
        if note.total is not None and size > note.total:
            return self._clear()
        size = size if note.total is None else min(size, note.total - 1)
        self._file.truncate(self._file.seek(max(size, 0)))
        self.received, self.total, self._note = self._file.tell(), note.total, note
        self.inherited = self.received > 0
        return None

    def _clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self.received, self.total, self._until = 0, None, None
        self.taken, self.inherited, self._open_ended = False, False, False
        self._note, self._unpacking, self._sha256 = None, None, hashlib.sha256()

    def _begin(self, head: Head) -> None:
        """Start with the first byte of the version that `head` is about."""
        self.restart()
        length = head.get("content-length") or ""
        self.total = int(length) if length.isdigit() else None
        self._until = self._expected.size_bytes
        if (encoding := encoding_of(head)) is not None:
            if encoding not in {"gzip", "x-gzip"}:
                raise DownloadError(
                    f"The file came in the encoding {encoding!r}, which was not asked for. Have "
                    "the service, or a proxy on the way, send files as they are, or with gzip."
                )
            # Ranges count encoded bytes, and here may lie decoded ones.
            self._unpacking = Unpacking(to_packed=self._packed)
            return
        if (validator := validator_of(head)) is not None:
            source = self._source.under(validator)
            self._note = Sidecar(source, validator, self.total, self._expected.sha256)
            self._part.keep_note(self._note)

    def _accept_rest(self, head: Head) -> bool | None:
        sent = range_sent(head)
        validator = self._note.validator if self._note else None
        if (
            sent is None
            or sent.first != self.received
            or encoding_of(head) is not None
            or not is_same_version(head, validator)
            or (None not in (self.total, sent.total) and self.total != sent.total)
        ):
            self.restart()
            return None
        self.total = self.total if sent.total is None else sent.total
        self._until = sent.end
        self._open_ended = self.total is None
        self.taken = True
        return True

    def _sizes(self) -> list[int]:
        """Bytes that came, and those in them: which of the two was announced is not known."""
        return [self.received, *([self._unpacking.size] if self._unpacking else [])]

    def _digest(self) -> str:
        """The checksum of what came; what an earlier run brought has to be read for it."""
        return digest_of(self._file) if self.inherited else self._sha256.hexdigest()
