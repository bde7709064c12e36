"""A dataset through any number of deaths; afterwards it equals the service.

`Dataset.sync` calls a driver and writes files. Here the driver is the third one, and the files are
on a disk that forgets. The two queries that it runs at a time run one after the other, so that a
seed fixes what happens: the threads of a sync are not simulated.
"""

import json
import logging
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypeVar
from unittest import mock

import pyarrow.parquet as pq

from adanalytics_client import Client, Observer, QuotaPolicy, RetryPolicy
from adanalytics_client._base.choices import PartFormat, Partition
from adanalytics_client._base.effects import Fanout, Operation
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._call.config import Bearer, Config
from adanalytics_client._call.session import Connection, Session
from adanalytics_client._quota.store import QuotaStore
from adanalytics_client.dataset import Dataset
from adanalytics_client.dataset.pull import fetch as sync_fetch
from adanalytics_client.errors import AdAnalyticsError
from proof.simulate.choices import Choices
from proof.simulate.disk import Disk, Tree, forgetful_disk
from proof.simulate.driver import Process, Violation, World, stream
from proof.simulate.service import BASE, KEY, NOON, Service
from proof.simulate.worlds import listening

T = TypeVar("T")


class Death(BaseException):
    """The process is killed here; what its handlers still do is undone."""


class BlockingDriver:
    """The third driver for callers that wait: the world goes on until their result is there."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def run(self, operation: Operation[T]) -> T:
        outcomes: list[Any] = []
        self._process.start(operation, outcomes.append)
        while not outcomes:
            self._step()
        if isinstance(outcomes[0], BaseException):
            raise outcomes[0]
        result: T = outcomes[0]
        return result

    def stream(
        self, fanout: Fanout[Any, Any, T], fetch: Callable[[Any], Operation[Any]]
    ) -> Generator[T, None, None]:
        pages: list[T] = []
        outcomes: list[object] = []

        def take(page: T) -> Operation[None]:
            pages.append(page)
            yield from ()

        self._process.start(stream(self._process, fanout, fetch, take), outcomes.append)
        while pages or not outcomes:
            if pages:
                yield pages.pop(0)
            else:
                self._step()
        if isinstance(outcomes[0], BaseException):
            raise outcomes[0]

    def branch(self) -> Self:
        return self

    def close(self) -> None:
        """Do nothing: no connection is open."""

    def _step(self) -> None:
        if not self._process.world.step():
            raise Violation("the sync waits for ever")


class _OneAfterTheOther:
    """In place of the threads of a sync."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, work: Callable[..., T], *arguments: object) -> Future[T]:
        future = Future[T]()
        try:
            future.set_result(work(*arguments))
        except BaseException as error:  # noqa: BLE001  # raised again by `result`
            future.set_exception(error)
        return future


@contextmanager
def _without_threads() -> Iterator[None]:
    with mock.patch.object(sync_fetch, "ThreadPoolExecutor", _OneAfterTheOther):
        yield


class SyncScenario:
    """One dataset from its first sync to its last."""

    def __init__(self, choices: Choices, *, trace: bool = False) -> None:
        self.pick = choices
        self.world = World(choices, NOON)
        self.world.trace = [] if trace else None
        days = choices.of((1, 2))
        self.service = Service(self.world, "published", faults=choices.of((0, 3)), days=days)
        self.service.restate_way = choices.of(("late", "between", "gone"))
        self._processes = 0
        self._store = QuotaStore(None)

    @property
    def seconds(self) -> float:
        return self.world.now - self.world.began

    def run(self) -> None:
        """Sync, die and sync again; the last sync is left alone.

        Raises:
            Violation: when the dataset does not equal the service in the end.
        """
        pick = self.pick
        with (
            listening(self.service, logging.CRITICAL),
            forgetful_disk() as disk,
            _without_threads(),
        ):
            form: PartFormat = pick.of(("jsonl", "parquet"))
            partition: Partition | None = pick.of(("day", "hour")) if form == "parquet" else None
            self._folder = disk.folder / "events"
            dataset = Dataset(self._folder, format=form, partition=partition)
            for _ in range(pick.below(4)):
                self._sync_until_death(dataset, disk)
                if pick.happens(30):
                    self.service.restate()
            self.service.faults = 0
            self._sync(dataset)
            self._check(dataset)

    def _sync_until_death(self, dataset: Dataset, disk: Disk) -> None:
        pick, world = self.pick, self.world
        left = pick.of((10, 5, 20, 40, 80)) + pick.below(10)
        power = pick.happens(50)
        tree: list[Tree] = []

        def die() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                tree.append(disk.state(pick if power else None))
                cut = ", and the power is cut" if power else ""
                world.say(lambda: f"the sync is killed{cut}")
                raise Death

        disk.stop = die
        try:
            with suppress(Death, AdAnalyticsError):
                self._sync(dataset, die)
        finally:
            disk.stop = lambda: None
        if tree:
            disk.restore(tree[0])
        # The lease of a process that is dead.
        world.now += 300.0

    def _sync(self, dataset: Dataset, die: Callable[[], None] = lambda: None) -> None:
        client = self._client(die)
        first, last = self.service.days[0], self.service.days[-1]
        dataset.sync(client, first, last, via="pages")

    def _client(self, die: Callable[[], None]) -> Client:
        self._processes += 1
        service = self.service

        class Wire:
            def send(self, *arguments: Any) -> None:  # noqa: ANN401  # as the service takes them
                die()
                service.send(*arguments)

        process = Process(self.world, f"sync {self._processes}", Wire())
        config = Config(
            base=BaseUrl.parse(BASE),
            credential=Bearer("api_key", Secret(KEY)),
            partner="acme",
            retry=RetryPolicy(),
            quota=QuotaPolicy(),
        )
        session = Session.open(config, store=self._store, observer=Observer(), clock=self.world)
        # Its constructor would open a real driver.
        client = object.__new__(Client)
        client.connection = Connection(session, BlockingDriver(process))  # type: ignore[arg-type]
        return client

    def _check(self, dataset: Dataset) -> None:
        first, last = self.service.days[0], self.service.days[-1]
        events = self.service.between(first, last + timedelta(days=1), None)
        numbers = sorted(event.number for event in events)
        # Other programs read whatever is among the data.
        files = sorted((self._folder / "data").rglob("*.*"))
        read = {"events": [], "files": [n for file in files for n in _numbers_in(file)]}
        if numbers:
            read["events"] = dataset.query("SELECT n FROM events")["n"].to_pylist()
        for name, found in read.items():
            if sorted(found) != numbers:
                raise Violation(f"{name}: {len(found)} events, the service has {len(numbers)}")


def _numbers_in(file: Path) -> list[int]:
    if file.suffix == ".parquet":
        numbers: list[int] = pq.ParquetFile(file).read(["n"])["n"].to_pylist()
        return numbers
    return [json.loads(line)["n"] for line in file.read_bytes().splitlines()]
