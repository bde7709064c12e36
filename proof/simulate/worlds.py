"""Worlds: a service, a machine, its processes, and what happens to them."""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection
from typing import TypeVar

from adanalytics_client import Observer, QuotaPolicy, RetryPolicy
from adanalytics_client._base.choices import Split
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._call.config import Bearer, Config, Credential, Login
from adanalytics_client._call.session import Session
from adanalytics_client._quota.store import QuotaStore
from proof.simulate.choices import Choices
from proof.simulate.disk import Disk, forgetful_disk
from proof.simulate.driver import Process, Violation, World
from proof.simulate.programs import CSV, Calls, Download, Kept, Program, Pull
from proof.simulate.service import (
    BASE,
    EMAIL,
    HONEST,
    HOUR,
    KEY,
    LISTS,
    NOON,
    ODD,
    PASSWORD,
    WRONG,
    Service,
)

T = TypeVar("T")

REFUSALS_AN_HOUR = 12


class _Listener(logging.Handler):
    """Looks for secrets of a service in what the client logs."""

    leak = ""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service

    def emit(self, record: logging.LogRecord) -> None:
        if self.service.shows_secret(text := record.getMessage()):
            # The client may catch an exception.
            self.leak = text


class _Store(QuotaStore):
    """The log of a key in memory, with one transaction for a whole world, whose end forgets all."""

    def run(self, action: Callable[[Connection], T]) -> T:
        connection = self._connection or self._open()
        if not connection.in_transaction:
            connection.execute("BEGIN")
        return action(connection)

    def forget(self) -> None:
        if self._connection is not None:
            self._connection.rollback()


@contextmanager
def listening(service: Service, level: int) -> Iterator[_Listener]:
    """Listen to the client's log at a level; other users of this process get theirs back."""
    logger, listener = logging.getLogger("adanalytics_client"), _Listener(service)
    level_before = logger.level
    logger.addHandler(listener)
    logger.setLevel(level)
    try:
        yield listener
    finally:
        logger.setLevel(level_before)
        logger.removeHandler(listener)


# For all worlds, by the name of a key: to make a database takes longer than a world.
_STORES: dict[str, _Store] = {}
_BASE = BaseUrl.parse(BASE)
_KEY = Bearer("api_key", Secret(KEY))


@dataclass(frozen=True)
class Settings:
    """What all processes of a program share."""

    limit: int
    reserve: int = 0
    login: bool = False
    max_wait: float = 100 * HOUR


class Scenario:
    """One world, which its choices fix; `kind` is that of the services of its pulls."""

    def __init__(self, choices: Choices, *, trace: bool = False, kind: str | None = None) -> None:
        self.pick = choices
        self._kind = kind
        self.world = World(choices, NOON + choices.of((0.0, 1_795.0, 3_590.0)))
        self.world.trace = [] if trace else None
        self._running: dict[Process, tuple[Program, Settings]] = {}
        self._number = 0
        self._disk: Disk | None = None
        self._most: int | None = None

    @property
    def seconds(self) -> float:
        """How long it lasted, in its own time."""
        return self.world.now - self.world.began

    def run(self) -> None:
        """Run until nothing is left to do.

        Raises:
            Violation: when a promise is broken.
        """
        for store in _STORES.values():
            store.forget()
        pick = self.pick
        build = pick.of(4 * [self._calls] + 8 * [self._pull] + [self._refusals, self._export])
        kind = pick.of(LISTS)
        if build == self._pull:
            kind = self._kind or pick.of(pick.of((HONEST, ODD, WRONG)))
        days, faults = pick.of((1, 1, 2, 1)), pick.of((0, 0, 3, 0, 15))
        if kind in WRONG:
            # If the count itself fails, that is logged and the rows stand.
            faults = 0
        self.service = Service(self.world, kind, faults=faults, days=days)
        level = logging.DEBUG if pick.happens(5) else logging.WARNING
        with ExitStack() as stack:
            listener = stack.enter_context(listening(self.service, level))
            if build == self._export:
                self._disk = stack.enter_context(forgetful_disk())
            build()
            while self.world.step():
                pass
        if self._running:
            raise Violation("a process waits for ever")
        if listener.leak:
            raise Violation(f"a secret is logged: {listener.leak}")
        self._check_windows()

    # What there is.

    def _calls(self) -> None:
        """Several processes share a key; they are killed, and the machine starts anew."""
        pick, service = self.pick, self.service
        processes = pick.of((1, 2, 2, 3))
        settings = Settings(pick.of((2, 3)), pick.below(2), login=pick.happens(15))
        if settings.login:
            service.token_life = pick.of((10 * HOUR, 100.0))
        elif pick.happens(50):
            # Others use the key, too, so only the service knows what is left.
            service.headers = True
            service.limit = max(settings.reserve + 1, settings.limit - pick.below(3))
            service.reserve = settings.reserve if processes == 1 else None
        for _ in range(processes):
            self._launch(Calls(self.world, service, self._kept(), 1 + pick.below(3)), settings)
        if pick.happens(25):
            self.world.after(pick.of((0.02, 2.0, 1_000.0, 3_700.0)), self._restart)
        elif pick.happens(33):
            service.faults = pick.of((0, 15, 30))
            self.world.after(pick.of((0.0, 1.0, 700.0)), self._set_clock)
        elif pick.happens(25):
            self.world.after(pick.of((0.02, 0.1, 20.0)), self._kill_one)

    def _refusals(self) -> None:
        """The service refuses requests, and does not say for how long."""
        self.service.limit = self.pick.of((1, 2, 0))
        self.service.rolling = self.pick.happens(50)
        for _ in range(1 + self.pick.below(2)):
            calls = 1 + self.pick.below(2)
            self._launch(
                Calls(self.world, self.service, self._kept(), calls),
                Settings(1_000, max_wait=2 * HOUR),
            )

    def _pull(self) -> None:
        """A pull, which is killed and resumed, of data that change."""
        pick, service = self.pick, self.service
        split: Split = pick.of(("none", "hourly", "daily", "auto"))
        service.restates = pick.of((0, 0, 1, 2))
        # Without a total, an event that goes hides one that moves to an earlier page.
        ways: tuple[str, ...] = (
            ("late", "between", "gone") if service.states_total else ("late", "between")
        )
        if service.kind in {"no ids", "shared ids"}:
            # Rows without ids that move to another page look like other rows.
            ways = ("late",)
            service.restates *= split == "hourly"
        service.restate_way = pick.of(ways)
        program = Pull(
            self.world,
            service,
            self._kept(),
            split=split,
            per_page=pick.of((3, 2, 100)),
            concurrency=pick.of((1, 4, 2)),
            whole=not service.is_right or pick.happens(50),
        )
        self._launch(program, Settings(pick.of((20, 30))))
        if pick.happens(25):
            self.world.after(pick.of((0.2, 0.4, 1.0, 3.0)), self._replace)
        if pick.happens(10):
            self.world.after(pick.of((0.1, 0.5, 2.0)), self._set_clock)

    def _export(self) -> None:
        """An export and its file, on a disk that forgets."""
        assert self._disk is not None
        self.service.faults = self.pick.of((0, 20, 40))
        self.service.export_style = self.pick.of(("status", "job", "bare", "rows", "home"))
        program = Download(self.world, self.service, self._kept(), self._disk.folder / CSV)
        self._launch(program, Settings(200))
        if self.pick.happens(40):
            self.world.after(self.pick.of((0.2, 6.5, 15.0, 95.0)), self._replace)

    def _kept(self) -> Kept:
        return Kept(self.world.now)

    # What happens.

    def _launch(self, program: Program, settings: Settings) -> None:
        pick = self.pick
        self._number += 1
        # All programs of a world have the same limit.
        self._most = settings.limit - settings.reserve
        process = Process(self.world, f"process {self._number}", self.service)
        credential: Credential = _KEY
        if settings.login:
            # The service counts all tokens of a user together.
            token: Credential = Bearer("token", Secret(self.service.issue(self._number)))
            account: Credential = Login(EMAIL, Secret(PASSWORD))
            credential = pick.of((account, token))
        config = Config(
            base=_BASE,
            credential=credential,
            partner="acme",
            retry=RetryPolicy(attempts=pick.of((5, 2, 1)), budget=pick.of((300.0, 20.0))),
            quota=QuotaPolicy(settings.limit, settings.reserve, max_wait=settings.max_wait),
        )
        store = _STORES.setdefault(config.quota_name, _Store(None))
        session = Session.open(config, store=store, observer=Observer(), clock=self.world)
        self._running[process] = program, settings

        def done(outcome: object) -> None:
            del self._running[process]
            if isinstance(outcome, BaseException):
                text = f"{type(outcome).__name__}: {outcome}"
                raise Violation(f"an error without a type of ours: {text}") from outcome

        process.start(program.run(process, session), done)

    def _kill(self, process: Process) -> tuple[Program, Settings]:
        self.world.kill(process)
        program, settings = self._running.pop(process)
        program.kept.calm = False
        return program, settings

    def _kill_one(self) -> None:
        if self._running:
            self._kill(self.pick.of([*self._running]))

    def _replace(self) -> None:
        """Kill the only process, maybe with the power, and let another go on."""
        if not self._running:
            return
        disk, power = self._disk, self.pick.happens(50)
        tree = None if disk is None else disk.state(self.pick if power else None)
        again = self._kill(*self._running)
        if disk is not None and tree is not None:
            disk.restore(tree)
        if isinstance(again[0], Download):
            again[0].check_file()
        seconds = self.pick.of((1.0, 60.0, 4_000.0))
        if power:
            self._reboot()
            seconds += 60.0
        self.world.after(seconds, lambda: self._launch(*again))

    def _restart(self) -> None:
        """Cut the power of the machine, which forgets nothing but its steady clock."""
        again = [self._kill(process) for process in [*self._running]]
        self._reboot()
        for each in again:
            self.world.after(60.0 + self.pick.below(3), partial(self._launch, *each))

    # With a new steady clock and a wall clock that was set, nothing tells how long a hold lasts. So
    # a machine has one of both.

    def _reboot(self) -> None:
        if self.world.wall_error:
            return
        self.world.booted = self.world.now + 30.0
        self.world.say(lambda: "the machine starts anew")

    def _set_clock(self) -> None:
        if self.world.booted > self.world.began:
            return
        self.world.wall_error += self.pick.of((-90.0, 90.0, 86_400.0, -86_400.0))
        self.world.say(lambda: f"the wall clock is {self.world.wall_error:.0f} s ahead")

    # What must hold at the end.

    def _check_windows(self) -> None:
        """No window of either kind has more requests than the limit."""
        most, counted = self._most, self.service.counted
        if most is not None:
            for at in range(len(counted) - most):
                seconds = counted[at + most] - counted[at]
                if seconds < HOUR - 1e-6:
                    raise Violation(f"{most + 1} requests in {seconds:.1f} s, allowed are {most}")
                if counted[at] // HOUR == counted[at + most] // HOUR:
                    raise Violation(f"{most + 1} requests between full hours, allowed are {most}")
        refused = self.service.refused
        for at, moment in enumerate(refused):
            number = bisect_right(refused, moment + HOUR) - at
            # Those in flight at the first refusal know nothing of it.
            if number > REFUSALS_AN_HOUR + self.service.in_flight_at_refusal:
                raise Violation(f"{number} refused requests in an hour")
