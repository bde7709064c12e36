"""A part and its note on the disk, as long as one download has them."""

import os
from contextlib import suppress
from pathlib import Path

from adanalytics_client._files import keep_permissions, sync_folder
from adanalytics_client._part_lock import is_at, unlock
from adanalytics_client._part_place import names_beside, open_part
from adanalytics_client._sidecar import Sidecar, read_sidecar
from adanalytics_client.errors import DownloadError


class LockedPart:
    """The part of a target and the note beside it, which this download alone writes.

    Args:
        target: the name that the part gets at the end.

    Attributes:
        path: the part.
        file: the part, open.

    Raises:
        ConfigurationError, DownloadError, OSError: as `open_part`.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self.path, self._note = names_beside(target)
        self.file = open_part(target)
        self._opened_by = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Whether the part is there: removed by hand, it may be that of a later download by now.

        In a child that was forked meanwhile it is the parent's.
        """
        return self._is_open_here and is_at(self.path, self.file)

    def read_note(self) -> Sidecar | None:
        """What an earlier run noted about the part."""
        return read_sidecar(self._note)

    def keep_note(self, note: Sidecar | None) -> None:
        """Put a note beside the part, or take the one that is there away.

        Raises:
            DownloadError: when the part is no longer there.
            OSError: when it cannot be written.
        """
        self._see_that_it_is_ours()
        if note is None:
            self._note.unlink(missing_ok=True)
        else:
            note.write(self._note)

    def rename(self, note: Sidecar | None) -> None:
        """Bring the part to the disk and put it under its name, with the permissions there.

        Args:
            note: what is noted about the part; stays beside it when it does not get the name.

        Raises:
            DownloadError: when the part is no longer there, or cannot get the name.
            OSError: when it cannot be brought to the disk.
        """
        self.file.flush()
        keep_permissions(self.file, self._target)
        os.fsync(self.file.fileno())
        # Before the rename, which ends the lock on the name: the note might be another's then.
        self.keep_note(None)
        try:
            self.path.replace(self._target)
        except OSError as error:
            if note is not None:
                with suppress(OSError):
                    note.write(self._note)
            raise DownloadError(
                f"The file arrived, but could not be named {self._target} ({error.strerror}). "
                "Remove what is in its way there, and download it again."
            ) from error
        self.file.close()
        sync_folder(self._target)

    def remove(self) -> None:
        """Take the part and its note away, unless they are another's by now."""
        if self.is_ours:
            self._note.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the part, which stays."""
        # A full disk refuses the buffered rest, and once more on close.
        with suppress(OSError):
            if self._is_open_here:
                unlock(self.file)
        with suppress(OSError):
            self.file.close()

    @property
    def _is_open_here(self) -> bool:
        return not self.file.closed and self._opened_by == os.getpid()

    def _see_that_it_is_ours(self) -> None:
        if not self.is_ours:
            raise DownloadError(
                f"{self.path} was removed or replaced while the file was arriving. "
                "Download it again, once no other download uses that name."
            )
