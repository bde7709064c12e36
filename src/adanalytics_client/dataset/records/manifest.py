"""The records of a dataset: its identity, and one file per day that lists its hours."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, NamedTuple, Self, TypeVar

import msgspec

from adanalytics_client._base.choices import PartFormat, Partition, TableFormat
from adanalytics_client._json.fields import FieldNames
from adanalytics_client._json.types import Types
from adanalytics_client.dataset.errors import DatasetDamaged, DatasetError
from adanalytics_client.dataset.hours.totals import Totals
from adanalytics_client.dataset.storage.local import Store

from .layout import DATA, HOURS, IDENTITY, MANIFEST, Hour, hours_of

T = TypeVar("T")

LAYOUT_OF: Mapping[Partition, int] = {"hour": 2, "day": 3}
"""The version of the files and records for each partition; another version has others."""

UNCONFIRMED = ""
"""The fingerprint of an hour whose day was not yet compared with the summary."""

OUTDATED = "outdated"
"""That of an hour whose day was restated since, and whose new events did not agree."""

_CHECKSUM = "sha256"


class Damaged(ValueError):
    """The content differs from what was written."""


def seal(record: object) -> bytes:
    """Encode a record as one line of JSON that holds its own checksum."""
    # A time of another class, such as that of pandas or freezegun, is written as its text.
    plain = msgspec.to_builtins(record, str_keys=True, enc_hook=str)
    return _text({**plain, _CHECKSUM: _digest(plain)}).encode() + b"\n"


def unseal(content: bytes | None, kind: type[T]) -> T:
    """Decode a record into an instance of `kind`.

    Raises:
        Damaged: when there is no content, or it differs from what was written.
    """
    try:
        record = json.loads(content or b"")
    except ValueError as error:
        raise Damaged(f"it is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise Damaged("it is not an object")
    claimed = record.pop(_CHECKSUM, None)
    # Of the meaning and not of the bytes: a file that was formatted anew is not damaged.
    if claimed != _digest(record):
        raise Damaged("its checksum does not match")
    try:
        return msgspec.convert(record, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise Damaged(str(error)) from None


def read_record(store: Store, name: str, kind: type[T]) -> T | None:
    """Read a record from its file; None if it is missing or damaged."""
    with suppress(Damaged):
        return unseal(store.read(name), kind)
    return None


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(record).encode()).hexdigest()


def _text(record: Mapping[str, Any]) -> str:
    # In their order, which of columns is part of the record.
    return json.dumps(record, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Identity:
    """The partner and service of a dataset's events, and the format of its files and table.

    The `zone` is the time zone of its days and hours; `fields` and `time_field` are the service's
    names of documented fields. `table_name` and `catalog` say where an Iceberg table is, if not
    under its usual name and in the default catalog.
    """

    partner: str
    origin: str
    form: PartFormat
    layout: int = LAYOUT_OF["hour"]
    table: TableFormat | None = None
    zone: str = "UTC"
    fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    time_field: str | None = None
    table_name: str | None = None
    catalog: str | None = None

    @property
    def partition(self) -> Partition:
        """What the folders of the dataset divide."""
        return next(name for name, layout in LAYOUT_OF.items() if layout == self.layout)

    def may_join(self, day: date, asked_at: datetime) -> bool:
        """Return whether all hours of a day become one file: it was over at that moment."""
        return self.partition == "day" and Hour(day, HOURS - 1).is_over(asked_at)

    @property
    def names(self) -> FieldNames:
        """The names by which the service sends documented fields."""
        return FieldNames(self.fields, self.time_field)

    @classmethod
    def read(cls, store: Store) -> Self | None:
        """Read the identity of a dataset; None where there is no dataset yet.

        Raises:
            DatasetDamaged: when it cannot be read.
            DatasetError: when the dataset has a layout that this version does not know.
        """
        content = store.read(IDENTITY)
        if content is None:
            return None
        # First, because all else may differ there, the checksum included: that is no damage.
        _check_layout(content, store.place)
        try:
            return unseal(content, cls)
        except Damaged as error:
            raise DatasetDamaged(
                f"{store.place}/{IDENTITY} is damaged: {error}.",
                remedy="Delete this one file; a sync of its format and table writes it again and "
                "keeps the data.",
            ) from None

    @classmethod
    def require(cls, store: Store) -> Self:
        """Read the identity of a dataset.

        Raises:
            DatasetError: when there is no dataset, or as for `read`.
        """
        identity = cls.read(store)
        if identity is None:
            raise DatasetError(
                f"There is no dataset at {store.place}.", remedy="Make one with a sync."
            )
        return identity

    def part_name(self, hour: Hour, record: "HourRecord | None") -> str:
        """Return the name of the file that holds an hour, by its record."""
        return record.file if record and record.file else self._hourly_name(hour, record)

    def own_name(self, hour: Hour, record: "HourRecord") -> str:
        """Return the name that a file of this hour alone gets, whatever file holds it now."""
        if self.partition == "hour":
            return self._hourly_name(hour, record)
        return f"{DATA}/date={hour.day}/hour-{hour.hour:02}{self._mark(record.sha256)}.{self.form}"

    def day_name(self, day: date, sha256: str = "") -> str:
        """Return the name of the file that holds a day."""
        return f"{DATA}/date={day}/day{self._mark(sha256)}.{self.form}"

    def names_of(self, day: date) -> Iterator[str]:
        """Yield every name that a file of a day may have if there is no table."""
        yield self.day_name(day)
        for hour in hours_of(day):
            yield self._hourly_name(hour, None)
            yield f"{DATA}/date={day}/hour-{hour.hour:02}.{self.form}"

    def _hourly_name(self, hour: Hour, record: "HourRecord | None") -> str:
        mark = self._mark(record.sha256 if record else "") or "-0"
        return f"{DATA}/date={hour.day}/hour={hour.hour:02}/part{mark}.{self.form}"

    def _mark(self, sha256: str) -> str:
        """Return the end of a name that a table lists: other content has another name."""
        return f"-{sha256[:16]}" if sha256 and self.table else ""

    def day_folder(self, day: date) -> str:
        """Return how the names of all files of a day begin."""
        return f"{DATA}/date={day}/"

    def format_text(self) -> str:
        return f"{self.form}+{self.table}" if self.table else self.form

    @property
    def table_text(self) -> str:
        """The name and the catalog of an Iceberg table, for messages."""
        name = self.table_name or f"adanalytics.{self.partner}"
        return f"{name} in {self.catalog}" if self.catalog else name


def _check_layout(content: bytes, place: str) -> None:
    """Refuse a dataset of a layout that this version does not know."""
    try:
        record = json.loads(content)
    except ValueError:
        return
    layouts = [*LAYOUT_OF.values()]
    if isinstance(record, dict) and record.get("layout", layouts[0]) not in layouts:
        raise DatasetError(
            f"{place} was made by another version of this package: it has the layout "
            f"{record['layout']}, and this version knows {' and '.join(map(str, layouts))}.",
            remedy="Install the other version, or make a new dataset with a sync.",
        )


class HourRecord(msgspec.Struct, frozen=True):
    """A committed hour.

    Attributes:
        rows: its number of events; an hour without events has no file.
        size: bytes of the file that was written for this hour, or its share, by events, of a file
            that was written for several; 0 without events.
        sha256: checksum of that file in hex; empty without events.
        asked_at: the moment before its first page was requested, in the time zone of the service.
        fingerprint: the fingerprint of the summary row that its day agrees with, `UNCONFIRMED` or
            `OUTDATED`.
        types: the number of the types of its file's columns; see `schema`.
        totals: its counts and sums; None if they are not known.
        file: the name of the file that holds it; empty for the name of a dataset of hourly files.
        repeated: the number of events with the id and the content of an earlier one, which the
            service stores more than once.
    """

    rows: int
    size: int
    sha256: str
    asked_at: datetime
    fingerprint: str
    totals: Totals | None = msgspec.field(default_factory=Totals)
    types: int = 0
    file: str = ""
    repeated: int = 0

    @property
    def has_agreed(self) -> bool:
        """Whether its day agrees with a row of the summary, as far as is known."""
        return self.fingerprint not in {UNCONFIRMED, OUTDATED}


class FileRecord(msgspec.Struct, frozen=True):
    """The size in bytes, and the checksum in hex, of a file that holds several hours."""

    size: int
    sha256: str


class DataFile(NamedTuple):
    """A file of events, as the records of its day describe it.

    Attributes:
        name: its name below the dataset.
        day: the day of its events.
        hours: the records of its hours, in the order of their rows in the file.
        size: bytes of the file.
        sha256: checksum of the file in hex.
    """

    name: str
    day: date
    hours: Mapping[Hour, HourRecord]
    size: int
    sha256: str

    @property
    def rows(self) -> int:
        return sum(record.rows for record in self.hours.values())

    @property
    def types(self) -> int:
        """The number of the types of its columns; see `schema`."""
        return next(record.types for record in self.hours.values())

    @property
    def has_hour(self) -> bool:
        """Whether a column of the file states the hour; otherwise only the folder's name does."""
        return "/hour=" not in self.name


@dataclass(frozen=True, slots=True)
class FinishedHour:
    """An hour whose file is complete and ready to be moved to its name.

    Attributes:
        record: its record, not yet compared with the summary.
        file: the path of the file on this machine, or the file's name in the store; None for an
            hour without events.
        types: the types of its file's columns.
        mixed: columns that became text because their values have no common type.
        is_held: whether the dataset holds these events already; without `shared`, its file stays.
        shared: the file's size and checksum, if it holds all hours of the day with events; also
            that of an hour without events.
    """

    hour: Hour
    record: HourRecord
    file: str | None = None
    types: Types = field(default_factory=dict)
    mixed: tuple[str, ...] = ()
    is_held: bool = False
    shared: FileRecord | None = None


FORMER_KEPT = 20
"""The most former totals that the record of a day keeps; the oldest go first."""


@dataclass(frozen=True, slots=True)
class FormerTotals:
    """The totals of a day before the service restated it.

    Attributes:
        rows: the number of events.
        noticed_at: the moment before the first request of the pull that showed the change, in the
            time zone of the service.
    """

    rows: int
    totals: Totals | None
    noticed_at: datetime


@dataclass(frozen=True, slots=True)
class DayRecord:
    """The committed hours of a day, by hour.

    Attributes:
        former: its totals before each restatement, in the order of time.
        files: the files that hold several hours, by their names; their hours name them as `file`.
    """

    day: date
    hours: Mapping[int, HourRecord] = field(default_factory=dict)
    former: tuple[FormerTotals, ...] = ()
    files: Mapping[str, FileRecord] = field(default_factory=dict)

    def updated(
        self, fresh: Mapping[Hour, HourRecord], files: Mapping[str, FileRecord] | None = None
    ) -> "DayRecord":
        """Return the record with other hours, and other files that hold several of them."""
        of_day = {hour.hour: record for hour, record in fresh.items() if hour.day == self.day}
        return self.with_hours({**self.hours, **of_day}, {**self.files, **(files or {})})

    def with_hours(
        self, hours: Mapping[int, HourRecord], files: Mapping[str, FileRecord]
    ) -> "DayRecord":
        """Return the record with these hours only, and those of `files` that hold one of them."""
        used = {record.file for record in hours.values()}
        files = {name: file for name, file in files.items() if name in used}
        return replace(self, hours=dict(sorted(hours.items())), files=files)

    def data_files(self, identity: Identity) -> list[DataFile]:
        """List the files that hold the events of the day, in the order of their first hours."""
        hours = dict[str, dict[Hour, HourRecord]]()
        for hour, record in self.by_hour.items():
            if record.size:
                hours.setdefault(identity.part_name(hour, record), {})[hour] = record
        files = []
        for name, records in hours.items():
            # A file of one hour is described by the record of the hour.
            file = self.files.get(name) or next(iter(records.values()))
            files.append(DataFile(name, self.day, records, file.size, file.sha256))
        return files

    @property
    def by_hour(self) -> dict[Hour, HourRecord]:
        return {Hour(self.day, number): record for number, record in self.hours.items()}

    @property
    def rows(self) -> int:
        return sum(record.rows for record in self.hours.values())

    @property
    def totals(self) -> Totals | None:
        """The counts and sums of all its hours; None if some are not known."""
        return Totals.sum(record.totals for record in self.hours.values())

    @property
    def is_settled(self) -> bool:
        """Whether every hour of the day was requested after it was over."""
        return all(map(self._is_final, hours_of(self.day)))

    @property
    def is_agreed(self) -> bool:
        """Whether the day is settled, and all of it has agreed with the service."""
        return all(hour.has_agreed for hour in self.hours.values()) and self.is_settled

    def due(self, now: datetime) -> list[Hour]:
        """List hours that are over at a given moment in UTC but not requested since they ended."""
        hours = hours_of(self.day)
        return [hour for hour in hours if hour.is_over(now) and not self._is_final(hour)]

    def _is_final(self, hour: Hour) -> bool:
        return hour.hour in self.hours and hour.is_over(self.hours[hour.hour].asked_at)


class Manifest:
    """The records of all days: loaded on first use, changed in memory, saved day by day."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._days: dict[date, DayRecord] = {}
        # Days whose records changed since they were saved.
        self.unsaved: set[date] = set()
        self.damaged: dict[date, str] = {}

    def day(self, day: date) -> DayRecord:
        """Return the record of a day; a damaged file is noted and counts as no record."""
        if day not in self._days:
            self.records([day])
        return self._days[day]

    def records(self, days: Iterable[date]) -> list[DayRecord]:
        """Return the records of days; in object storage, to read them together takes less time."""
        days = [*days]
        names = {day: f"{MANIFEST}/{day}.json" for day in days if day not in self._days}
        for day, content in zip(names, self._store.read_all([*names.values()]), strict=True):
            record = DayRecord(day)
            try:
                if content is not None:
                    record = unseal(content, DayRecord)
            except Damaged as error:
                self.damaged[day] = str(error)
            # By the name of the file, whatever it says itself.
            self._days[day] = replace(record, day=day, hours=dict(sorted(record.hours.items())))
        return [self._days[day] for day in days]

    def record(self, hour: Hour) -> HourRecord | None:
        return self.day(hour.day).hours.get(hour.hour)

    def put(
        self, fresh: Mapping[Hour, HourRecord], files: Mapping[str, FileRecord] | None = None
    ) -> None:
        """Set the records of hours, and of files that hold several, in memory; `save` writes them.

        The files are all of the day of the hours.
        """
        for day in {hour.day for hour in fresh}:
            changed = self.day(day).updated(fresh, files)
            # A day that stays as it is needs no file to be written.
            if changed != self.day(day):
                self._days[day] = changed
                self.unsaved.add(day)

    def keep_totals(self, day: date, noticed_at: datetime) -> None:
        """Note in memory that the service restated a day; its totals become former ones."""
        record = self.day(day)
        former = FormerTotals(record.rows, record.totals, noticed_at)
        formers = (*record.former, former)[-FORMER_KEPT:]
        self._days[day] = replace(record, former=formers)
        self.unsaved.add(day)

    def forget(self, hours: Iterable[Hour]) -> None:
        """Drop the records of hours in memory; the file keeps them until the day is saved."""
        for hour in hours:
            record = self.day(hour.day)
            rest = {
                number: hour_record
                for number, hour_record in record.hours.items()
                if number != hour.hour
            }
            self._days[hour.day] = record.with_hours(rest, record.files)

    def days(self) -> list[date]:
        """List every day that has a file, in order."""
        days = []
        for name in self._store.sizes(MANIFEST):
            try:
                days.append(date.fromisoformat(name.rpartition("/")[2].removesuffix(".json")))
            except ValueError:
                continue
        return sorted(days)

    def save(self, days: Collection[date]) -> None:
        for day in sorted(self.unsaved.intersection(days)):
            self._store.write(f"{MANIFEST}/{day}.json", seal(self._days[day]))
            self.unsaved.discard(day)
            self.damaged.pop(day, None)
