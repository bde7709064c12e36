"""The hours that a dataset holds, and the atomic replacement of an hour.

A journal entry with the checksum of the new file is written first, then the file is renamed into
place, then the manifest is updated, once for each day, and at the end the table, if there is one.
A process may be killed between any two of these steps: see `recover`.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Self

from msgspec.structs import replace

from adanalytics_client._json.types import became_text, join_columns
from adanalytics_client._outputs.arrow.batches import warn_of
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.files import checksum, digest_events, read_part, write_hour
from adanalytics_client.dataset.records.layout import DATA, JOURNAL, Hour
from adanalytics_client.dataset.records.manifest import (
    FinishedHour,
    HourRecord,
    Identity,
    Manifest,
    seal,
    unseal,
)
from adanalytics_client.dataset.schema import Schema
from adanalytics_client.dataset.storage.local import Store
from adanalytics_client.dataset.tables.file_table import FileTable
from adanalytics_client.errors import ConfigurationError


class Contents:
    """The files and the manifest of a dataset whose lock is held; use it in one thread only.

    Attributes:
        replaced: the records of hours that were replaced just before a stop.
    """

    def __init__(
        self,
        store: Store,
        identity: Identity,
        schema: Schema,
        sizes: Mapping[str, int],
        replaced: Mapping[Hour, HourRecord],
    ) -> None:
        self.store = store
        self.identity = identity
        self.manifest = Manifest(store)
        self.schema = schema
        self.table = FileTable(store, identity) if identity.table else None
        self.replaced = replaced
        self._noted: set[Hour] = set()
        # Columns of which a warning was logged.
        self._named: set[str] = set()
        self._sizes = {**sizes}

    @classmethod
    def open(cls, store: Store, identity: Identity) -> Self:
        """Read what a dataset holds; `recover` then writes what a stop left unwritten."""
        replaced, sizes = _replaced_hours(store, identity), {**store.sizes(DATA)}
        for hour, record in replaced.items():
            if not record.size:
                sizes.pop(identity.part_name(hour, record), None)
        contents = cls(store, identity, Schema.read(store), sizes, replaced)
        contents.manifest.put(replaced)
        return contents

    def find_damage(self, days: Iterable[date]) -> list[str]:
        """Describe files that are missing, have the wrong length, or should not be there.

        The records of their hours, and of all hours of a day whose manifest is damaged, are
        dropped, so that the hours are pulled again. The content of the files is not read here;
        `verify` reads it.
        """
        problems, damaged = list[str](), set[Hour]()
        for record in self.manifest.records(days):
            for file in record.data_files(self.identity):
                size = self._sizes.get(file.name)
                if size != file.size:
                    is_now = "was deleted" if size is None else f"has {size} bytes, not {file.size}"
                    problems.append(f"{file.name} {is_now}")
                    damaged.update(file.hours)
            for hour, empty in record.by_hour.items():
                name = self.identity.part_name(hour, empty)
                if not empty.size and name in self._sizes:
                    problems.append(f"{name} has {self._sizes[name]} bytes, not 0")
                    damaged.add(hour)
        self.manifest.forget(damaged)
        days_lost = self.manifest.damaged.items()
        return [*problems, *(f"the manifest of {day}: {what}" for day, what in days_lost)]

    def reuse(self, finished: FinishedHour) -> FinishedHour:
        """Return an hour that was pulled again with its held file, if the events are the same.

        Neither the order of the events nor the version of pyarrow matters. The bytes of the held
        file are read, so that a repull replaces a damaged one.
        """
        held, fresh = self.manifest.record(finished.hour), finished.record
        if held is None or held.rows != fresh.rows:
            return finished
        if held.rows:
            name = self.identity.part_name(finished.hour, held)
            if checksum(self.store, name) != held.sha256:
                return finished
            if held.sha256 != fresh.sha256 and not self._are_equal(name, held, finished):
                return finished
        # Columns of other days may have added sums of nothing.
        totals = fresh.totals if held.totals in (None, fresh.totals) else held.totals
        record = replace(held, asked_at=fresh.asked_at, totals=totals)
        return dataclasses.replace(finished, record=record, file=None, is_held=True)

    def _are_equal(self, name: str, held: HourRecord, finished: FinishedHour) -> bool:
        """Return whether a held file and the file of a finished hour have the same events."""
        identity = self.identity
        types = join_columns(self.schema.sets[held.types], finished.types)
        one, other = (
            digest_events(self.store, file, identity.form, EventTables(identity.names, types))
            for file in (name, finished.file or "")
        )
        return one == other

    def commit(self, finished: FinishedHour, fingerprint: str) -> None:
        """Put an hour into the dataset; of one that it holds, only the record changes."""
        if finished.is_held and (held := self.manifest.record(finished.hour)):
            # Meanwhile its file may have been written anew, with wider types.
            asked_at, totals = finished.record.asked_at, finished.record.totals
            record = replace(held, asked_at=asked_at, fingerprint=fingerprint, totals=totals)
            self.manifest.put({finished.hour: record})
            return
        for name in (*finished.mixed, *became_text(self.schema.union, finished.types)):
            if name not in self._named:
                warn_of(name, join_columns(self.schema.union, finished.types)[name])
                self._named.add(name)
        types = self.schema.number(finished.types)
        if types is None:
            self.schema = self.schema.extended(finished.types)
            self.schema.write(self.store)
            types = len(self.schema.sets) - 1
        record = replace(finished.record, fingerprint=fingerprint, types=types)
        hour, name = finished.hour, self.identity.part_name(finished.hour, record)
        note = seal({"prepared": record})
        self.store.write(f"{JOURNAL}/{hour}.json", note, lasting=False)
        self._noted.add(hour)
        if finished.file is not None:
            self.store.move_in(finished.file, name)
            self._sizes[name] = record.size
        elif name in self._sizes:
            self.store.remove(name)
            del self._sizes[name]
        self.manifest.put({hour: record})

    def discard(self, day: date, hours: Collection[Hour]) -> None:
        """Remove hours of a day, so that they are pulled again."""
        records = self.manifest.day(day).by_hour
        names = [self.identity.part_name(hour, records[hour]) for hour in hours]
        self.manifest.forget(hours)
        self.manifest.unsaved.add(day)
        # First, because a record must not name a file that is gone.
        self.save([day])
        for name in names:
            # An earlier version of the table may list the very file.
            if name in self._sizes and not self.table:
                self.store.remove(name)
                del self._sizes[name]

    def note_empty(self, hours: Iterable[Hour], asked_at: datetime, fingerprint: str) -> None:
        """Record, without a request, that hours have no events."""
        for hour in hours:
            record = HourRecord(0, 0, "", asked_at, fingerprint)
            if self.identity.part_name(hour, record) in self._sizes:
                self.commit(FinishedHour(hour, record), fingerprint)
            else:
                self.manifest.put({hour: record})

    def mark(self, hours: Iterable[Hour], fingerprint: str) -> None:
        """Set the fingerprint of the summary row that hours agree with, or `UNCONFIRMED`."""
        records = ((hour, self.manifest.record(hour)) for hour in hours)
        self.manifest.put(
            {hour: replace(record, fingerprint=fingerprint) for hour, record in records if record}
        )

    def save(self, days: Collection[date]) -> None:
        """For the changed days, write the manifest, and remove journal entries."""
        if not self.manifest.unsaved.intersection(days):
            return
        if self.table:
            days = {*days, *self._rewrite(self.table.stale(self.schema))}
        self.store.flush()
        if self.table:
            self.table.note(self.manifest, self.manifest.unsaved.intersection(days))
        self.manifest.save(days)
        saved = {hour for hour in self._noted if hour.day in days}
        self.store.remove_all(f"{JOURNAL}/{hour}.json" for hour in sorted(saved))
        self._noted -= saved

    def retain(self, hours: int) -> None:
        """Set for how long earlier versions of the table stay readable.

        Raises:
            ConfigurationError: for a dataset without a table.
        """
        if self.table is None:
            raise ConfigurationError(
                f"{self.store.place} has no table, so it keeps no earlier versions.",
                remedy="Leave out the retention.",
            )
        self.table.retained_hours = hours

    def publish(self, now: datetime) -> None:
        """Make the table, if there is one, list the files of the manifest."""
        if self.table:
            self.table.publish(self.manifest, self.schema, self._sizes.keys(), now)

    def _rewrite(self, sets: Collection[int]) -> Iterator[date]:
        """Write files of some sets of types anew, with the types of all files; yield their days."""
        identity = self.identity
        for day in self.manifest.days() if sets else ():
            for hour, record in self.manifest.day(day).by_hour.items():
                if record.size and record.types in sets:
                    tables = EventTables(identity.names, self.schema.union)
                    with self.store.scratch() as folder:
                        name = identity.part_name(hour, record)
                        events = read_part(self.store, name, identity.form, tables)
                        made = write_hour(
                            hour, events, folder, identity.form, record.asked_at, tables
                        )
                        self.commit(made, record.fingerprint)
                    yield day


def _replaced_hours(store: Store, identity: Identity) -> dict[Hour, HourRecord]:
    """Read the records of hours whose file was replaced, and whose manifest perhaps was not."""
    replaced = {}
    for name in sorted(store.sizes(JOURNAL)):
        try:
            hour = Hour.read(name.rpartition("/")[2].removesuffix(".json"))
            record = unseal(store.read(name), dict[str, HourRecord])["prepared"]
        except (KeyError, ValueError):
            continue
        part = identity.part_name(hour, record)
        # Else the file is still the earlier part, and its record is still right.
        if not record.size or checksum(store, part) == record.sha256:
            replaced[hour] = record
    return replaced
