"""Days that are pulled again whatever the service says: noted, so that a stopped run goes on."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from adanalytics_client.dataset.checksummed_json import Damaged, seal, unseal
from adanalytics_client.dataset.hours import Hour, hours_of
from adanalytics_client.dataset.layout import REPULL
from adanalytics_client.dataset.manifest import Manifest
from adanalytics_client.dataset.store import Store, as_failure

KEPT = timedelta(days=1)
"""How long after its begin a stopped run is gone on with; later the same words mean a new one."""


class Repull:
    """The hours of some days that are to be pulled again, and were not since this was asked for.

    Args:
        store: the dataset.
        days: the days; none where nothing was asked for.
        now: the present moment in UTC.
    """

    def __init__(self, store: Store, days: Sequence[date], now: datetime) -> None:
        self._store = store
        self._days = days
        self._now = now
        self._since = self._begun() if days else None
        if days and self._since is None:
            with as_failure(store.place):
                store.write(REPULL, seal({**self._order(), "since": now.isoformat()}))

    def hours(self, manifest: Manifest) -> set[Hour]:
        """The hours that have begun and are still to be pulled again."""
        begun = (hour for day in self._days for hour in hours_of(day) if hour.begins <= self._now)
        return {hour for hour in begun if not self._was_pulled(manifest, hour)}

    def done(self) -> None:
        """All of them were pulled: the next time is a new one."""
        if self._days:
            self._store.remove(REPULL)

    def _was_pulled(self, manifest: Manifest, hour: Hour) -> bool:
        record = manifest.record(hour)
        return record is not None and self._since is not None and record.asked_at >= self._since

    def _begun(self) -> datetime | None:
        """Since when a run that was stopped has pulled these days again."""
        try:
            note = unseal(self._store.read(REPULL) or b"")
            since = datetime.fromisoformat(note.pop("since"))
        except (Damaged, KeyError, TypeError, ValueError):
            return None
        return since if note == self._order() and self._now - since < KEPT else None

    def _order(self) -> dict[str, str]:
        return {"first": str(self._days[0]), "last": str(self._days[-1])}
