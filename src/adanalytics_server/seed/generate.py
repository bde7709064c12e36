"""Generate an exact number of realistic events, the same for the same seed on every machine."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil

from adanalytics_server.clock import MILLISECONDS_PER_DAY, MILLISECONDS_PER_HOUR
from adanalytics_server.loading.load import OnProgress, reporting
from adanalytics_server.loading.values import FIRST_DAY
from adanalytics_server.storage.days import day_number
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import Ingested, ingest
from adanalytics_server.storage.store import PartnerStore

from .auction import LONGEST, Auctions
from .catalogue import NAMES

# Requests by hour of the day, UTC: quiet nights, busy evenings.
HOUR_WEIGHTS = (
    *(22, 16, 12, 10, 10, 13, 20, 30, 38, 42, 44, 46),
    *(50, 48, 46, 46, 48, 52, 60, 68, 70, 62, 48, 34),
)
# Events held in memory, in addition to those of the auctions in progress.
SLOT_EVENTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Events to generate.

    Attributes:
        start: the first day, in UTC.
        days: the number of days.
        events_per_day: the number of events on each day.
        seed: the same seed generates the same events.
    """

    start: date = date(2026, 1, 15)
    days: int = 1
    events_per_day: int = 2_000
    seed: int = 0


class GenerateError(ValueError):
    """Invalid days or numbers of events; the text says why."""


def generate(
    store: PartnerStore,
    sample: Sample,
    *,
    partner_id: str,
    currency: str,
    progress: OnProgress | None = None,
) -> Ingested:
    """Generate events and store them, each day in one step.

    A day depends on the seed, the partner, the date and ``events_per_day`` only, not on the
    other days; generating it again adds nothing. ``progress`` is called every few thousand events,
    and at the end.

    Raises:
        GenerateError: ``days`` or ``events_per_day`` is less than 1, or a day is outside the
            years 1000 to 9999.
        sqlite3.OperationalError: another load has locked the partner's files.
        DiskFull: the disk is full; earlier days are stored.
    """
    events_per_day, count = sample.events_per_day, 0
    if events_per_day < 1:
        raise GenerateError("events per day must be at least 1")
    total = sample.days * events_per_day
    for number, day in enumerate(_days(sample.start, sample.days)):
        # Each day has a seed of its own, so a day is the same in every range.
        key = f"adanalytics/{sample.seed}/{partner_id}/{day.isoformat()}/{events_per_day}"
        auctions = Auctions(
            key,
            partner_id=partner_id,
            currency=currency,
            day=day_number(day) * MILLISECONDS_PER_DAY,
        )
        records = reporting(
            _in_order(auctions, day_number(day), events_per_day),
            "generating",
            total=total,
            report=progress or (lambda _: None),
            start=number * events_per_day,
        )
        count += ingest(store, records, names=NAMES).stored
    return Ingested(stored=count, duplicates=total - count)


def events_by_hour(events: int) -> list[int]:
    """Split the events of a day over its 24 hours, exactly."""
    total = sum(HOUR_WEIGHTS)
    # Differences of a running share: a later hour gets what rounding takes from an earlier one.
    shares = [events * sum(HOUR_WEIGHTS[:hour]) // total for hour in range(25)]
    return [shares[hour + 1] - shares[hour] for hour in range(24)]


def _days(start: date, days: int) -> tuple[date, ...]:
    if days < 1:
        raise GenerateError("the number of days must be at least 1")
    if days > (date.max - start).days + 1:
        raise GenerateError(f"{days} days from {start} end after {date.max}")
    if start < FIRST_DAY:
        raise GenerateError(f"{start} is before {FIRST_DAY}, the first day that can be stored")
    return tuple(start + timedelta(days=number) for number in range(days))


def _in_order(auctions: Auctions, day: int, events: int) -> Iterator[Record]:
    """Yield a day's records by time and id, one slot of an hour after another."""
    buffer = []
    day_end = (day + 1) * MILLISECONDS_PER_DAY
    for hour, count in enumerate(events_by_hour(events)):
        start = day * MILLISECONDS_PER_DAY + hour * MILLISECONDS_PER_HOUR
        slots = ceil(count / SLOT_EVENTS)
        for slot in range(slots):
            first = start + slot * MILLISECONDS_PER_HOUR // slots
            end = start + (slot + 1) * MILLISECONDS_PER_HOUR // slots
            missing = count * (slot + 1) // slots - count * slot // slots
            while missing:
                records = auctions.auction(earliest=first, width=end - first, limit=missing)
                missing -= len(records)
                buffer += records
            buffer.sort()
            # An auction near midnight starts earlier, so that its last event is within the day.
            size = bisect_left(buffer, (min(end, day_end - LONGEST),))
            yield from buffer[:size]
            del buffer[:size]
    yield from buffer
