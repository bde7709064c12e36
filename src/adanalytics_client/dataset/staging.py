"""Hours that wait for their day, until the events of the day add up.

An hour that holds no events yet gets its file at once or, if its day is over and new, as part of
the file of its day, once all hours have arrived. If it already holds events, the new file waits
until its day is complete. The events of a complete day, held and new, must then add up to
the summary and, if the day is over, to the service's own count. Only then are held events replaced;
a day that never adds up is rejected.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from itertools import chain

from adanalytics_client import Observer
from adanalytics_client._base.observer import notify
from adanalytics_client._base.remedies import remedy
from adanalytics_client.errors import ProtocolError, Remedy
from adanalytics_client.observers import HourWritten

from .changes import changes_of
from .hours.compare import DayComparison, compare_day
from .hours.files import is_small
from .pull.fetch import Pulled
from .pull.spool import Spool
from .records.contents import Contents
from .records.layout import Hour, hours_of
from .records.manifest import OUTDATED, UNCONFIRMED, DayRecord, FinishedHour
from .report import FailedQuery, SyncReport
from .schema import tell_hours
from .service import ServiceDays

_HoursByDay = defaultdict[date, dict[Hour, FinishedHour]]


class Staging:
    """Takes the results of queries, and commits their hours.

    The report receives each committed hour, and how days and hours have changed.

    Attributes:
        wanted: the hours that were expected so far.
        uncounted: days that agree with the summary and wait for the service's own count, each with
            its number of events.
        differing: complete days that do not agree with the service, each with its difference.
        losses: the hours of days that are not over that arrived with fewer events than are held,
            each with its number of events.
    """

    def __init__(
        self,
        contents: Contents,
        service: ServiceDays,
        report: SyncReport,
        observer: Observer,
    ) -> None:
        self.wanted: set[Hour] = set()
        self.uncounted: dict[date, int] = {}
        self.differing: dict[date, str] = {}
        self.losses: dict[Hour, int] = {}
        self._contents = contents
        self._service = service
        self._report = report
        self._observer = observer
        # The number of expected hours of each day that have not arrived.
        self._outstanding: Counter[date] = Counter()
        # Hours that wait for the rest of their day, because they replace held events.
        self._staged: _HoursByDay = defaultdict(dict)
        # Hours of days without events, which wait for the rest to become one file.
        self._new: _HoursByDay = defaultdict(dict)
        # Hours whose file replaces none.
        self._fresh: set[Hour] = set()
        self._spools: list[Spool] = []
        self._miscounted: set[date] = set()

    def expect(self, hours: Iterable[Hour]) -> None:
        """Prepare for hours to arrive, some perhaps again."""
        hours = [*hours]
        for hour in hours:
            self._staged[hour.day].pop(hour, None)
            self._new[hour.day].pop(hour, None)
        self._clear_spools()
        self.wanted.update(hours)
        self._outstanding.update(hour.day for hour in hours)
        self._report.wanted = len(self.wanted)

    def add(self, pulled: Pulled) -> None:
        """Commit hours that replace no events; hold back others until their day is complete.

        So are those of a day that becomes one file, unless they are too large for that.
        """
        self._spools.append(pulled.spool)
        for finished in self._contents.reuse(pulled.hours):
            hour, asked_at = finished.hour, finished.record.asked_at
            self._outstanding[hour.day] -= 1
            previous = self._contents.manifest.record(hour)
            of_day = self._contents.manifest.day(hour.day)
            has_rows = of_day.rows if finished.shared else previous and previous.rows
            # An agreed day is replaced as a whole, because its totals are to be kept.
            if has_rows or of_day.is_agreed:
                self._staged[hour.day][hour] = finished
            elif not of_day.rows and self._contents.identity.may_join(hour.day, asked_at):
                new = self._new[hour.day]
                new[hour] = finished
                # The pages of a large day, which keeps hours, would need much room.
                if not is_small(sum(waiting.record.rows for waiting in new.values())):
                    self._commit_new(hour.day)
            else:
                self._commit(finished, UNCONFIRMED)
                self._fresh.add(hour)
        for day in sorted({hour.day for hour in pulled.spool.query.wanted}):
            if not self._outstanding[day]:
                self._commit_new(day)
                self.compare(day)
        self._clear_spools()

    def _commit_new(self, day: date) -> None:
        """Commit the hours of a day without events; of a complete one, they become one file."""
        for finished in self._new[day].values():
            self._commit(finished, UNCONFIRMED, waits=True)
            self._fresh.add(finished.hour)
        self._contents.save([day])
        # Not before: what is kept of their queries goes with the last of them.
        del self._new[day]

    def close(self) -> None:
        """Commit the hours of days that did not become complete."""
        for day in sorted(self._new):
            self._commit_new(day)
        self._clear_spools()

    def _commit(self, finished: FinishedHour, fingerprint: str, *, waits: bool = False) -> None:
        hour, rows = finished.hour, finished.record.rows
        previous = self._contents.manifest.record(hour)
        self._contents.commit(finished, fingerprint, waits=waits)
        changed = self._report.changed
        before = changed.get(hour, (previous.rows if previous else 0, 0))[0]
        # A held hour was compared and kept, and an empty one that stays empty is no change.
        if not finished.is_held and (before or rows):
            changed[hour] = before, rows
        self._report.hours[hour] = rows
        notify(self._observer.written, HourWritten(str(hour), rows, committed=True))

    def _clear_spools(self) -> None:
        """Remove the kept pages of queries whose hours are committed or rejected."""
        days = chain(self._staged.values(), self._new.values())
        waiting = {*chain.from_iterable(days)}
        done = [spool for spool in self._spools if waiting.isdisjoint(spool.query.wanted)]
        for spool in done:
            self._spools.remove(spool)
            spool.clear()

    def compare(self, day: date) -> None:
        """Compare a complete day with the summary.

        If they agree, a day that is over waits for `take_counts`; another is committed.
        """
        self.uncounted.pop(day, None)
        self.differing.pop(day, None)
        self._miscounted.discard(day)
        for hour in hours_of(day):
            self.losses.pop(hour, None)
        record = self._complete_record(day)
        if record.is_settled:
            difference = self._comparison(record).difference
        else:
            # The summary of a day that is not over is older than the responses to come: it may
            # state fewer events than there are. Hours that have not started may have some, too.
            previous = self._contents.manifest.day(day)
            losses = {
                hour: finished.record.rows
                for hour, finished in self._staged[day].items()
                if hour.hour in previous.hours
                and finished.record.rows < previous.hours[hour.hour].rows
            }
            empty = self._contradicted_hours(day)
            difference = f"{empty[0]} has no events, and the day lacks some" if empty else ""
            if losses:
                self.losses |= losses
                difference = f"{next(iter(losses))} has fewer events than before"
        if difference:
            self.differing[day] = difference
        elif record.is_settled:
            self.uncounted[day] = record.rows
            self._contents.save([day])
        else:
            self._confirm(day)

    def take_totals(self, totals: Mapping[Hour, int | None]) -> None:
        """Commit the days whose hours lost events, if the service's totals of the hours agree.

        A day that then has fewer events than the summary counts is not committed.
        """
        for day in sorted({hour.day for hour in self.losses}):
            hours = [hour for hour in self.losses if hour.day == day]
            # Events are removed only if two sources of the service agree about each hour.
            is_confirmed = all(totals.get(hour) == self.losses[hour] for hour in hours)
            if is_confirmed and not self._comparison(self._complete_record(day)).lacks_events:
                del self.differing[day]
                self._confirm(day)
        self.losses.clear()
        self._clear_spools()

    def take_counts(
        self, differences: Mapping[date, str], uncounted: Collection[date] = ()
    ) -> None:
        """Commit the days that wait, except those whose events differ from the service's count.

        Args:
            differences: how each of those days differs, in words.
            uncounted: the days that the next sync has to count.
        """
        for day in sorted(self.uncounted.keys() - differences.keys()):
            self._confirm(day)
            if day in uncounted:
                self._doubt(day)
        self.uncounted.clear()
        self.differing.update(differences)
        self._miscounted |= differences.keys()
        self._clear_spools()

    def _confirm(self, day: date) -> None:
        """Commit the staged hours of a day, and record that it agrees with the service."""
        record, fingerprint = self._complete_record(day), self._service.state(day).fingerprint
        is_settled = record.is_settled
        previous = self._contents.manifest.day(day)
        if (previous.rows, previous.totals) != (record.rows, record.totals):
            self._keep_totals(day)
            # First, so that a stop amid the hours neither loses the totals nor takes others for
            # them.
            self._contents.save([day])
        confirmed = [
            hour
            for hour, hour_record in record.by_hour.items()
            if is_settled or hour_record.fingerprint == UNCONFIRMED
        ]
        staged = self._staged[day]
        for hour in [*staged]:
            self._commit(staged.pop(hour), fingerprint, waits=is_settled)
        self._contents.mark(confirmed, fingerprint)
        self._contents.save([day])
        changes = changes_of(self._contents.manifest.day(day))[-1:]
        if previous.is_settled and changes != changes_of(previous)[-1:]:
            self._report.restated += changes

    def _keep_totals(self, day: date) -> None:
        """Keep the totals of a day that agreed with the service and was restated since.

        Its hours are marked, because until it agrees again, its totals are not worth keeping.
        """
        staged = [finished.record.asked_at for finished in self._staged[day].values()]
        if staged and self._contents.manifest.day(day).is_agreed:
            self._contents.manifest.keep_totals(day, min(staged))
            self._doubt(day)

    def _doubt(self, day: date) -> None:
        """Mark the hours of a day that does not agree with the service.

        Those that were pulled before the day was restated stay known as such: a summary that does
        not contradict their events is no proof that they have not changed.
        """
        fingerprint = self._service.state(day).fingerprint
        for hour, record in self._contents.manifest.day(day).by_hour.items():
            is_current = record.fingerprint in {fingerprint, UNCONFIRMED}
            self._contents.mark([hour], UNCONFIRMED if is_current else OUTDATED)

    def compare_again(self, service: ServiceDays, asked_twice: set[date]) -> list[Hour]:
        """Compare differing days with a new summary; list the hours to pull once more.

        Days in `asked_twice` are not pulled again.
        """
        self._service = service
        for day in self.differing.keys() - self._miscounted:
            self.compare(day)
        hours = sorted(self.differing.keys() - asked_twice)
        return [hour for day in hours for hour in self._hours_again(day)]

    def _hours_again(self, day: date) -> list[Hour]:
        """List the hours to pull again: all of a day that is over, otherwise the doubtful ones."""
        if self._complete_record(day).is_settled:
            return [*hours_of(day)]
        return sorted({*self._staged[day], *self._contradicted_hours(day)})

    def _contradicted_hours(self, day: date) -> list[Hour]:
        """List the hours without events, if the day has fewer events than the summary states."""
        record = self._complete_record(day)
        empty = [hour for hour, hour_record in record.by_hour.items() if not hour_record.rows]
        return empty if self._comparison(record).lacks_events else []

    def is_doubtful(self, day: date) -> bool:
        """Return whether the summary and the events of a day have figures that nothing compares."""
        return self._comparison(self._complete_record(day)).is_doubtful

    def _comparison(self, record: DayRecord) -> DayComparison:
        figures = self._service.state(record.day).figures
        return compare_day(record.totals, figures, self._contents.identity.names)

    def _complete_record(self, day: date) -> DayRecord:
        """Return the record that a day would have with its staged hours committed."""
        staged = {hour: finished.record for hour, finished in self._staged[day].items()}
        return self._contents.manifest.day(day).updated(staged)

    def reject(self) -> Iterator[FailedQuery]:
        """Keep the earlier events of days that still differ, and yield a description of each day.

        The next sync begins with these days. It would find nothing wrong with a day that differs
        only from its count, so the hours that replaced nothing are removed.
        """
        for day, difference in sorted(self.differing.items()):
            self._keep_totals(day)
            cause, advice = self._cause(day)
            rejected = sorted(hour for hour in self.wanted if hour.day == day)
            for hour in rejected:
                self._staged[day].pop(hour, None)
                self._report.hours.pop(hour, None)
            self._clear_spools()
            # By the count alone: hours that are new may be those with too many events.
            if day in self._miscounted:
                discarded = self._fresh.intersection(rejected)
                self._contents.discard(day, discarded)
                for hour in discarded:
                    self._report.changed.pop(hour, None)
            self._doubt(day)
            message = f"The events of {day} do not agree with the service: {difference}.{cause}"
            yield FailedQuery(str(day), ProtocolError.__name__, message, tuple(rejected), advice)

    def _cause(self, day: date) -> tuple[str, Remedy]:
        """Return what may be the cause of a difference, as a further sentence, and the remedy."""
        parts = self._complete_record(day).by_hour.values()
        numbers = {part.rows for part in parts}
        # A range that leaves out its end would bring none, either.
        if not any(numbers):
            return "", remedy("end_of_range")
        types, names = self._contents.schema.union, self._contents.identity.names
        if len(parts) > len(numbers) == 1 and not tell_hours(types, names):
            text = f" Each hour has {max(numbers):,}, as if the service ignored the hour, and the"
            return f"{text} events have no field with a known time.", remedy("time_field")
        return "", Remedy()
