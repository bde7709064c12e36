"""One sync: compare what is held with what the service says, and bring the difference."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from adanalytics_client import Period
from adanalytics_client.dataset.dataset import Dataset
from adanalytics_client.dataset.day_states import ServiceView
from adanalytics_client.dataset.fetch import Bringer
from adanalytics_client.dataset.hours import Hour, hours_of
from adanalytics_client.dataset.needs import DayNeed, Reason, find_need, is_explained, is_settled
from adanalytics_client.dataset.repull import Repull
from adanalytics_client.dataset.sync_report import Order, Outcome

if TYPE_CHECKING:
    from adanalytics_client import Client


class Sync:
    """Brings a dataset up to date.

    Args:
        client: what to ask with.
        dataset: what to bring up to date; its lock is held.
        order: what is asked for.
        clock: the present moment in UTC.
        expect: told how many queries there will be.
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
        self.outcome = Outcome(clock())

    def run(self) -> None:
        """Do it; `outcome` says what was done, also when this raises.

        Raises what an observer raises to end the run, and AdAnalyticsError for what concerns more
        than one query; what was committed before stays.
        """
        self._dataset.journal.recover(self._dataset.manifest)
        view = ServiceView(self._client, self._order.span, self._dataset.manifest.days())
        if view.span is None:
            return
        days = _days_of(view.span)
        forced = days[-self._order.repull :] if self._order.repull else []
        repull = Repull(self._dataset.store, forced, self._clock())
        needs = self._find_needs(view, days, repull)
        bringer = Bringer(
            self._client,
            self._dataset,
            view,
            self.outcome,
            via=self._order.via,
            clock=self._clock,
        )
        asked = {hour: why for need in needs.values() for hour, why in need.asked.items()}
        bringer.bring(asked, self._expect)
        if not self.outcome.left:
            bringer.bring(self._find_unexplained(needs), self._expect)
        self._dataset.lift_empty_part()
        if not self.outcome.left:
            repull.done()

    def _find_needs(
        self, view: ServiceView, days: list[date], repull: Repull
    ) -> dict[date, DayNeed]:
        """What each day needs; hours that need no request are noted on the way."""
        manifest, now = self._dataset.manifest, self._clock()
        damage = self._dataset.find_damage(hour for day in days for hour in hours_of(day))
        self.outcome.damaged += damage.values()
        forced = repull.hours(manifest)
        needs = {
            day: find_need(manifest.day(day), view.state(day), now, force=forced) for day in days
        }
        self.outcome.damaged += [
            f"the manifest of {day}: {problem}" for day, problem in manifest.damaged.items()
        ]
        for need in needs.values():
            self._dataset.note_empty(need.empty, now, need.state.fingerprint)
        return needs

    def _find_unexplained(self, needs: dict[date, DayNeed]) -> dict[Hour, Reason]:
        """Hours to ask for again, because those that were brought are not all that changed."""
        found: dict[Hour, Reason] = {}
        for day, need in needs.items():
            record = self._dataset.manifest.day(day)
            if not need.doubtful or not is_settled(record):
                continue
            if is_explained(record, need.state):
                self._dataset.confirm(need.doubtful, need.state.fingerprint)
            else:
                found |= dict.fromkeys(need.doubtful, Reason.RESTATED)
        return found


def _days_of(span: Period) -> list[date]:
    return [span.first + timedelta(n) for n in range((span.last - span.first).days + 1)]
