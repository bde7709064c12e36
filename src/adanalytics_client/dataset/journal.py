"""The step at which an hour's file is exchanged, noted before it and forgotten after it.

Between the note and the manifest the process may be killed at any point. The note says which
bytes were to be under the hour's name; the next run looks which are, and knows on which side of
the step it stopped.
"""

import hashlib

from adanalytics_client.dataset.checksummed_json import Damaged, seal, unseal
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.layout import JOURNAL, PartFormat, journal_name, part_name
from adanalytics_client.dataset.manifest import HourRecord, Manifest
from adanalytics_client.dataset.store import Store

_PIECE = 1024 * 1024


class Journal:
    """Notes of hours that are being exchanged, one file each."""

    def __init__(self, store: Store, form: PartFormat) -> None:
        self._store = store
        self._form = form

    def prepare(self, hour: Hour, record: HourRecord) -> None:
        """Note what will be under the hour's name, on the disk before it is."""
        self._store.write(journal_name(hour), seal({"prepared": record.as_json()}))

    def close(self, hour: Hour) -> None:
        """The manifest knows the hour; the note has done its work."""
        self._store.remove(journal_name(hour))

    def recover(self, manifest: Manifest) -> list[Hour]:
        """Bring the manifest in line with files that were exchanged just before a stop.

        An hour whose file is the noted one is committed. Of any other the file is as it was
        before, and so is the manifest. Gives the hours that were committed.
        """
        done = []
        for name in sorted(self._store.sizes(JOURNAL)):
            hour = _hour_of(name)
            record = self._read(name)
            if hour and record and self._is_there(hour, record):
                manifest.put(hour.day, {hour.hour: record})
                done.append(hour)
            self._store.remove(name)
        return done

    def _is_there(self, hour: Hour, record: HourRecord) -> bool:
        """Whether the exchange happened; for an hour without events it is made to."""
        part = part_name(hour, self._form)
        if not record.rows:
            self._store.remove(part)
            return True
        return checksum(self._store, part) == record.sha256

    def _read(self, name: str) -> HourRecord | None:
        try:
            return HourRecord.from_json(unseal(self._store.read(name) or b"")["prepared"])
        except (Damaged, KeyError):
            return None


def checksum(store: Store, name: str) -> str | None:
    """SHA-256 of a file in hex, or None when there is none."""
    digest = hashlib.sha256()
    try:
        with store.open(name) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def _hour_of(name: str) -> Hour | None:
    try:
        return Hour.read(name.rpartition("/")[2].removesuffix(".json"))
    except ValueError:
        return None
