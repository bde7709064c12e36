"""The hours that a dataset holds, and the atomic replacement of an hour, or of the file of a day.

A journal entry with the checksum of the new file is written first, then the file is renamed into
place, then the manifest is updated, once for each day, and at the end the table, if there is one.
A process may be killed between any two of these steps: see `recover`.

In a dataset of files of days, the hours of a day that arrive together are one file from the start.
Others become one when their day agrees with the service, and an hour in such a file is replaced by
writing the file anew: see `Contents.put_in_place`.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime
from functools import partial, reduce
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from adanalytics_client._base.logs import LOG
from adanalytics_client._base.remedies import remedy
from adanalytics_client._json.types import Types, became_text, join_columns
from adanalytics_client._outputs.arrow.batches import warn_of
from adanalytics_client.dataset.errors import DatasetDamaged
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.files import (
    HourReader,
    are_equal,
    checksum,
    digest_lines,
    is_small,
    write_day,
    write_file,
)
from adanalytics_client.dataset.schema import Schema
from adanalytics_client.dataset.storage.local import Store
from adanalytics_client.dataset.tables.file_table import FileTable
from adanalytics_client.errors import ConfigurationError

from .layout import DATA, HOURS, JOURNAL, Hour
from .manifest import DayRecord, FinishedHour, HourRecord, Identity, Manifest, seal, unseal


class Contents:
    """The files and the manifest of a dataset whose lock is held; use it in one thread only.

    Attributes:
        replaced: the records of hours that were replaced just before a stop.
    """

    def __init__(
        self, store: Store, identity: Identity, schema: Schema, sizes: Mapping[str, int]
    ) -> None:
        self.store = store
        self.identity = identity
        self.manifest = Manifest(store)
        self.schema = schema
        self.table = FileTable(store, identity) if identity.table else None
        self.replaced: Mapping[Hour, HourRecord] = {}
        self._noted: set[Hour] = set()
        # Columns of which a warning was logged.
        self._warnings: set[str] = set()
        self._sizes = {**sizes}
        # Hours of a file of several; they become visible when the file is written anew.
        self._waiting: dict[Hour, FinishedHour] = {}
        # The names and checksums of files whose bytes were compared, or written just now.
        self._sound: set[tuple[str, str]] = set()
        # The names of files that no version of the table can list yet.
        self._unpublished: set[str] = set()
        # Days whose file of several hours is to be written anew in any case.
        self._outdated: set[date] = set()

    @classmethod
    def open(cls, store: Store, identity: Identity) -> Self:
        """Read what a dataset holds; `recover` then writes what a stop left unwritten."""
        journal = store.sizes(JOURNAL)
        contents = cls(store, identity, Schema.read(store), {**store.sizes(DATA), **journal})
        contents.replaced = _replaced_hours(contents, journal)
        for hour, record in contents.replaced.items():
            if not record.size:
                contents._sizes.pop(identity.own_name(hour, record), None)
        contents.manifest.put(contents.replaced)
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
                name = self.identity.own_name(hour, empty)
                # A file of an hour without events: readers of the folder would count it.
                if not empty.size and name in self._sizes:
                    problems.append(f"{name} has {self._sizes[name]} bytes, not 0")
                    damaged.add(hour)
        self.manifest.forget(damaged)
        days_lost = self.manifest.damaged.items()
        return [*problems, *(f"the manifest of {day}: {damage}" for day, damage in days_lost)]

    def reuse(self, hours: Sequence[FinishedHour]) -> Iterator[FinishedHour]:
        """Yield hours that were pulled again with the dataset's files, if the events are the same.

        Neither the order of the events nor the version of pyarrow matters. The bytes of the old
        file are read, so that a repull replaces a damaged one. A new file of a day, of which an
        hour changed, replaces all hours.
        """
        store, form = self.store, self.identity.form
        dataset, pull = HourReader(store.open, form), HourReader(store.open, form)
        with closing(dataset), closing(pull):
            compared = [self._compared(finished, dataset, pull) for finished in hours]
        changed = {finished.hour.day for finished in compared if not finished.is_held}
        for finished, same in zip(hours, compared, strict=True):
            if same.is_held and finished.shared and finished.hour.day in changed:
                record = replace(finished.record, totals=same.record.totals)
                yield dataclasses.replace(finished, record=record, is_held=True)
            else:
                yield same

    def _compared(
        self, finished: FinishedHour, dataset: HourReader, pull: HourReader
    ) -> FinishedHour:
        """Return an hour as it is held, if the events are the same."""
        hour, record, previous = finished.hour, finished.record, self.manifest.record(finished.hour)
        if previous is None or previous.rows != record.rows:
            return finished
        if previous.rows:
            name, file = self.identity.part_name(hour, previous), finished.file or ""
            if not self._is_sound(name, self.manifest.day(hour.day)):
                return finished
            if previous.sha256 == record.sha256:
                is_same = True
            elif self.identity.form == "jsonl":
                is_same = digest_lines(self.store, name) == digest_lines(self.store, file)
            else:
                types = join_columns(self.schema.sets[previous.types], finished.types)
                tables = EventTables(self.identity.names, types)
                is_same = are_equal(
                    partial(dataset.read, name, hour, tables),
                    partial(pull.read, file, hour, tables),
                )
            if not is_same:
                return finished
        # Columns of other days may have added sums of nothing.
        totals = record.totals if previous.totals in (None, record.totals) else previous.totals
        record = replace(previous, asked_at=record.asked_at, totals=totals)
        return dataclasses.replace(finished, record=record, file=None, is_held=True, shared=None)

    def commit(self, finished: FinishedHour, fingerprint: str, *, waits: bool = False) -> None:
        """Put an hour into the dataset; of one that it holds, only the record changes.

        The events become visible at once; if the hour `waits` for others of its day, or a file
        holds those of several, by `save`.
        """
        hour, previous = finished.hour, self.manifest.record(finished.hour)
        if finished.is_held and not finished.shared and previous:
            # Meanwhile its file may have been written anew, with wider types.
            asked_at, totals = finished.record.asked_at, finished.record.totals
            record = replace(previous, asked_at=asked_at, fingerprint=fingerprint, totals=totals)
            self.manifest.put({hour: record})
            return
        for name in (*finished.mixed, *became_text(self.schema.union, finished.types)):
            if name not in self._warnings:
                warn_of(name, join_columns(self.schema.union, finished.types)[name])
                self._warnings.add(name)
        types, file = self._number(finished.types), previous.file if previous else ""
        record = replace(finished.record, fingerprint=fingerprint, types=types, file=file)
        self._waiting[hour] = finished
        self.manifest.put({hour: record})
        # Also if the file only replaces a damaged one.
        self.manifest.unsaved.add(hour.day)
        if not waits and file not in self.manifest.day(hour.day).files:
            self._put_alone([finished])

    def _put_alone(self, hours: Iterable[FinishedHour]) -> None:
        """Give hours that wait files of their own; one without events has none."""
        identity, reader = self.identity, HourReader(self.store.open, self.identity.form)
        stale = self.table.stale(self.schema) if self.table else set()
        with self.store.scratch() as folder, closing(reader):
            for finished in hours:
                hour, file, fresh = finished.hour, finished.file, finished.record
                record = self.manifest.day(hour.day).hours[hour.hour]
                is_stale = record.types in stale
                if file and (finished.shared or is_stale):
                    # Other hours of the day may have widened a column while this one waited.
                    types = self.schema.union if is_stale else finished.types
                    record = replace(record, types=self._number(types))
                    tables = EventTables(identity.names, types)
                    pair = hour, reader.read(file, hour, tables)
                    (own,) = write_file([pair], folder, identity, record.asked_at, tables)
                    file, fresh = own.file, own.record
                name = identity.own_name(hour, fresh)
                is_named = file and identity.partition == "day"
                place = name if is_named else ""
                record = replace(record, size=fresh.size, sha256=fresh.sha256, file=place)
                self._remove_unused(hour.day)
                note = seal({"prepared": record})
                self.store.write(f"{JOURNAL}/{hour}.json", note, lasting=False)
                self._noted.add(hour)
                if file:
                    self.store.move_in(file, name)
                    self._sizes[name] = record.size
                    self._sound.add((name, record.sha256))
                    self._unpublished.add(name)
                else:
                    self._remove(name)
                self.manifest.put({hour: record})
                del self._waiting[hour]

    def _number(self, types: Types) -> int:
        """Return the number of a set of types; a new one becomes part of the schema."""
        number = self.schema.number(types)
        if number is not None:
            return number
        self.schema = self.schema.extended(types)
        self.schema.write(self.store)
        return len(self.schema.sets) - 1

    def _remove(self, *names: str) -> None:
        present = [name for name in sorted(names) if name in self._sizes]
        self.store.remove_all(present)
        for name in present:
            del self._sizes[name]

    def _remove_unused(self, day: date) -> None:
        """Remove a file of the day that no record names: a damaged one, or one that a stop left."""
        name = self.identity.day_name(day)
        if name not in self.manifest.day(day).files:
            self._remove(name)

    def discard(self, day: date, hours: Collection[Hour]) -> None:
        """Remove hours of a day, so that they are pulled again."""
        record = self.manifest.day(day)
        records = record.by_hour
        removed = {self.identity.part_name(hour, records[hour]) for hour in hours}
        if removed & record.files.keys():
            self._outdated.add(day)
        self.manifest.forget(hours)
        self.manifest.unsaved.add(day)
        # First, because a record must not name a file that is gone.
        self.save([day])
        # An earlier version of the table may list the very file.
        if not self.table:
            self._remove(*(removed - record.files.keys()))

    def note_empty(self, hours: Iterable[Hour], asked_at: datetime, fingerprint: str) -> None:
        """Record, without a request, that hours have no events."""
        for hour in hours:
            self._remove_unused(hour.day)
            record = HourRecord(0, 0, "", asked_at, fingerprint)
            if self.identity.own_name(hour, record) in self._sizes:
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
        self.save_records(days)

    def save_records(self, days: Collection[date]) -> None:
        """Write the manifest of the changed days.

        A day that has agreed with the service becomes one file before, and its hourly files go.
        """
        changed = self.manifest.unsaved.intersection(days)
        joined = [day for day in sorted(changed) if self._join(day)]
        # In this order, whatever a kill interrupts: files on the disk, then the record, then the
        # removal of what it replaced.
        self.store.flush()
        if self.table:
            self.table.note(self.manifest, changed)
        self.manifest.save(days)
        saved = {hour for hour in self._noted if hour.day in days}
        self.store.remove_all(f"{JOURNAL}/{hour}.json" for hour in sorted(saved))
        self._noted -= saved
        for day in joined:
            self.put_in_place(day)

    def retain(self, hours: int) -> None:
        """Set for how long earlier versions of the table stay readable.

        Raises:
            ConfigurationError: for a dataset without a table.
        """
        if self.table is None:
            raise ConfigurationError(
                f"{self.store.place} has no table, so it keeps no earlier versions.",
                remedy=remedy("retention"),
            )
        self.table.retained_hours = hours

    def publish(self, now: datetime) -> None:
        """Make the table, if there is one, list the files of the manifest."""
        if self.table:
            names = [name for name in self._sizes if name.startswith(DATA)]
            self._unpublished.clear()
            self.table.publish(self.manifest, self.schema, names, now)

    def _join(self, day: date) -> bool:
        """Write one file of the hours of a day, if it is to have one and has not; say whether.

        Other hours that wait get files of their own. Without a table, a file that replaces others
        is beside the data at first, where the manifest will name it: see `put_in_place`.
        """
        identity, record = self.identity, self.manifest.day(day)
        waiting = {hour: finished for hour, finished in self._waiting.items() if hour.day == day}
        filled = {hour: of_hour for hour, of_hour in record.by_hour.items() if of_hour.size}
        joined = {hour for hour, of_hour in filled.items() if of_hour.file in record.files}
        # Of a new day nothing is written anew, so it need not agree with the service.
        is_whole = record.is_agreed or (record.is_settled and filled.keys() <= waiting.keys())
        is_day = identity.partition == "day" and len(filled) > 1 and is_whole
        if not record.files:
            is_day = is_day and is_small(record.rows)
        parts = {*filled} if is_day else joined
        alone = [
            finished
            for hour, finished in waiting.items()
            if record.hours[hour.hour].file not in record.files
        ]
        is_due = len(waiting) > len(alone) or day in self._outdated
        if not (waiting or is_due) and parts == joined:
            return False
        sources = {hour: identity.part_name(hour, filled[hour]) for hour in sorted(parts)}
        names = {sources[hour] for hour in parts.difference(waiting)}
        damaged = [name for name in sorted(names) if not self._is_sound(name, record)]
        if damaged and is_due:
            raise DatasetDamaged(
                f"{self.store.place}/{damaged[0]} is corrupt (checksum mismatch).",
                remedy="Delete this file and sync its day: the sync pulls its hours again.",
            )
        if damaged:
            # A new file would make a new record of what is wrong.
            LOG.warning("%s is damaged. adanalytics verify says how to repair it.", damaged[0])
        if damaged or not is_day:
            self._put_alone(alone)
            if not is_due:
                return False
            waiting = {hour: new for hour, new in waiting.items() if hour in self._waiting}
        fresh = {h: replace(r, file="") for h, r in record.by_hour.items() if h not in filled}
        files = {}
        if parts:
            sources |= {hour: new.file for hour, new in waiting.items() if new.file}
            shared = {finished.shared for finished in waiting.values()}
            file = shared.pop() if len(shared) == 1 and len(waiting) == HOURS else None
            reader = HourReader(self.store.open, identity.form)
            with self.store.scratch() as folder, closing(reader):
                if file and day not in self._outdated:
                    path, number = {(sources[hour], filled[hour].types) for hour in parts}.pop()
                else:
                    sets = [self.schema.sets[filled[hour].types] for hour in sources]
                    types = self.schema.union if self.table else reduce(join_columns, sets)
                    path, number = f"{folder}/{day}.{identity.form}", self._number(types)
                    tables = EventTables(identity.names, types)
                    hours = ((h, reader.read(name, h, tables)) for h, name in sources.items())
                    file = write_day(Path(path), hours, tables)
                place = identity.day_name(day, file.sha256)
                if not self.table and any(n in self._sizes for n in identity.names_of(day)):
                    place = _beside(place)
                self.store.move_in(path, place)
            self._sizes[place] = file.size
            self._unpublished.add(place)
            files[place] = file
            fresh |= {hour: replace(filled[hour], file=place, types=number) for hour in parts}
        self.manifest.put(fresh, files)
        self._outdated.discard(day)
        for hour, finished in waiting.items():
            del self._waiting[hour]
            if finished.file and Path(finished.file).is_absolute():
                Path(finished.file).unlink(missing_ok=True)
        return True

    def _is_sound(self, name: str, record: DayRecord) -> bool:
        """Return whether the bytes of a file are those of its record; each file is read once."""
        file = next(file for file in record.data_files(self.identity) if file.name == name)
        # Repairs ask for the same file several times.
        if (name, file.sha256) not in self._sound:
            if checksum(self.store, name) != file.sha256:
                return False
            self._sound.add((name, file.sha256))
        return True

    def put_in_place(self, day: date) -> None:
        """Replace files of a day by those that its record names beside the data.

        From the record on, readers of the manifest have the new files, first beside the data and
        then among them. Other readers never see an event twice: what is replaced goes first, and so
        they may miss hours of the day meanwhile. A file that replaces one of its name does so in
        one step. With a table, other readers read the table, whose versions may list earlier files.
        """
        identity, record = self.identity, self.manifest.day(day)
        used = {identity.part_name(*item) for item in record.by_hour.items()}
        # A table names its files by their content, so none takes another's place: what no record
        # uses was written for a record that was never saved.
        if self.table:
            folder = identity.day_folder(day)
            self._remove(*(n for n in self._unpublished - used if n.startswith(folder)))
            return
        # The record names a file beside the data until the file is among the data, so that a kill
        # at any point leaves a record whose files exist.
        names = {of_hour.file for of_hour in record.hours.values()}
        beside = (name for name in names if name.startswith(JOURNAL))
        places = {name: f"{DATA}/{name.removeprefix(f'{JOURNAL}/')}" for name in beside}
        used.update(places.values())
        self._remove(*(name for name in identity.names_of(day) if name not in used))
        for name, place in sorted(places.items()):
            self.store.copy(name, place)
            self._sizes[place] = self._sizes[name]
        if not places:
            return
        self.store.flush()
        fresh = {}
        for hour, of_hour in record.by_hour.items():
            if of_hour.file in places:
                file, hourly = places[of_hour.file], replace(of_hour, file="")
                is_hourly = identity.part_name(hour, hourly) == file
                fresh[hour] = hourly if is_hourly else replace(of_hour, file=file)
        files = {places[name]: file for name, file in record.files.items() if name in places}
        self.manifest.put(fresh, files)
        self.manifest.save([day])
        self._remove(*places)

    def convert(self, day: date) -> list[str]:
        """Write the files of a day anew in the partition of the dataset; list damaged ones.

        A day with a damaged file stays as it is.
        """
        identity, fresh = self.identity, {}
        is_daily, record = identity.partition == "day", self.manifest.day(day)
        files = [f for f in record.data_files(identity) if f.has_hour != is_daily]
        if damaged := [file.name for file in files if not self._is_sound(file.name, record)]:
            return damaged
        for file in files:
            tables = EventTables(identity.names, self.schema.sets[file.types])
            reader = HourReader(self.store.open, identity.form)
            with self.store.scratch() as folder, closing(reader):
                for hour, of_hour in file.hours.items():
                    pair = hour, reader.read(file.name, hour, tables)
                    (hour_file,) = write_file([pair], folder, identity, of_hour.asked_at, tables)
                    name = _beside(identity.own_name(hour, hour_file.record))
                    self.store.move_in(str(hour_file.file), name)
                    self._sizes[name] = hour_file.record.size
                    size, sha256 = hour_file.record.size, hour_file.record.sha256
                    fresh[hour] = replace(of_hour, size=size, sha256=sha256, file=name)
        if fresh:
            self.manifest.put(fresh)
            self.save_records([day])
            self.put_in_place(day)
            # Those that became one file.
            self._remove(*(of_hour.file for of_hour in fresh.values()))
        return []

    def _rewrite(self, sets: Collection[int]) -> Iterator[date]:
        """Write files of some sets of types anew, with the types of all files; yield their days."""
        identity = self.identity
        for day in self.manifest.days() if sets else ():
            for file in self.manifest.day(day).data_files(identity):
                if file.types not in sets:
                    continue
                yield day
                # The file of a day is written anew as one, at the next save.
                is_waiting = any(hour in self._waiting for hour in file.hours)
                if is_waiting or file.name in self.manifest.day(day).files:
                    self._outdated.add(day)
                    self.manifest.unsaved.add(day)
                    continue
                tables = EventTables(identity.names, self.schema.union)
                reader = HourReader(self.store.open, identity.form)
                for hour, record in file.hours.items():
                    with self.store.scratch() as folder:
                        with closing(reader):
                            pair, at = (hour, reader.read(file.name, hour, tables)), record.asked_at
                            (hour_file,) = write_file([pair], folder, identity, at, tables)
                        self.commit(hour_file, record.fingerprint)


def _beside(name: str) -> str:
    """Return the name of a file of the data while it is beside them."""
    return f"{JOURNAL}/{name.removeprefix(f'{DATA}/')}"


def days_beside(journal: Iterable[str]) -> list[date]:
    """List the days of which files were beside the data when a process was stopped."""
    begin = f"{JOURNAL}/date="
    days = {name.removeprefix(begin).partition("/")[0] for name in journal if begin in name}
    return sorted(map(date.fromisoformat, days))


def _replaced_hours(contents: Contents, journal: Iterable[str]) -> dict[Hour, HourRecord]:
    """Read the records of hours whose file was replaced, and whose manifest was not."""
    replaced, store = {}, contents.store
    for name in sorted(journal):
        try:
            hour = Hour.read(name.rpartition("/")[2].removesuffix(".json"))
            record = unseal(store.read(name), dict[str, HourRecord])["prepared"]
        except (KeyError, ValueError):
            continue
        current = contents.manifest.record(hour)
        if current and (current.sha256, current.asked_at) == (record.sha256, record.asked_at):
            # Its file may since have become one with those of other hours.
            continue
        part = contents.identity.part_name(hour, record)
        # Else the file is still the earlier part, and its record is still right.
        if not record.size or checksum(store, part) == record.sha256:
            replaced[hour] = record
    return replaced
