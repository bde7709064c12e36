"""The hours that a dataset holds, and the step in which an hour is replaced.

A note with the checksum of the new file goes to the journal, then the file gets its name, then the
manifest learns of it, once for each day. A process may be killed between any two of these: the next
run finds the notes, looks which file is there, and brings the manifest in line.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

from adanalytics_client.dataset.layout import (
    DATA,
    JOURNAL,
    Hour,
    PartFormat,
    journal_name,
    part_name,
)
from adanalytics_client.dataset.manifest import (
    NEVER,
    UNCONFIRMED,
    Damaged,
    HourRecord,
    Manifest,
    seal,
    unseal,
)
from adanalytics_client.dataset.parts import FinishedHour, checksum, write_empty
from adanalytics_client.dataset.store import Store
from adanalytics_client.dataset.totals import Totals

# Where earlier versions kept the part without rows.
_FORMER_EMPTY = Hour(date(1970, 1, 1), 0)


class Contents:
    """The parts and the manifest of a dataset whose lock is held; for one thread.

    Most readers refuse a folder without files, and a part without rows has its columns in parquet
    only. So in that format the first part appears before the first events, under the first hour
    that is to be pulled, and the last events that go leave a part without rows in their place. It
    is removed as soon as there is another part.

    Args:
        store: the place.
        form: the format of the parts.
    """

    def __init__(self, store: Store, form: PartFormat) -> None:
        self.store = store
        self.form = form
        self.manifest = Manifest(store)
        self._noted: set[Hour] = set()
        self._scratch = Path()
        self._recover()
        self._sizes = store.sizes(DATA)
        self._parts = {name for name in self._sizes if name.endswith(f"/part-0.{form}")}
        self._empty = self._find_empty()

    @property
    def is_readable(self) -> bool:
        """Whether readers find a part with a true day, or the format has none without rows."""
        return self._empty != _FORMER_EMPTY and (bool(self._parts) or self.form != "parquet")

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Give a folder for unfinished files, and save the manifest at the end in any case."""
        with self.store.scratch() as folder:
            self._scratch = folder
            try:
                yield folder
            finally:
                self.save(self.manifest.unsaved)

    def find_damage(self, hours: Iterable[Hour]) -> list[str]:
        """Describe hours whose file is missing, has another length, or should not be there.

        Their records are dropped, so that they are pulled again. `verify` reads the bytes.
        """
        found = {}
        for hour in hours:
            name = part_name(hour, self.form)
            record, size = self.manifest.record(hour), self._sizes.get(name)
            if record is None or size == (record.size or None):
                continue
            if size is None and not record.rows:
                # Killed while the part without rows was removed.
                self.manifest.put({hour: replace(record, size=0, sha256="")})
                continue
            is_now = "is missing" if size is None else f"has {size} bytes, not {record.size}"
            found[hour] = f"{name} {is_now}"
        self.manifest.forget(found)
        return [*found.values()]

    def commit(self, finished: FinishedHour, asked_at: datetime, fingerprint: str) -> None:
        """Put an hour in place of what was there."""
        hour, name = finished.hour, part_name(finished.hour, self.form)
        former = part_name(_FORMER_EMPTY, self.form)
        if finished.path is None and self.form == "parquet" and self._parts <= {name, former}:
            finished = write_empty(hour, self._scratch)
        record = HourRecord(
            finished.rows,
            finished.size,
            finished.sha256,
            asked_at,
            fingerprint,
            finished.totals,
        )
        note = seal({"prepared": record.as_json()})
        self.store.write(journal_name(hour), note, lasting=False)
        self._noted.add(hour)
        if finished.path is None:
            self._remove(name)
        else:
            self.store.move_in(finished.path, name)
            self._parts.add(name)
        self.manifest.put({hour: record})
        self._drop_empty(unless=name)
        if finished.path is not None and not finished.rows:
            self._empty = hour

    def keep_readable(self, hour: Hour) -> None:
        """Let a part without rows appear in the place of an hour, if there is no part at all.

        The one of an earlier version goes, without another in a format that has none.
        """
        if self.is_readable:
            return
        if self.form != "parquet":
            self._remove(part_name(_FORMER_EMPTY, self.form))
            self._empty = None
            return
        record = self.manifest.record(hour) or HourRecord(0, 0, "", NEVER, UNCONFIRMED)
        empty = FinishedHour(hour, 0, totals=Totals())
        self.commit(empty, record.asked_at, record.fingerprint)

    def note_empty(self, hours: Iterable[Hour], asked_at: datetime, fingerprint: str) -> None:
        """Record without a request that hours have no events."""
        for hour in hours:
            if part_name(hour, self.form) in self._parts:
                self.commit(FinishedHour(hour, 0, totals=Totals()), asked_at, fingerprint)
            else:
                self.manifest.put({hour: HourRecord(0, 0, "", asked_at, fingerprint)})

    def mark(self, hours: Iterable[Hour], fingerprint: str) -> None:
        """Record that hours agree with another row of the summary, or with none."""
        records = {hour: self.manifest.record(hour) for hour in hours}
        self.manifest.put(
            {
                hour: replace(record, fingerprint=fingerprint)
                for hour, record in records.items()
                if record is not None
            }
        )

    def save(self, days: Collection[date]) -> None:
        """Write the manifest of days that changed, and drop the notes that it replaces."""
        if not self.manifest.unsaved.intersection(days):
            return
        self.store.flush()
        self.manifest.save(days)
        for hour in [hour for hour in self._noted if hour.day in days]:
            self.store.remove(journal_name(hour))
            self._noted.discard(hour)

    def _recover(self) -> None:
        """Bring the manifest in line with files that were exchanged just before a stop."""
        notes = sorted(self.store.sizes(JOURNAL))
        for name in notes:
            try:
                hour = Hour.read(name.rpartition("/")[2].removesuffix(".json"))
                record = HourRecord.from_json(unseal(self.store.read(name) or b"")["prepared"])
            except (Damaged, KeyError, ValueError):
                continue
            part = part_name(hour, self.form)
            if not record.size:
                self.store.remove(part)
            elif checksum(self.store, part) != record.sha256:
                # The part is the one before, and so is its record.
                continue
            self.manifest.put({hour: record})
        self.save(self.manifest.unsaved)
        for name in notes:
            self.store.remove(name)

    def _find_empty(self) -> Hour | None:
        """Find the hour whose part has no rows; there is one only where there are no others."""
        if part_name(_FORMER_EMPTY, self.form) in self._parts:
            return _FORMER_EMPTY
        for name in self._parts if len(self._parts) == 1 else ():
            day, _, rest = name.partition("date=")[2].partition("/hour=")
            try:
                hour = Hour.read(f"{day}T{rest[:2]}")
            except ValueError:
                return None
            record = self.manifest.record(hour)
            return hour if record is not None and not record.rows else None
        return None

    def _drop_empty(self, *, unless: str) -> None:
        hour = self._empty
        if hour is None:
            return
        if (name := part_name(hour, self.form)) != unless:
            if not self._parts - {name}:
                return
            self._remove(name)
            if (record := self.manifest.record(hour)) is not None:
                self.manifest.put({hour: replace(record, size=0, sha256="")})
        self._empty = None

    def _remove(self, name: str) -> None:
        if name in self._parts:
            self.store.remove(name)
            self._parts.discard(name)
