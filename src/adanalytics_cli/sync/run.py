"""One sync: compare what is held with what the service says, and pull the difference."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from adanalytics_cli.periods import Span
from adanalytics_cli.sync.arrow_events import EventTables
from adanalytics_cli.sync.dataset import Dataset
from adanalytics_cli.sync.freshness import (
    DayNeed,
    Reason,
    find_need,
    is_explained,
    is_settled,
)
from adanalytics_cli.sync.hours import Hour, hours_of
from adanalytics_cli.sync.pull import Pull
from adanalytics_cli.sync.report import BadHour
from adanalytics_cli.sync.service import ServiceView
from adanalytics_cli.sync.spool import Spool
from adanalytics_cli.sync.workers import Workers

if TYPE_CHECKING:
    from adanalytics_client import Client


@dataclass(frozen=True, slots=True)
class Order:
    """What a run is asked for: a range or everything, and so many last days in any case."""

    span: Span | None = None
    repull: int = 0


@dataclass(slots=True)
class Outcome:
    """What a run did.

    Attributes:
        began: when it began.
        pulled: hours that were put in place, with their events.
        damaged: what was found broken, and was pulled again.
        bad: hours that could not be pulled.
        wanted: how many hours were to be pulled.
    """

    began: datetime
    pulled: dict[Hour, int] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    bad: list[BadHour] = field(default_factory=list)
    wanted: int = 0

    @property
    def left(self) -> int:
        """Hours that were to be pulled and are not."""
        return self.wanted - len(self.pulled)

    @property
    def events(self) -> int:
        """Events of the hours that were put in place."""
        return sum(self.pulled.values())


class Sync:
    """Brings a dataset up to date.

    Args:
        client: what to ask with.
        dataset: what to bring up to date; its lock is held.
        order: what is asked for.
        clock: the present moment in UTC.
        expect: told how many hours will be pulled.
    """

    def __init__(
        self,
        client: "Client",
        dataset: Dataset,
        order: Order,
        clock: Callable[[], datetime],
        expect: Callable[[int], None],
    ) -> None:
        self._client = client
        self._dataset = dataset
        self._order = order
        self._clock = clock
        self._expect = expect
        self._needs: dict[date, DayNeed] = {}
        self.outcome = Outcome(clock())

    def run(self) -> Outcome:
        """Do it, and say what was done. Until it ends, `outcome` says what was done so far.

        Raises UsedUp when the run may not go on, and AdAnalyticsError for what concerns more
        than one hour; what was committed before stays.
        """
        self._dataset.journal.recover(self._dataset.manifest)
        view = ServiceView(self._client, self._order.span, self._dataset.manifest.days())
        if view.span is None:
            return self.outcome
        self._find_needs(view, view.span)
        self._pull(self._asked())
        if not self.outcome.left and (restated := self._find_unexplained()):
            self._pull(restated)
        return self.outcome

    def _find_needs(self, view: ServiceView, span: Span) -> None:
        days = [span.first + timedelta(n) for n in range((span.last - span.first).days + 1)]
        manifest = self._dataset.manifest
        damage = self._dataset.find_damage(hour for day in days for hour in hours_of(day))
        self.outcome.damaged += damage.values()
        now = self._clock()
        forced = {*days[-self._order.repull :]} if self._order.repull else set()
        for day in days:
            need = find_need(manifest.day(day), view.state(day), now, force=day in forced)
            if need.asked or need.empty or need.doubtful:
                self._needs[day] = need
        for day, problem in manifest.damaged.items():
            self.outcome.damaged.append(f"the manifest of {day}: {problem}")
        for need in self._needs.values():
            if need.empty:
                self._dataset.note_empty(need.empty, now, need.state.fingerprint)

    def _asked(self) -> dict[Hour, Reason]:
        return {hour: why for need in self._needs.values() for hour, why in need.asked.items()}

    def _pull(self, asked: Mapping[Hour, Reason]) -> None:
        if not asked:
            return
        self.outcome.wanted += len(asked)
        self._expect(self.outcome.wanted)
        with self._dataset.store.scratch() as folder:
            tables = EventTables()
            pull = Pull(self._client, folder, self._dataset.identity.form, tables, self._clock)
            workers = Workers[Hour](lambda hour: self._one(pull, hour), self._client.close)
            try:
                workers.run(asked)
            finally:
                self.outcome.bad += [
                    BadHour(each.work, type(each.error).__name__, str(each.error))
                    for each in workers.failed
                ]

    def _one(self, pull: Pull, hour: Hour) -> None:
        fingerprint = self._needs[hour.day].state.fingerprint
        spool = Spool(self._dataset.store, str(hour), fingerprint)
        finished, asked_at = pull.hour(hour, spool)
        self._dataset.commit([finished], asked_at, fingerprint)
        spool.clear()
        self.outcome.pulled[hour] = finished.rows

    def _find_unexplained(self) -> dict[Hour, Reason]:
        """Hours to ask for again, because those that were pulled are not all that changed."""
        found: dict[Hour, Reason] = {}
        for day, need in self._needs.items():
            record = self._dataset.manifest.day(day)
            if not need.doubtful or not is_settled(record):
                continue
            if is_explained(record, need.state):
                self._dataset.confirm(need.doubtful, need.state.fingerprint)
            else:
                found |= dict.fromkeys(need.doubtful, Reason.RESTATED)
        return found
