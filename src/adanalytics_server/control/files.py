"""Save and restore the files of a data folder: exports and events."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from adanalytics_server.storage.damage import DiskFull, room_for
from adanalytics_server.storage.store import Stores

# A partner's events up to this size are copied.
MOST_COPIED_BYTES = 64 << 20


class CannotRestore(RuntimeError):
    """The events have changed and there is no copy; the text says what to do."""


class Events(NamedTuple):
    """A partner's events at one time.

    Attributes:
        revision: the ledger's; ``None`` when the ledger cannot be read.
        copy: a folder with the files; ``None`` without events, or when ``reason`` says why not.
        reason: why there is no copy.
    """

    revision: int | None
    copy: Path | None = None
    reason: str = ""


class Files(NamedTuple):
    """The files of a data folder at one time; ``exports`` is a folder of hard links."""

    exports: Path
    events: dict[int, Events]


class DataFiles:
    """Saves and restores the files of exports, and the events of each partner.

    The file of an export never changes, so a hard link is a copy. Only loads change events, and
    each load raises the revision.
    """

    def __init__(self, data: Path, stores: Stores) -> None:
        self._exports = data / "exports"
        self._partners = data / "partners"
        self._stores = stores

    def capture(self, folder: Path) -> Files:
        """Copy all files into a new folder, but no partner's events above ``MOST_COPIED_BYTES``."""
        shutil.rmtree(folder, ignore_errors=True)
        exports = folder / "exports"
        exports.mkdir(parents=True)
        for file in self._export_files():
            os.link(file, exports / file.name)
        events = {
            number: self._copied(number, folder / "partners" / str(number))
            for number in self._numbers()
        }
        return Files(exports, events)

    def restore(self, files: Files) -> None:
        """Remove new files, and restore those that were deleted or changed.

        Changed events that were too large to copy are ``CannotRestore``.
        """
        names = {file.name for file in files.exports.iterdir()}
        for file in self._export_files():
            if file.name not in names:
                file.unlink(missing_ok=True)
        for name in names:
            if not (self._exports / name).exists():
                os.link(files.exports / name, self._exports / name)
        for number in self._numbers():
            events = files.events.get(number, Events(revision=0))
            if events.revision is None or self._revision(number) == events.revision:
                continue
            if events.revision == 0:
                self._stores.drop(number)
                shutil.rmtree(self._partners / str(number))
            elif events.copy is None:
                raise CannotRestore(
                    f"the events of partner number {number} have changed, and there is no copy"
                    f" because {events.reason}: restart the server on a fresh"
                    " folder"
                )
            else:
                # Over the open files, the ledger last: it decides which rows are visible.
                folder, copies = self._stores.of(number).folder, events.copy.glob("*.db")
                for file in sorted(copies, key=lambda file: file.stem == "ledger"):
                    _copy(file, folder / file.name)

    def _export_files(self) -> list[Path]:
        # A file with this suffix is unfinished and belongs to the worker.
        return [file for file in self._exports.glob("*") if file.suffix != ".part"]

    def _numbers(self) -> list[int]:
        folders = [folder.name for folder in self._partners.glob("*")]
        return sorted(int(name) for name in folders if name.isdecimal())

    def _revision(self, partner: int) -> int:
        with self._stores.of(partner).reading("ledger") as ledger:
            return int(ledger.execute("SELECT number FROM revision").fetchone()[0])

    def _copied(self, partner: int, target: Path) -> Events:
        revision = None
        store = self._stores.of(partner)
        try:
            # The ledger's transaction blocks loads until all files are copied.
            with store.writing("ledger") as ledger:
                revision = int(ledger.execute("SELECT number FROM revision").fetchone()[0])
                size = sum(file.stat().st_size for file in store.folder.iterdir())
                if revision == 0:
                    return Events(revision)
                if size > MOST_COPIED_BYTES:
                    return Events(revision, reason=f"{size >> 20} MiB was too much to copy")
                target.mkdir(parents=True)
                for file in sorted(store.folder.glob("*.db")):
                    _copy(file, target / file.name)
        except (sqlite3.DatabaseError, DiskFull) as error:
            # A damaged file must not prevent the start: requests that need it report it.
            return Events(revision, reason=f"a file cannot be read ({error})")
        return Events(revision, target)


def _copy(source: Path, target: Path) -> None:
    with (
        room_for(target),
        closing(sqlite3.Connection(source)) as reading,
        closing(sqlite3.Connection(target)) as writing,
    ):
        reading.backup(writing, sleep=0.001)
