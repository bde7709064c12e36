"""The dataset as a whole: what it is a copy of, what it holds, and how an hour gets into it."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from adanalytics_client.dataset.empty_part import empty_part_name, lay_empty_part
from adanalytics_client.dataset.hour_file import FinishedHour
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.identity import Identity
from adanalytics_client.dataset.journal import Journal
from adanalytics_client.dataset.layout import DATA, part_name
from adanalytics_client.dataset.manifest import HourRecord, Manifest
from adanalytics_client.dataset.needs import empty_record
from adanalytics_client.dataset.store import Store, as_failure


class Dataset:
    """Hours that were committed. Its methods may be called from any thread."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self.store = store
        self.identity = identity
        self.manifest = Manifest(store)
        self.journal = Journal(store, identity.form)
        self._present: set[str] = set()
        self._lock = threading.Lock()

    def find_damage(self, hours: Iterable[Hour]) -> dict[Hour, str]:
        """Hours whose file is not there, has another length, or should not be there.

        What is known of them is forgotten, so that they are pulled again.

        Looking costs one listing. Whether the bytes are right is for `verify` to say.
        """
        sizes = self.store.sizes(DATA)
        self._present = {*sizes}
        self._keep_readable()
        found = {}
        for hour in hours:
            name = part_name(hour, self.identity.form)
            record, size = self.manifest.record(hour), sizes.get(name)
            if record is None or size == (record.size if record.rows else None):
                continue
            is_now = "is missing" if size is None else f"has {size} bytes, not {record.size}"
            found[hour] = f"{name} {is_now}"
        self.manifest.forget(found)
        return found

    def commit(self, finished: FinishedHour, asked_at: datetime, fingerprint: str) -> None:
        """Put an hour in place of what was there, for good."""
        with self._lock, as_failure(self.store.place):
            self._exchange(finished, asked_at, fingerprint)

    def note_empty(self, hours: Iterable[Hour], asked_at: datetime, fingerprint: str) -> None:
        """Know without a request that hours have no events; a file that nobody committed goes."""
        fresh = {hour: empty_record(asked_at, fingerprint) for hour in hours}
        for hour in fresh:
            name = part_name(hour, self.identity.form)
            self._keep_readable(without=name)
            self._take_away(name)
        for day in sorted({hour.day for hour in fresh}):
            of_day = {hour.hour: record for hour, record in fresh.items() if hour.day == day}
            with self._lock, as_failure(self.store.place):
                self.manifest.put(day, of_day)

    def confirm(self, hours: Iterable[Hour], fingerprint: str) -> None:
        """Know that hours are still what the service has, under another fingerprint."""
        for hour in hours:
            record = self.manifest.record(hour)
            if record is not None:
                with self._lock, as_failure(self.store.place):
                    fresh = {hour.hour: replace(record, fingerprint=fingerprint)}
                    self.manifest.put(hour.day, fresh)

    def lift_empty_part(self) -> None:
        """Take the part without events away where there are others."""
        if len(self._present) > 1:
            self._take_away(empty_part_name(self.identity.form))

    def _keep_readable(self, *, without: str = "") -> None:
        """See that readers find a part, also without the one of a name."""
        left = len(self._present) - (without in self._present)
        if not left and self.identity.form != "jsonl":
            lay_empty_part(self.store, self.identity.form)
            self._present.add(empty_part_name(self.identity.form))

    def _take_away(self, name: str) -> None:
        if name in self._present:
            self.store.remove(name)
            self._present.discard(name)

    def _exchange(self, finished: FinishedHour, asked_at: datetime, fingerprint: str) -> None:
        hour = finished.hour
        record = HourRecord(
            rows=finished.rows,
            size=finished.size,
            sha256=finished.sha256,
            asked_at=asked_at,
            fingerprint=fingerprint,
            tally=finished.tally,
        )
        name = part_name(hour, self.identity.form)
        if finished.path is None:
            # Before the note, so that a run which goes on from it need not see to this.
            self._keep_readable(without=name)
        self.journal.prepare(hour, record)
        if finished.path is None:
            self._take_away(name)
        else:
            self.store.move_in(finished.path, name)
            self._present.add(name)
        self.manifest.put(hour.day, {hour.hour: record})
        self.journal.close(hour)
