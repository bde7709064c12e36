"""What is known of each hour: one sealed file a day, replaced as a whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Self

from adanalytics_client.dataset.checksummed_json import Damaged, seal, unseal
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.layout import manifest_name
from adanalytics_client.dataset.store import Store
from adanalytics_client.dataset.totals import Tally


@dataclass(frozen=True, slots=True)
class HourRecord:
    """An hour as it was committed.

    Attributes:
        rows: events in it; an hour with none has no file.
        size: bytes of its file.
        sha256: checksum of its file in hex; empty without a file.
        asked_at: the moment before its first page was asked for, in UTC.
        fingerprint: of the day's summary as it was known then.
        tally: its counts and money, or None where the events do not show them.
    """

    rows: int
    size: int
    sha256: str
    asked_at: datetime
    fingerprint: str
    tally: Tally | None = field(default_factory=Tally)

    def as_json(self) -> dict[str, Any]:
        """For a sealed file."""
        return {
            "rows": self.rows,
            "size": self.size,
            "sha256": self.sha256,
            "asked_at": self.asked_at.isoformat(),
            "fingerprint": self.fingerprint,
            "tally": self.tally.as_json() if self.tally else None,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """What `as_json` gave. Raises Damaged for anything else."""
        try:
            tally = record["tally"]
            return cls(
                rows=int(record["rows"]),
                size=int(record["size"]),
                sha256=str(record["sha256"]),
                asked_at=datetime.fromisoformat(record["asked_at"]),
                fingerprint=str(record["fingerprint"]),
                tally=Tally.from_json(tally) if tally is not None else None,
            )
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise Damaged(f"an hour lacks something: {error!r}") from None


@dataclass(frozen=True, slots=True)
class DayRecord:
    """The hours of a day that were committed, by hour."""

    day: date
    hours: Mapping[int, HourRecord] = field(default_factory=dict)

    def with_hours(self, fresh: Mapping[int, HourRecord]) -> "DayRecord":
        """The day with some hours put in place of what was known of them."""
        return replace(self, hours=dict(sorted({**self.hours, **fresh}.items())))

    def without(self, hours: Iterable[int]) -> "DayRecord":
        """The day with nothing known of some hours."""
        gone = set(hours)
        return replace(self, hours={at: of for at, of in self.hours.items() if at not in gone})

    @property
    def rows(self) -> int:
        """Events of all its hours."""
        return sum(record.rows for record in self.hours.values())


class Manifest:
    """The records of all days, read when first asked for and written day by day."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._days: dict[date, DayRecord] = {}
        self.damaged: dict[date, str] = {}

    def day(self, day: date) -> DayRecord:
        """What is known of a day; a damaged file counts as nothing known, and is noted."""
        if day not in self._days:
            self._days[day] = self._load(day)
        return self._days[day]

    def record(self, hour: Hour) -> HourRecord | None:
        """What is known of an hour."""
        return self.day(hour.day).hours.get(hour.hour)

    def put(self, day: date, fresh: Mapping[int, HourRecord]) -> None:
        """Set hours of a day, for good."""
        self._save(self.day(day).with_hours(fresh))

    def forget(self, hours: Iterable[Hour]) -> None:
        """Know nothing of some hours, in memory: until they are pulled, a file says they are."""
        for hour in hours:
            self._days[hour.day] = self.day(hour.day).without([hour.hour])

    def days(self) -> list[date]:
        """Every day that has a file, in order."""
        found = []
        for name in self._store.sizes(manifest_name(date.min).rpartition("/")[0]):
            try:
                found.append(date.fromisoformat(name.rpartition("/")[2].removesuffix(".json")))
            except ValueError:
                continue
        return sorted(found)

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
        return DayRecord(day, hours)

    def _save(self, record: DayRecord) -> None:
        hours = {str(hour): of.as_json() for hour, of in record.hours.items()}
        content = seal({"day": str(record.day), "hours": hours})
        self._store.write(manifest_name(record.day), content)
        self._days[record.day] = record
