"""The partial file on disk: received bytes are kept beside the target until it is complete.

A note beside the part identifies the version of the file, so that a later run can resume it. A lock
lets only one download at a time write it.
"""

import hashlib
import os
import stat
from contextlib import suppress
from io import BufferedRandom
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import msgspec

from adanalytics_client._base import files
from adanalytics_client._base.locks import POSIX, lock, release_lock
from adanalytics_client.errors import ConfigurationError, DownloadError

from .status import ExportFile, ExportOrder, ExportStatus

# A note is some 300 bytes; anything longer is not one.
_LARGEST_NOTE = 16_384
_ANYBODY = 0o666
_OWNER = 0o600
# Bytes; `NAME.part.json` then fits the usual limit of 255.
_LONGEST_NAME = 238
_REPEATED = 40


def names_beside(target: Path) -> tuple[Path, Path]:
    """Return the names of a target's part and note, the same in every run.

    If the target's name is too long for that, they contain its beginning and a digest.
    """
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME:
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()
        name = f"{name[:_REPEATED]}.{digest[:_REPEATED]}"
    return target.with_name(f"{name}.part"), target.with_name(f"{name}.part.json")


def check_writable(path: Path) -> None:
    """Check that `path` (or the folder) can be written, before anything is sent.

    It tries to, and leaves no trace, because permissions alone do not show whether that works.
    """
    files.check_place(path)
    if path.is_dir():
        probe_path, probe = files.open_beside(path / "part")
        probe.close()
        return probe_path.unlink()
    part = PartialFile(files.real_path(path))
    if part.file.seek(0, os.SEEK_END) == 0:
        part.discard()
    return part.close()


def source_of(place: str, order: ExportOrder, status: ExportStatus, number: int) -> str:
    """Name file `number` of an export that was ordered at the address `place`.

    The name is a digest, because a signed address is a secret. An ETag alone does not identify a
    file, because two files may have the same one, so without an id of the export the complete
    address counts.
    """
    file = status.export_id or status.files[number].url
    name = f"{place}\n{order.body().decode()}\n{number}\n{file}"
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def is_etag(validator: str) -> bool:
    """Return whether a validator is a strong ETag and not a date."""
    return validator.startswith('"')


class Note(msgspec.Struct, frozen=True):
    """The version and the file that the bytes of a part belong to.

    Attributes:
        source: as `source_of` returns it.
        validator: the value of `If-Range`, which must fit a header.
        total: bytes of the complete file, if known.
        sha256: as announced, if it was.
        version: of this record.
    """

    source: str
    validator: Annotated[str, msgspec.Meta(pattern=r"^[ -~]+\Z")]
    total: Annotated[int, msgspec.Meta(ge=0)] | None
    sha256: str | None
    version: Literal[1] = 1

    def is_about(self, source: str, file: ExportFile) -> bool:
        """Return whether the bytes are of `file`; a checksum decides before any name."""
        if self.sha256 is not None and file.sha256 is not None:
            return self.sha256 == file.sha256
        return self.source == source


class PartialFile:
    """The partial file of a download and its note, locked so that only this download writes
    them."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self.path, self._note = names_beside(target)
        self.file = _open_locked(self.path, limit=files.permissions_of(target))
        self._opened_by = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Whether the part on disk is still the one that this process opened."""
        return self._is_open_here and _is_at(self.path, self.file)

    def read_note(self) -> Note | None:
        """Return the note of an earlier run, or None if there is no readable note."""
        try:
            with open(self._note, "rb", opener=_open_itself) as file:
                return msgspec.json.decode(file.read(_LARGEST_NOTE), type=Note)
        except (OSError, ValueError, msgspec.DecodeError, RecursionError):
            return None

    def keep_note(self, note: Note | None) -> None:
        """Replace the note beside the part in one step, or remove it if `note` is None."""
        if not self.is_ours:
            raise DownloadError(
                f"{self.path} was removed or replaced while the file was arriving.",
                remedy="Download it again, once no other download uses that name.",
            )
        if note is None:
            self._note.unlink(missing_ok=True)
            return
        with files.replacing(self._note) as file:
            file.write(msgspec.json.encode(note))

    def finish(self, note: Note | None) -> None:
        """Rename the part to its target; if that fails, keep the part and save `note` beside it."""
        self.file.flush()
        os.fsync(self.file.fileno())
        files.keep_permissions(self.file, self._target)
        # Before the rename, which ends the lock: later the note might be another download's.
        self.keep_note(None)
        try:
            files.put_in_place(self.file, self.path, self._target)
        except OSError as error:
            with suppress(OSError, DownloadError):
                self.keep_note(note)
            raise DownloadError(
                f"The file arrived, but could not be named {self._target} ({error.strerror}).",
                remedy="Remove what is in its way there, and download it again.",
            ) from error
        self.file.close()

    def remove(self) -> None:
        """Remove the part and its note, unless they now belong to another download."""
        if self.is_ours:
            self._note.unlink(missing_ok=True)
            self.discard()

    def discard(self) -> None:
        """Remove the partial file, but keep the note about it."""
        # Windows removes no open file.
        if not POSIX:
            self.file.close()
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Unlock and close the partial file without removing it."""
        # A full disk refuses the buffered rest, and does so again on close.
        with suppress(OSError):
            if self._is_open_here:
                # Closing is not enough: a forked child may have the file open, too.
                self.file.flush()
                release_lock(self.file)
        with suppress(OSError):
            self.file.close()

    @property
    def _is_open_here(self) -> bool:
        return not self.file.closed and self._opened_by == os.getpid()


def _open_locked(path: Path, *, limit: int | None) -> BufferedRandom:
    """Open and lock a part, created if missing, with no permission beyond `limit`."""
    mode = _ANYBODY if limit is None else limit & _ANYBODY | _OWNER
    while True:
        file = os.fdopen(_open_regular(path, mode), "r+b")
        try:
            lock(file, path.parent, wait=False)
            # Between open and lock another process may have renamed it to its target.
            if _is_at(path, file):
                permissions = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                if POSIX and permissions & ~mode:
                    # An earlier run allowed more.
                    os.fchmod(file.fileno(), permissions & mode)
                return file
        except BlockingIOError:
            file.close()
            raise DownloadError(
                f"Another process is downloading to {path}.",
                remedy="Wait for it or choose another name.",
            ) from None
        except BaseException:
            file.close()
            raise
        file.close()


def _open_regular(path: Path, mode: int) -> int:
    # Another user of a shared folder may have put it there.
    if path.is_symlink():
        raise ConfigurationError(
            f"{path} is a link, and a download would overwrite its target.",
            remedy="Remove the link.",
        )
    descriptor = _open_itself(str(path), os.O_RDWR | os.O_CREAT, mode)
    # Of the open file: its name may lead elsewhere by now.
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ConfigurationError(f"{path} is a device or a pipe.", remedy="Remove it.")
    return descriptor


def _open_itself(path: str, flags: int, mode: int = _OWNER) -> int:
    return os.open(path, flags | files.UNFOLLOWED, mode)


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Return whether `path` names this open file, and not a link or another file."""
    try:
        entry = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return os.path.samestat(entry, os.fstat(file.fileno()))
