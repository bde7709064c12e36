"""A pull of events and one read of it, for both clients."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic, Self, TypeVar

from adanalytics_client._base.choices import Check, Split
from adanalytics_client._base.dates import Day, to_range
from adanalytics_client._base.effects import Fanout, Operation
from adanalytics_client._base.observer import BytesWritten, notify
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.urls import Params, further_params
from adanalytics_client._base.validation import check_choice, check_number, whole
from adanalytics_client._call.session import Connection, Session
from adanalytics_client._json.exact import Json
from adanalytics_client._json.raw import RawRows
from adanalytics_client._lists.pages import MOST_PAGES
from adanalytics_client.errors import AdAnalyticsError, ConfigurationError, ProtocolError

from .auto import Planner
from .check import Comparison, PullCheck
from .comparison import compare
from .counts import count_pull
from .dedupe import Deduplicator, SeenEvents, check_seen
from .fanout import Fetched, Job, PageFanout
from .page import FetchedPage, Page, TextPage
from .plan import LARGEST_PAGE, Plan, Slice, cut_day, make_plan
from .reader import PageReader
from .resume import Position, read_token, token_of
from .slice import OnDrift, SliceRules
from .typed import M, Typed

T = TypeVar("T")
D = TypeVar("D")

MOST_CONCURRENT = 64
_OWN_PARAMS = ("start_date", "end_date", "hour", "page", "per_page")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRequest(Generic[M]):
    """The arguments of `Client.events`, which documents them."""

    start: Day
    end: Day | None
    hour: int | None
    split: Split
    per_page: int | None
    concurrency: int
    model: type[M] | None = None
    max_events: int | None = None
    resume: str | None = field(repr=False)
    seen: SeenEvents | None = None
    on_drift: OnDrift
    check: Check = "auto"
    params: Params | None = None

    def __post_init__(self) -> None:
        for name in ("hour", "per_page", "concurrency", "max_events"):
            object.__setattr__(self, name, whole(getattr(self, name)))
        check_number("concurrency", self.concurrency, 1, MOST_CONCURRENT)
        check_number("max_events", self.max_events, 1, none="all")
        check_choice("on_drift", self.on_drift, OnDrift)
        check_choice("check", self.check, Check)
        check_seen(self.seen)


@dataclass(frozen=True, slots=True)
class Pull(Generic[M]):
    """A request with its plan.

    Attributes:
        plan: the queries; in a resumed pull, the remaining ones.
        position: the position of a resumed pull, else None.
        row_type: makes the caller's models; None for `Event`.
    """

    request: EventRequest[M]
    partner: str | None
    plan: Plan
    position: Position | None
    row_type: Typed[M] | None

    def models(self) -> Callable[[RawRows], Iterator[M]]:
        """Return a function that makes models of a page's events."""
        return (self.row_type or Typed.of(None)).read

    def page(self, page: FetchedPage) -> Page:
        """Make a page of dicts; a number that Python cannot hold is a ProtocolError."""
        return self._page(Page, page, page.rows.rows())

    def text_page(self, page: FetchedPage) -> TextPage:
        """Make a page of text without decoding its events."""
        return self._page(TextPage, page, page.rows.jsonl(), len(page))

    def _page(self, make: Callable[..., T], page: FetchedPage, *content: object) -> T:
        return make(
            page.cursor.slice,
            page.cursor.number,
            *content,
            page.last,
            token_of(page.position, self.plan, self.partner),
            page.signals.total,
            page.drift,
            page.partial,
            page.rows.source.request_id,
        )


class PullRun:
    """One run of a pull; `fanout` chooses the pages to fetch and to yield."""

    def __init__(self, pull: Pull[M], session: Session, *, is_output: bool = False) -> None:
        request, plan, config = pull.request, pull.plan, session.config
        position = pull.position or Position(
            plan.slices, plan.ranges, is_partial=plan.days is not None, cut_day=cut_day(plan)
        )
        deduplicator = None if request.seen is None else Deduplicator(request.seen)
        self.commit: Callable[[], None] = deduplicator.commit if deduplicator else lambda: None
        check = PullCheck(
            plan,
            position,
            check=request.check,
            is_output=is_output,
            is_bounded=request.max_events is not None,
            strict=request.on_drift == "raise",
        )
        self.fanout: Fanout[Job, Fetched, FetchedPage] = PageFanout(
            position,
            concurrency=request.concurrency,
            check=check,
            rules=SliceRules(request.on_drift, config.quota.limit or MOST_PAGES),
            max_events=request.max_events,
            observer=session.observer,
            deduplicator=deduplicator,
        )
        self._reader = PageReader(
            plan.per_page,
            plan.params,
            range_slice=Slice(plan.start, plan.end),
            accept_partial=request.on_drift == "warn",
            has_page=pull.position is not None,
        )
        unplanned = plan.split == "auto" and pull.position is None
        self._session = session
        self._pages = Planner(self._reader, plan) if unplanned else self._reader

    def fetch(self, job: Job) -> Operation[Fetched]:
        if isinstance(job, Comparison):
            failures = frozenset(self._reader.failures)
            return compare(self._session, job._replace(failures=failures))
        return self._pages.fetch(self._session, job)

    def written(self, size: int | None) -> None:
        """Report the size of the output, if it has one."""
        if size is not None:
            notify(self._session.observer.output, BytesWritten(size))


class QueryBase(Generic[D, M]):
    """The plan of a query, with the connection that will read it."""

    def __init__(self, pull: Pull[M], connection: Connection[D]) -> None:
        self._pull = pull
        self._connection = connection

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plan})"

    @property
    def plan(self) -> Plan:
        """Return the plan of this pull, without sending a request."""
        return self._pull.plan

    def only_days(self, days: Iterable[Day]) -> Self:
        """Return the same pull, but with requests for `days` only.

        This saves requests but does not filter events: with the splits `none` and `auto`, a query
        that spans several of these days also returns the events of any other days between them.

        Raises:
            ConfigurationError: for a value that is not a day, and for a resumed pull.

        Examples:
            >>> month = client.events("2026-01-01", "2026-01-31")
            >>> month.only_days(["2026-01-15", "2026-01-16"]).plan.least_requests
            48
        """
        return self._planned("only_days", self.plan.only_days(days))

    def only_before(self, moment: datetime) -> Self:
        """Return the same pull without requests for days and hours that begin after `moment`.

        Without this, a pull of today's events requests all 24 hours, even those not yet begun. If
        the pull is resumed later, it still leaves out hours that began in the meantime.

        Raises:
            ConfigurationError: for a moment without a time zone, and for a resumed pull.

        Examples:
            >>> day = client.events("2026-01-15")
            >>> day.only_before(datetime(2026, 1, 15, 14, 20, tzinfo=UTC)).plan.least_requests
            15
        """
        zone = self._connection.session.config.service.tzinfo()
        return self._planned("only_before", self.plan.only_before(moment, zone))

    def _counting(self) -> Operation[int | None]:
        """Request how many events a read would yield; None if only a read can tell."""
        request = self._pull.request
        if self._pull.position or request.seen is not None or request.max_events:
            return None
        return (yield from count_pull(self._connection.session, self.plan))

    @contextmanager
    def _running(self, *, progress: bool, is_output: bool = False) -> Iterator[PullRun]:
        """Run the pull for one result of all its pages, which is complete at the end of a block."""
        from adanalytics_client._progress import displayed

        session, queries = self._connection.session, self.plan.least_requests
        with displayed(session, progress=progress, queries=queries) as observed:
            run = PullRun(self._pull, observed, is_output=is_output)
            yield run
        run.commit()

    def _planned(self, name: str, plan: Plan) -> Self:
        if self._pull.position:
            raise ConfigurationError(
                f"{name}: the token of resume= already holds the days of its pull.",
                remedy=f"Leave {name} out.",
            )
        return type(self)(replace(self._pull, plan=plan), self._connection)

    def _scrubbed(self, work: Callable[[], T]) -> T:
        """Return the result of `work` on events that may echo the credential; its errors do not."""
        try:
            return work()
        except AdAnalyticsError as error:
            raise self._clean(error) from None

    def _each_scrubbed(self, events: Iterable[T]) -> Iterator[T]:
        """Yield events that are converted while they are taken; errors as of `_scrubbed`."""
        try:
            yield from events
        except AdAnalyticsError as error:
            raise self._clean(error) from None

    def _clean(self, error: AdAnalyticsError) -> AdAnalyticsError:
        self._connection.session.credentials.scrub(error)
        # The frames that convert events hold everything that the events echo.
        return error.with_traceback(None)


def each_row(events: RawRows) -> Iterator[dict[str, Json]]:
    """Decode the events as dicts, some at a time."""
    for part in events.parts():
        yield from part.rows()


def of_events(convert: Callable[[RawRows], T]) -> Callable[[FetchedPage], T]:
    """Convert the events of a page; what an output cannot hold becomes a ProtocolError."""

    def converted(page: FetchedPage) -> T:
        source = page.rows.source
        try:
            return convert(page.rows)
        except ProtocolError as error:
            raise source.sign(error) from None
        except RecursionError:
            problem = f"An event of {source.page} is nested too deeply for this format."
        except UnicodeEncodeError as error:
            text = ascii(error.object[error.start : error.end])
            problem = f"An event of {source.page} holds {text}, which UTF-8 cannot encode."
        raise source.sign(ProtocolError(problem, remedy=remedy("jsonl_events")))

    return converted


def plan_pull(request: EventRequest[M], session: Session) -> Pull[M]:
    """Plan the queries of a request."""
    config = session.config
    per_page, pages, partner = request.per_page, config.service.pages, config.partner
    token = None if request.resume is None else read_token(request.resume)
    if token and per_page is None:
        per_page = token.query.per_page
    plan = make_plan(
        *to_range(request.start, request.end, today=session.today()),
        hour=request.hour,
        split=request.split,
        per_page=per_page,
        # With seen=, the number of pages is unknown, because some of their events are left out.
        max_events=request.max_events if request.seen is None else None,
        params=further_params(request.params, _OWN_PARAMS),
        largest_page=pages.most if pages and pages.most else LARGEST_PAGE,
        by_hour=pages is None or pages.heeds.get("hour", True),
    )
    position = None if token is None else token.position_in(plan, partner)
    if position:
        remaining = None if plan.max_events is None else max(0, plan.max_events - position.passed)
        plan = replace(plan, slices=position.left(), ranges=position.ranges, max_events=remaining)
    # The caller's model is checked now; `Event` costs an import and is prepared when needed.
    row_type = None if request.model is None else Typed.of(request.model)
    return Pull(request, partner, plan, position, row_type)
