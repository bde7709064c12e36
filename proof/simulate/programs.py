"""What one process does, and what must hold during and after it."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from adanalytics_client import Observer, SeenEvents
from adanalytics_client._base.choices import Split
from adanalytics_client._base.effects import Operation, Sleep
from adanalytics_client._call.session import Session
from adanalytics_client._events.fanout import Fetched, Job
from adanalytics_client._events.page import FetchedPage
from adanalytics_client._events.plan import slices_of
from adanalytics_client._events.query import EventRequest, PullRun, plan_pull
from adanalytics_client._events.resume import token_of
from adanalytics_client._exports.download import ExportDownload
from adanalytics_client._exports.order import start_export
from adanalytics_client._exports.saved import SavedExport
from adanalytics_client._lists.dates import dates
from adanalytics_client._lists.summary import summary
from adanalytics_client.errors import AdAnalyticsError, ConfigurationError
from adanalytics_client.observers import RetryPlanned, WaitStarted
from proof.simulate.driver import Process, Violation, World, stream
from proof.simulate.service import HOUR, HOURS, Service

CSV = "events.csv"
# Of an export that has ended; each response may be lost.
_MOST_POLLS = 8


@dataclass
class Watch(Observer):
    """Adds up what one call waits."""

    waited: float = 0.0
    retries: int = 0

    def wait(self, info: WaitStarted) -> None:
        self.waited += info.seconds

    def retry(self, info: RetryPlanned) -> None:
        # A login has attempts of its own.
        self.retries += not info.url.endswith("/login")


@dataclass
class Kept:
    """What a program has written down, with which a later process goes on.

    Attributes:
        calm: whether nothing has happened that may end a program with an error.
    """

    began: float
    calm: bool = True
    token: str | None = None
    texts: list[bytes] = field(default_factory=list)
    saved: SavedExport | None = None
    error: AdAnalyticsError | None = None


@dataclass
class Program:
    """The base of what a process does."""

    world: World
    service: Service
    kept: Kept

    def run(self, process: Process, session: Session) -> Operation[None]:
        raise NotImplementedError

    def _failed(self, process: Process, error: AdAnalyticsError) -> None:
        """A typed error is allowed where something was wrong, and nowhere else."""
        self.kept.error = error
        service = self.service
        service.forget(process)
        self.world.say(lambda: f"it ends with {type(error).__name__}: {error}")
        if service.shows_secret(f"{error} {error!r} {vars(error)}"):
            raise Violation(f"a secret in an error: {error!r}") from error
        if not (self.kept.calm and service.is_right) or service.struck or service.restated:
            return
        if not service.refused:
            raise Violation(f"nothing was wrong, but {type(error).__name__}: {error}") from error
        seconds = self.world.now - service.refused[0]
        if seconds < HOUR:
            raise Violation(f"given up {seconds:.0f} s after the first refusal: {error}") from error


@dataclass
class Calls(Program):
    """Some requests, one after the other."""

    calls: int

    def run(self, process: Process, session: Session) -> Operation[None]:
        pick, clock, policy = self.world.choices, self.world, session.config.retry
        for _ in range(self.calls):
            if pause := pick.of((0.0, 0.0, 600.0, 1_795.0, 3_000.0)):
                yield Sleep(clock.monotonic() + pause)
            watch, began = Watch(), clock.monotonic()
            watched = replace(session, observer=watch)
            lists_days = pick.below(3) < 2
            try:
                yield from self._list_days(watched) if lists_days else self._sum_up(watched)
            except AdAnalyticsError as error:
                self._failed(process, error)
            if not lists_days or self.service.kind == "dates page":
                # Of several requests.
                continue
            if watch.retries >= policy.attempts:
                raise Violation(f"{watch.retries + 1} attempts of {policy.attempts}")
            seconds = clock.monotonic() - began - watch.waited
            # Looks whether another process has its answer are not reported.
            if seconds > policy.budget + 1.1 and not self.service.refused:
                raise Violation(f"{seconds:.1f} s with a budget of {policy.budget:.0f} s")

    def _list_days(self, session: Session) -> Operation[None]:
        service = self.service
        listed = yield from dates(session)
        if listed != [day for day in service.days if service.between(day, day, None)]:
            raise Violation(f"dates are {listed}")

    def _sum_up(self, session: Session) -> Operation[None]:
        service, days = self.service, self.service.days
        made = yield from summary(session, days[0], days[-1], group_by="day")
        counts = {row.date: row.impressions for row in made.rows}
        if counts != {day: n for day in days if (n := len(service.between(day, day, None)))}:
            raise Violation(f"the summary has {counts}")


@dataclass
class Pull(Program):
    """A pull of all days, which another process may have begun."""

    split: Split
    per_page: int
    concurrency: int
    whole: bool
    seen: SeenEvents | None = None

    def run(self, process: Process, session: Session) -> Operation[None]:
        service, kept, pick = self.service, self.kept, self.world.choices
        request = EventRequest(
            start=service.days[0],
            end=service.days[-1],
            hour=None,
            split=self.split,
            per_page=self.per_page,
            concurrency=self.concurrency,
            resume=kept.token,
            seen=self.seen,
            on_drift="raise",
        )
        if kept.token is not None:
            self._refuse_other_tokens(request, session)
        pull = plan_pull(request, session)
        if kept.token is None and self.split == "hourly":
            ranges = tuple(replace(each, hours=HOURS) for each in pull.plan.ranges)
            slices = slices_of(ranges, None)
            pull = replace(pull, plan=replace(pull.plan, ranges=ranges, slices=slices))
        run = PullRun(pull, session, is_output=self.whole)
        in_flight = pages = 0

        def fetch(job: Job) -> Operation[Fetched]:
            nonlocal in_flight, pages
            in_flight += 1
            # A page that ends its query with an error does not wait, although it is counted.
            is_full = in_flight + pages > 2 * self.concurrency
            if in_flight > self.concurrency or (is_full and self._is_calm):
                raise Violation(f"{in_flight} requests in flight, and {pages} pages wait")
            try:
                result = yield from run.fetch(job)
            finally:
                in_flight -= 1
            pages += isinstance(result, FetchedPage)
            return result

        def take(page: FetchedPage) -> Operation[None]:
            nonlocal pages
            pages -= 1
            # Written down together, as a file and a token that are renamed together are.
            kept.texts += map(bytes, page.rows.texts)
            kept.token = token_of(page.position, pull.plan, pull.partner)
            if pick.happens(10):
                yield Sleep(self.world.monotonic() + 1.0)

        try:
            yield from stream(process, run.fanout, fetch, take)
        except AdAnalyticsError as error:
            return self._failed(process, error)
        run.commit()
        self._check_rows()
        sent, most = service.sent[process.name], self._most_requests()
        if self._is_calm and sent > most:
            raise Violation(f"{sent} requests, where {most} are enough")
        return None

    @property
    def _is_calm(self) -> bool:
        service = self.service
        disturbed = not self.kept.calm or service.struck or service.restated
        return service.is_usual and not disturbed

    def _refuse_other_tokens(self, request: EventRequest[Any], session: Session) -> None:
        """A torn token, and one of another query, are errors."""
        token = request.resume or ""
        # The last character may have bits that stand for nothing.
        at = self.world.choices.below(max(1, len(token) - 1))
        others = (
            replace(request, resume=token[:at]),
            replace(
                request, resume=token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
            ),
            replace(request, per_page=self.per_page + 1),
        )
        try:
            plan_pull(self.world.choices.of(others), session)
        except ConfigurationError:
            return
        except Exception as error:
            raise Violation(f"a wrong token: {type(error).__name__}: {error}") from error
        raise Violation("a wrong token is accepted")

    def _most_requests(self) -> int:
        """Return what a usual service needs: pages, one behind a full one of each query, counts."""
        service, size = self.service, self.per_page
        hours = [len(service.now_in(day, hour)) for day in service.days for hour in range(HOURS)]
        pages = sum(
            -(-events // min(size, 2 if service.kind == "smaller" else size)) for events in hours
        )
        return pages + 2 * len(hours) + 6

    def _check_rows(self) -> None:
        """Each hour is as it was at some moment of the pull, and nothing else has arrived."""
        service, kept = self.service, self.kept
        rows: dict[tuple[date, int], Counter[bytes]] = {}
        for text in kept.texts:
            event = service.events[text]
            rows.setdefault((event.day, event.hour), Counter())[text] += 1
        for place, states in service.states.items():
            later = [events for at, events in states if at >= kept.began]
            before = [events for at, events in states if at < kept.began][-1:]
            arrived = rows.get(place, Counter())
            if not any(
                arrived == Counter(each.text for each in events) for events in before + later
            ):
                raise Violation(
                    f"{sum(arrived.values())} events of {place[0]} hour {place[1]}, which had "
                    f"{' or '.join(str(len(events)) for events in before + later)}"
                )


@dataclass
class Download(Program):
    """An export and its file."""

    target: Path

    def run(self, process: Process, session: Session) -> Operation[None]:
        service, kept = self.service, self.kept
        first, last = service.days[0], service.days[-1]
        try:
            if kept.saved is None:
                kept.saved = yield from start_export(
                    session, first, last, file_format="csv", compression=None
                )
            delivery = ExportDownload(session, kept.saved.order, kept.saved.status)
            yield from delivery.run(self.target, timeout=1_800.0)
        except AdAnalyticsError as error:
            self._failed(process, error)
        else:
            if not self.target.is_file():
                raise Violation("the export is done, but its file is not there")
        if any(export.polls > _MOST_POLLS for export in service.exports):
            raise Violation("an export that has ended is waited for")
        # An export that names only its id may be ordered again if nothing is at its address.
        if (orders := service.orders[process.name]) > 1 + (service.export_style == "job"):
            raise Violation(f"{orders} orders of one export")
        self.check_file()

    def check_file(self) -> None:
        """The file is one that the service had, or it is not there."""
        if not self.target.exists():
            return
        content = self.target.read_bytes()
        if content not in [self.service.file_of(export) for export in self.service.exports]:
            raise Violation(f"the file has {len(content)} bytes, which no export has")
