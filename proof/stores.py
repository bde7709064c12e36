"""Syncs to an object store that fails: moto's S3 server, with the faults of our tests."""

import logging
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import httpx
import pyarrow.parquet as pq
from obstore.store import S3Store
from tests.cli.sync.faulty_s3 import FaultyS3, serve

from adanalytics_client import AdAnalyticsError, Client, QuotaPolicy
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer
from proof.kills import ENDED, OTHER, SAME, TIME_LIMIT, TORN, TYPED, WRONG, Found, section_of
from proof.report import Section
from proof.service import PROGRAM
from proof.trial import FIRST, Rows, Truth, essence, find_truth

PLACE = "s3://bucket/events"
LOCK = "events/_adanalytics/lock"
# Of the requests to the store.
STRUCK, KILLING = 0.1, 0.05
HOLDER = "works on"
TRIES, QUICK_TRIES = 6, 1


@dataclass
class Shop:
    """A store with faults, and the server whose events are synced to it."""

    server: LocalServer
    truth: Truth
    store: FaultyS3
    url: str
    folder: Path

    def empty(self, seed: str) -> None:
        self.store.rest()
        self.store.dice = random.Random(seed)
        httpx.post(f"{self.url}/moto-api/reset").raise_for_status()
        httpx.put(f"{self.url}/bucket").raise_for_status()

    def sync(self) -> str:
        """Sync in this process, and return how that ended."""
        with Client(
            self.server.url,
            api_key=self.server.api_key,
            partner=self.server.partner,
            quota=QuotaPolicy(limit=None, log="memory"),
        ) as client:
            try:
                report = Dataset(PLACE).sync(client, FIRST)
            except AdAnalyticsError:
                return TYPED
            except Exception as error:  # noqa: BLE001  # it is what is counted
                print(f"object store: {error!r}")
                return OTHER
        return TYPED if report.left else SAME

    def start(self) -> "subprocess.Popen[str]":
        """Sync in another process."""
        access = {
            "ADANALYTICS_BASE_URL": self.server.url,
            "ADANALYTICS_API_KEY": self.server.api_key,
            "ADANALYTICS_PARTNER": self.server.partner,
            "XDG_STATE_HOME": str(self.folder / "state"),
        }
        return subprocess.Popen(
            [*PROGRAM, "sync", FIRST, "--to", PLACE],
            env={**os.environ, **access},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def held(self) -> Rows:
        """Read what is visible with obstore alone."""
        bucket = _bucket()
        names = [each["path"] for each in bucket.list("events/data/").collect()]
        tables = [pq.read_table(BytesIO(bucket.get(name).bytes())) for name in names]
        return essence(row for table in tables for row in table.to_pylist())

    def afterwards(self, *, whole: bool) -> Iterator[str]:
        """Yield what is wrong with what is visible, now and after another sync."""
        self.store.rest()
        held = self.held()
        if not (held == self.truth.events if whole else self.truth.has_hours(held)):
            yield TORN
        same = self.sync() == SAME and self.held() == self.truth.events
        if not (same and Dataset(PLACE).verify(None).is_whole):
            yield WRONG


def _bucket() -> S3Store:
    return S3Store("bucket", client_options={"allow_http": True})


def _struck(shop: Shop, status: int) -> list[str]:
    shop.store.share, shop.store.status = STRUCK, status
    ended = shop.sync()
    return [ended, *shop.afterwards(whole=ended == SAME)]


def _killed(shop: Shop) -> list[str]:
    process = shop.start()
    shop.store.kill, shop.store.share, shop.store.left = process.pid, KILLING, 1
    process.communicate(timeout=TIME_LIMIT)
    # The lease of the killed one would be over in two minutes.
    with suppress(FileNotFoundError):
        _bucket().delete(LOCK)
    ended = {0: SAME, -9: ENDED}.get(process.returncode, OTHER)
    return [ended, *shop.afterwards(whole=ended == SAME)]


def _two(shop: Shop) -> list[str]:
    both = [shop.start(), shop.start()]
    told = [process.communicate(timeout=TIME_LIMIT)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    if codes == [0, 0]:
        ended = SAME
    else:
        ended = TYPED if codes == [0, 1] and any(HOLDER in each for each in told) else OTHER
    return [ended, *shop.afterwards(whole=ended != OTHER)]


WAYS: dict[str, Callable[[Shop], list[str]]] = {
    f"{STRUCK:.0%} of the responses are 503": lambda shop: _struck(shop, 503),
    f"{STRUCK:.0%} of the connections are reset": lambda shop: _struck(shop, 0),
    "kill -9 of a sync to the store": _killed,
    "two syncs to the store at once": _two,
}


@contextmanager
def _shop(server: LocalServer, truth: Truth, folder: Path) -> Iterator[Shop]:
    store, url, stop = serve()
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    names = {"ENDPOINT_URL": url, "ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}
    with patch.dict(os.environ, {f"AWS_{name}": text for name, text in names.items()}):
        try:
            of_day = [row for row in truth.events if row[1].startswith(FIRST)]
            yield Shop(server, replace(truth, events=of_day), store, url, folder)
        finally:
            stop()


def measure(quick: bool) -> Section:
    """Disturb syncs in each way, each from seeds that stay the same."""
    tries = QUICK_TRIES if quick else TRIES
    found: Found = {}
    with TemporaryDirectory() as name, LocalServer(rate_limit=0) as server:
        truth = find_truth()
        server.add_events(truth.sent)
        server.keep()
        with _shop(server, truth, Path(name)) as shop:
            for what, way in WAYS.items():
                for seed in range(tries):
                    server.reset()
                    shop.empty(f"{what} {seed}")
                    found.setdefault(what, []).append(way(shop))
    return section_of("An object store with faults", found)
