"""A service and a dataset of its events, as tests of whole syncs see them."""

import shutil
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.datasets import Row, read_rows

from adanalytics_client import Client, Observer
from adanalytics_client._base.choices import Partition, Via
from adanalytics_client._json.fields import ID_OF
from adanalytics_client.dataset import Dataset, SyncReport
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.observers import RequestDue, WaitStarted
from adanalytics_server.local import LocalServer

FIRST, SECOND = "2026-01-15", "2026-01-16"
LOOK = {"dates": 1, "summary": 1}
# The summaries by each group with names, after the first events of a day.
NAMES = len(ID_OF)
FIRST_LOOK = {"dates": 1, "summary": 1 + NAMES}
# The service's own count of the days that are over, in one request.
COUNT = 1


class Stop(Exception):
    """What an observer ends a run with."""


class AtMost(Observer):
    """Lets some requests pass; in a wait it interrupts, as Ctrl-C does."""

    def __init__(self, requests: int) -> None:
        self._left = requests
        self._lock = threading.Lock()

    def due(self, _info: RequestDue) -> None:
        with self._lock:
            self._left -= 1
            if self._left < 0:
                raise Stop

    def wait(self, _info: WaitStarted) -> None:
        raise KeyboardInterrupt


class Service:
    """A service with two days of 600 events, 2026-01-15 and 16, as a test sees it at `now`."""

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.now = datetime(2026, 1, 20, 12, tzinfo=UTC)

    def client(self, observer: Observer | None = None) -> Client:
        server = self.server
        return Client(server.url, api_key=server.api_key, partner="acme", observer=observer)

    def asked(self) -> Counter[str]:
        """Requests since the last look, by the last part of their path."""
        counts = Counter(entry.path.rpartition("/")[2] for entry in self.server.journal.entries())
        self.server.journal.clear()
        return counts

    def rows(self) -> list[Row]:
        """Every event as the service has it, in its order; costs the journal nothing."""
        with self.client() as client:
            days = client.dates()
            rows = list(client.events(days[0], days[-1], split="none").rows()) if days else []
        self.server.journal.clear()
        return rows

    def price(self, day: str, hours: Iterable[int] = range(24)) -> int:
        """Requests for hours of a day, each by itself."""
        counts = Counter(row["event_hour"] for row in self.rows() if row["event_date"] == day)
        return sum(max(1, -(-counts[hour] // fetch.EVENTS_PER_PAGE)) for hour in hours)

    def load(self, rows: list[Row], *, replace: bool = False) -> None:
        """Load events; `replace` takes away what their hours had."""
        self.server.add_events(rows, replace_hours=replace)


class Shop(Service):
    """A service, and a dataset in `folder` that is not there yet; `saved` keeps some for `fill`."""

    def __init__(self, server: LocalServer, folder: Path, saved: Path | None = None) -> None:
        super().__init__(server)
        self.folder = folder
        self.saved = saved
        self.partition: Partition | None = None

    @property
    def dataset(self) -> Dataset:
        return Dataset(self.folder, partition=self.partition, clock=lambda: self.now)

    def sync(
        self, *days: str, requests: int | None = None, via: Via = "pages", **options: Any
    ) -> SyncReport:
        """Sync the dataset; after `requests` the sync is stopped, and its report is partial."""
        dataset = self.dataset
        observer = None if requests is None else AtMost(requests)
        with suppress(Stop), self.client(observer) as client:
            return dataset.sync(client, *days, via=via, **options)
        assert dataset.report is not None
        return dataset.report

    def fill(self, *days: str) -> None:
        """Make the dataset that `sync(*days)` of the sample makes; only the first time it syncs."""
        assert self.saved is not None
        saved = self.saved / "-".join((self.partition or "", *days, f"{self.now:%d-%H-%M}"))
        if saved.exists():
            shutil.copytree(saved, self.folder)
            return
        assert self.sync(*days).left == 0
        self.server.journal.clear()
        shutil.copytree(self.folder, saved)

    def held(self) -> list[Row]:
        """Every event of the dataset, in the same order."""
        return read_rows(self.folder)
