"""The records of a dataset: its identity, and one file per day that lists its hours."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from typing import Any, Self, cast, get_args

from adanalytics_client.dataset.layout import (
    IDENTITY,
    MANIFEST,
    Hour,
    PartFormat,
    hours_of,
    manifest_name,
)
from adanalytics_client.dataset.store import Store
from adanalytics_client.dataset.totals import Totals
from adanalytics_client.errors import DatasetDamaged

UNCONFIRMED = ""
"""The fingerprint of an hour whose day was not yet compared with the summary."""

_LAYOUT = 1
_CHECKSUM = "sha256"


class Damaged(ValueError):
    """The content differs from what was written."""


def seal(record: Mapping[str, Any]) -> bytes:
    r"""Encode a record as one line of JSON that holds its own checksum.

    >>> unseal(seal({"rows": 3}))
    {'rows': 3}
    """
    return _text({**record, _CHECKSUM: _digest(record)}).encode() + b"\n"


def unseal(content: bytes) -> dict[str, Any]:
    """Decode a record.

    Raises:
        Damaged: when it differs from what was written.
    """
    try:
        record = json.loads(content)
    except ValueError as error:
        raise Damaged(f"it is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise Damaged("it is not an object")
    claimed = record.pop(_CHECKSUM, None)
    if claimed != _digest(record):
        raise Damaged("its checksum does not match")
    return record


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(record).encode()).hexdigest()


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Identity:
    """The partner and service of a dataset's events, and the format of its files."""

    partner: str
    origin: str
    form: PartFormat

    @classmethod
    def read(cls, store: Store) -> Self | None:
        """Read the identity of a dataset; None where there is no dataset yet.

        Raises:
            DatasetDamaged: when it cannot be read.
        """
        content = store.read(IDENTITY)
        if content is None:
            return None
        try:
            record = unseal(content)
            if record["form"] not in get_args(PartFormat):
                raise Damaged(f"{record['form']!r} is not a format")
            form = cast("PartFormat", record["form"])
            return cls(str(record["partner"]), str(record["origin"]), form)
        except (KeyError, ValueError) as error:
            raise DatasetDamaged(
                f"{store.place}/{IDENTITY} is damaged: {error}.",
                remedy="Delete this one file; the next sync writes it again and keeps the data.",
            ) from None

    def write(self, store: Store) -> None:
        """Write the identity, which all later runs keep."""
        store.write(IDENTITY, seal({"layout": _LAYOUT, **asdict(self)}))


@dataclass(frozen=True, slots=True)
class HourRecord:
    """A committed hour.

    Attributes:
        rows: its number of events; an hour without events has no file.
        size: bytes of its file; 0 without a file.
        sha256: checksum of its file in hex; empty without a file.
        asked_at: the moment before its first page was requested, in UTC.
        fingerprint: of the summary row with which its day agrees; see `UNCONFIRMED`.
        totals: its counts and money; None if its events lack the fields to count them.
    """

    rows: int
    size: int
    sha256: str
    asked_at: datetime
    fingerprint: str
    totals: Totals | None = field(default_factory=Totals)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object for a sealed file."""
        return {
            "rows": self.rows,
            "size": self.size,
            "sha256": self.sha256,
            "asked_at": self.asked_at.isoformat(),
            "fingerprint": self.fingerprint,
            # Existing datasets have this key.
            "tally": self.totals.as_json() if self.totals else None,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read the object of `as_json`.

        Raises:
            Damaged: for anything else.
        """
        try:
            totals = record["tally"]
            return cls(
                rows=int(record["rows"]),
                size=int(record["size"]),
                sha256=str(record["sha256"]),
                asked_at=datetime.fromisoformat(record["asked_at"]),
                fingerprint=str(record["fingerprint"]),
                totals=Totals.from_json(totals) if totals is not None else None,
            )
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise Damaged(f"an hour lacks something: {error!r}") from None


@dataclass(frozen=True, slots=True)
class DayRecord:
    """The committed hours of a day, by hour."""

    day: date
    hours: Mapping[int, HourRecord] = field(default_factory=dict)

    def updated(self, fresh: Mapping[Hour, HourRecord]) -> "DayRecord":
        """Return the day with new records for some hours."""
        of_day = {hour.hour: record for hour, record in fresh.items() if hour.day == self.day}
        return replace(self, hours=dict(sorted({**self.hours, **of_day}.items())))

    @property
    def rows(self) -> int:
        """The number of events in all its hours."""
        return sum(record.rows for record in self.hours.values())

    @property
    def totals(self) -> Totals | None:
        """The counts and money of all its hours; None if some are not known."""
        return Totals.sum(record.totals for record in self.hours.values())

    @property
    def is_settled(self) -> bool:
        """Whether every hour of the day was requested after it was over."""
        return all(map(self._is_final, hours_of(self.day)))

    def due(self, now: datetime) -> list[Hour]:
        """List the hours that are over at a moment in UTC and were not requested since."""
        hours = hours_of(self.day)
        return [hour for hour in hours if hour.is_over(now) and not self._is_final(hour)]

    def _is_final(self, hour: Hour) -> bool:
        return hour.hour in self.hours and hour.is_over(self.hours[hour.hour].asked_at)


class Manifest:
    """The records of all days: loaded on first use, changed in memory, saved day by day."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._days: dict[date, DayRecord] = {}
        self._unsaved: set[date] = set()
        self.damaged: dict[date, str] = {}

    def day(self, day: date) -> DayRecord:
        """Return the record of a day; a damaged file is noted and counts as no record."""
        if day not in self._days:
            self._days[day] = self._load(day)
        return self._days[day]

    def record(self, hour: Hour) -> HourRecord | None:
        """Return the record of an hour."""
        return self.day(hour.day).hours.get(hour.hour)

    def put(self, fresh: Mapping[Hour, HourRecord]) -> None:
        """Set the records of hours, in memory until `save`."""
        for day in {hour.day for hour in fresh}:
            changed = self.day(day).updated(fresh)
            if changed != self.day(day):
                self._days[day] = changed
                self._unsaved.add(day)

    def forget(self, hours: Iterable[Hour]) -> None:
        """Drop the records of hours in memory; the file keeps them until the day is saved."""
        for hour in hours:
            record = self.day(hour.day)
            left = {number: of for number, of in record.hours.items() if number != hour.hour}
            self._days[hour.day] = replace(record, hours=left)

    def days(self) -> list[date]:
        """List every day that has a file, in order."""
        found = []
        for name in self._store.sizes(MANIFEST):
            try:
                found.append(date.fromisoformat(name.rpartition("/")[2].removesuffix(".json")))
            except ValueError:
                continue
        return sorted(found)

    def save(self, days: Iterable[date]) -> list[date]:
        """Write the files of the days that were changed, and return these days."""
        changed = sorted(self._unsaved.intersection(days))
        for day in changed:
            hours = {str(hour): of.as_json() for hour, of in self._days[day].hours.items()}
            self._store.write(manifest_name(day), seal({"day": str(day), "hours": hours}))
            self._unsaved.discard(day)
        return changed

    @property
    def unsaved(self) -> set[date]:
        """Days whose records changed since they were saved."""
        return {*self._unsaved}

    def _load(self, day: date) -> DayRecord:
        content = self._store.read(manifest_name(day))
        if content is None:
            return DayRecord(day)
        try:
            record = unseal(content)
            hours = {int(hour): HourRecord.from_json(of) for hour, of in record["hours"].items()}
        except (Damaged, KeyError, AttributeError, ValueError) as error:
            self.damaged[day] = str(error)
            return DayRecord(day)
        return DayRecord(day, dict(sorted(hours.items())))
