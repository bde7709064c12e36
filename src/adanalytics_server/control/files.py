"""Bring back the files of a data folder: those of exports, and the events themselves."""

import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from adanalytics_server.storage.store import PartnerStore
from adanalytics_server.storage.stores import Stores

# A partner's events up to this size are copied when a state is captured.
MOST_COPIED_BYTES = 64 << 20


class CannotRestore(RuntimeError):
    """The events have changed and there is no copy; the text says what to do."""


class ExportFiles:
    """The finished files of exports. They never change, so that a second name is a copy."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "exports"

    def capture(self, into: Path) -> Path:
        """Give every file a second name in a new folder and return that folder."""
        kept = into / "exports"
        kept.mkdir(parents=True)
        for file in self._files():
            os.link(file, kept / file.name)
        return kept

    def restore(self, captured: Path) -> None:
        """Remove the files that came since and bring back those that went."""
        kept = {file.name for file in captured.iterdir()}
        for file in self._files():
            if file.name not in kept:
                file.unlink(missing_ok=True)
        for name in kept:
            if not (self._folder / name).exists():
                os.link(captured / name, self._folder / name)

    def _files(self) -> list[Path]:
        # What is being written has another suffix and belongs to the worker.
        return [file for file in self._folder.glob("*") if file.suffix != ".part"]


@dataclass(frozen=True, slots=True)
class Events:
    """A partner's events at one time.

    Attributes:
        revision: the ledger's; ``None`` when the ledger cannot be read.
        copy: a folder with the files; ``None`` without events, or when ``reason`` says why not.
        reason: why there is no copy.
    """

    revision: int | None
    copy: Path | None = None
    reason: str = ""


class EventFiles:
    """The partners' events. Only loads change them, and each load raises the revision."""

    def __init__(self, data: Path, stores: Stores, *, at_most: int | None) -> None:
        self._folder = data / "partners"
        self._stores = stores
        self._at_most = at_most

    def capture(self, into: Path) -> dict[int, Events]:
        """Copy the events of each partner into a new folder, unless they are too large."""
        return {
            number: self._copied(number, into / "partners" / str(number))
            for number in self._partners()
        }

    def restore(self, captured: dict[int, Events]) -> None:
        """Bring back the events of partners that were loaded into since.

        Raises:
            CannotRestore: they were too large to be copied.
        """
        for number in self._partners():
            before = captured.get(number, Events(revision=0))
            if before.revision is None or self._revision(number) == before.revision:
                continue
            if before.revision == 0:
                self._stores.drop(number)
                shutil.rmtree(self._folder / str(number))
            elif before.copy is None:
                raise CannotRestore(
                    f"the events of partner number {number} have changed, and there is no copy,"
                    f" because {before.reason}: take a snapshot before loading, or start the"
                    " server again on a fresh folder"
                )
            else:
                _bring_back(self._stores.of(number), before.copy)

    def _partners(self) -> list[int]:
        return sorted(
            int(folder.name) for folder in self._folder.glob("*") if folder.name.isdecimal()
        )

    def _revision(self, partner: int) -> int:
        with self._stores.of(partner).reading_ledger() as ledger:
            return int(ledger.execute("SELECT number FROM revision").fetchone()[0])

    def _copied(self, partner: int, into: Path) -> Events:
        revision: int | None = None
        store = self._stores.of(partner)
        try:
            # The ledger's transaction keeps every load out until all files are copied.
            with store.writing_ledger() as ledger:
                revision = int(ledger.execute("SELECT number FROM revision").fetchone()[0])
                size = sum(file.stat().st_size for file in store.folder.iterdir())
                if revision == 0:
                    return Events(revision)
                if self._at_most is not None and size > self._at_most:
                    return Events(revision, reason=f"{size >> 20} MiB were too much to copy")
                into.mkdir(parents=True)
                for file in sorted(store.folder.glob("*.db")):
                    _copy(file, into / file.name)
        except sqlite3.DatabaseError as error:
            # A damaged file is for the requests that need it to report, not a reason not to start.
            return Events(revision, reason=f"a file cannot be read ({error})")
        return Events(revision, into)


def _bring_back(store: PartnerStore, copy: Path) -> None:
    """Write the copies over the open files; the ledger last, for it says what is visible."""
    for file in sorted(copy.glob("*.db"), key=lambda file: file.stem == "ledger"):
        _copy(file, store.folder / file.name)


def _copy(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(source)) as reading,
        closing(sqlite3.connect(target)) as writing,
    ):
        reading.backup(writing, sleep=0.001)
