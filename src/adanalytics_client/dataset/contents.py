"""The hours that a dataset holds, and the atomic replacement of an hour.

A journal entry with the checksum of the new file is written first, then the file is renamed into
place, then the manifest is updated, once for each day. A process may be killed between any two of
these steps: the next run reads the journal, checks which file is there, and corrects the manifest.
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
    hours_of,
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

# The hour under which earlier versions kept the part without rows.
_FORMER_EMPTY = Hour(date(1970, 1, 1), 0)


class Contents:
    """The parts and the manifest of a dataset whose lock is held; for one thread.

    Most readers refuse a folder without files, and only in parquet does a part without rows have
    columns. So in that format the first part is written before the first events, under the first
    hour to pull, and removing the last events leaves a part without rows in their place. It is
    removed as soon as there is another part.

    Args:
        store: the storage.
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
        """Whether readers find a part of a real day, or the format has no parts without rows."""
        return self._empty != _FORMER_EMPTY and (bool(self._parts) or self.form != "parquet")

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Yield a folder for unfinished files, and save the manifest at the end in any case."""
        with self.store.scratch() as folder:
            self._scratch = folder
            try:
                yield folder
            finally:
                self.save(self.manifest.unsaved)

    def find_damage(self, days: Iterable[date]) -> list[str]:
        """Describe hours whose file is missing, has another length, or should not be there.

        Their records are dropped, so that they are pulled again, as are those of a day whose
        manifest is damaged. `verify` reads the bytes.
        """
        found = {}
        for hour in (hour for day in days for hour in hours_of(day)):
            name = part_name(hour, self.form)
            record, size = self.manifest.record(hour), self._sizes.get(name)
            if record is None or size == (record.size or None):
                continue
            if size is None and not record.rows:
                # A run was killed while it removed the part without rows.
                self.manifest.put({hour: replace(record, size=0, sha256="")})
                continue
            is_now = "was deleted" if size is None else f"has {size} bytes, not {record.size}"
            found[hour] = f"{name} {is_now}"
        self.manifest.forget(found)
        days_lost = self.manifest.damaged.items()
        return [*found.values(), *(f"the manifest of {day}: {what}" for day, what in days_lost)]

    def commit(self, finished: FinishedHour, asked_at: datetime, fingerprint: str) -> None:
        """Replace the file and the record of an hour."""
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
        """Write a part without rows for an hour, if there is no part at all.

        That of an earlier version is removed, and only parquet gets a new one.
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
        """Record, without a request, that hours have no events."""
        for hour in hours:
            if part_name(hour, self.form) in self._parts:
                self.commit(FinishedHour(hour, 0, totals=Totals()), asked_at, fingerprint)
            else:
                self.manifest.put({hour: HourRecord(0, 0, "", asked_at, fingerprint)})

    def mark(self, hours: Iterable[Hour], fingerprint: str) -> None:
        """Record that hours agree with a different row of the summary, or with none."""
        records = {hour: self.manifest.record(hour) for hour in hours}
        self.manifest.put(
            {
                hour: replace(record, fingerprint=fingerprint)
                for hour, record in records.items()
                if record is not None
            }
        )

    def save(self, days: Collection[date]) -> None:
        """Write the manifest of the changed days, and remove their journal entries."""
        if not self.manifest.unsaved.intersection(days):
            return
        self.store.flush()
        self.manifest.save(days)
        for hour in [hour for hour in self._noted if hour.day in days]:
            self.store.remove(journal_name(hour))
            self._noted.discard(hour)

    def _recover(self) -> None:
        """Correct the manifest for files that were replaced just before a stop."""
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
                # The file is still the earlier part, and its record is still right.
                continue
            self.manifest.put({hour: record})
        self.save(self.manifest.unsaved)
        for name in notes:
            self.store.remove(name)

    def _find_empty(self) -> Hour | None:
        """Find the hour whose part has no rows; such a part is always the only one."""
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
