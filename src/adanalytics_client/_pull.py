"""One pull of events as it was asked for: everything that both worlds share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from adanalytics_client._auto import Scout
from adanalytics_client._checks import check_text, is_whole
from adanalytics_client._dates import Day, to_range
from adanalytics_client._drift import announce
from adanalytics_client._effects import Operation
from adanalytics_client._fanout import Arrived, Fanout, Turned
from adanalytics_client._page import Page, TextPage
from adanalytics_client._page_reader import PageReader
from adanalytics_client._pages import Cursor, Fetched
from adanalytics_client._plan import Plan, make_plan
from adanalytics_client._position import Position, page_size_of, position_of, token_of
from adanalytics_client._seen import SeenEvents, Sieve, check_seen
from adanalytics_client._session import Session
from adanalytics_client._typed import M, Typed
from adanalytics_client.errors import ConfigurationError, ProtocolError

T = TypeVar("T")

MOST_CONCURRENT = 64


@dataclass(frozen=True, slots=True)
class Pull(Generic[M]):
    """A plan, and how its pages are fetched and what becomes of its events.

    Attributes:
        plan: what is to be asked; of a resumed pull, what is left to be asked.
        begin: where a resumed pull goes on, None for one from the beginning.
        typed: what makes the caller's models, or None for `Event`.
        seen: what earlier pulls brought, or None to leave nothing out.
    """

    plan: Plan
    partner: str | None
    concurrency: int
    ordered: bool
    typed: Typed[M] | None
    rows_key: str | None
    max_events: int | None
    begin: Position | None
    seen: SeenEvents | None

    @property
    def passed(self) -> int:
        """Events that were handed out before this pull was resumed."""
        return self.begin.passed if self.begin else 0

    def only_days(self, days: Iterable[Day]) -> "Pull[M]":
        """The same pull without queries for other days.

        Raises:
            ConfigurationError: for something that is no day, and for a resumed pull.
        """
        if self.begin:
            raise ConfigurationError(
                "only_days: the token of resume= knows the days of its pull; leave only_days out."
            )
        return replace(self, plan=self.plan.only_days(days))

    def models(self) -> Typed[M]:
        """What makes models of pages."""
        return self.typed or Typed.of(None)

    def sieve(self) -> Sieve:
        """What one reading leaves out; settle it when its events were handed out."""
        return Sieve(self.seen, self.left(self.passed))

    def fanout(self, session: Session, sieve: Sieve) -> Fanout:
        """A fresh fan-out over the plan."""
        return Fanout(
            self.plan,
            concurrency=self.concurrency,
            ordered=self.ordered,
            enough=self.left(self.passed),
            begin=self.begin,
            drifted=partial(announce, session.observer),
            sifted=sieve.kept,
        )

    def fetcher(self, session: Session) -> Callable[[Cursor], Operation[Arrived]]:
        """How one page is fetched."""
        reader = PageReader(self.plan.per_page, rows_key=self.rows_key)
        if self.plan.split == "auto" and self.begin is None:
            return partial(Scout(reader, self.plan).fetch, session)
        return partial(reader.fetch, session)

    def left(self, passed: int) -> int | None:
        """How many more events may pass, or None for all."""
        return None if self.max_events is None else max(0, self.max_events - passed)

    def taken(self, take: Callable[[Fetched, int | None], T], turned: Turned, passed: int) -> T:
        """What `take` makes of a page, told how many of its events still count.

        Raises:
            ProtocolError: also for events that are nested too deeply to be written, and for names
                that are no UTF-8 where only that can be.
        """
        origin = turned.page.origin
        try:
            return take(turned.page, self.left(passed))
        except ProtocolError as error:
            raise origin.sign(error) from None
        except RecursionError:
            told = f"An event of {origin.page} is nested too deeply to be written so."
        except UnicodeEncodeError as error:
            text = ascii(error.object[error.start : error.end])
            told = f"An event of {origin.page} holds {text}, which is no character of UTF-8."
        raise origin.sign(ProtocolError(f"{told} Write jsonl without columns=, which keeps it."))

    def page(self, turned: Turned, passed: int) -> Page:
        """A page for the user, cut where `max_events` ends.

        Raises:
            ProtocolError: when an event is not JSON.
        """
        rows = turned.page.rows(self.left(passed))
        token, total = self._token(turned, passed + len(rows)), turned.page.signals.total
        return Page(
            turned.cursor.slice,
            turned.cursor.number,
            rows,
            turned.last,
            token,
            total,
            turned.drift,
            turned.page.partial,
        )

    def text_page(self, turned: Turned, passed: int) -> TextPage:
        """The same without reading the events."""
        most, count = self.left(passed), len(turned.page)
        events = count if most is None else min(most, count)
        return TextPage(
            turned.cursor.slice,
            turned.cursor.number,
            turned.page.jsonl(most),
            events,
            turned.last,
            self._token(turned, passed + events),
            turned.page.signals.total,
            turned.drift,
            turned.page.partial,
        )

    def _token(self, turned: Turned, passed: int) -> str:
        return token_of(replace(turned.left, passed=passed), self.plan, self.partner)


def make_pull(
    start: Day,
    end: Day | None,
    *,
    hour: int | None,
    split: str,
    per_page: int | None,
    concurrency: int,
    ordered: bool,
    model: type[M] | None,
    rows_key: str | None,
    max_events: int | None,
    resume: str | None,
    seen: SeenEvents | None,
    partner: str | None,
) -> Pull[M]:
    """Check the arguments of `events` and plan the pull.

    Raises:
        ConfigurationError: naming the argument that is wrong.
    """
    if not is_whole(concurrency, 1, MOST_CONCURRENT):
        raise ConfigurationError(
            f"concurrency={concurrency!r}: pass a whole number of requests "
            f"from 1 to {MOST_CONCURRENT}."
        )
    if max_events is not None and not is_whole(max_events, 1):
        raise ConfigurationError(
            f"max_events={max_events!r}: pass a whole number, at least 1, or None for all."
        )
    check_text("rows_key", rows_key)
    check_seen(seen)
    first, last = to_range(start, end)
    # Nobody knows how many pages are needed where some of their events are left out.
    most = max_events if seen is None else None
    if resume is not None and per_page is None:
        per_page = page_size_of(resume)
    plan = make_plan(first, last, hour=hour, split=split, per_page=per_page, max_events=most)
    begin = None if resume is None else position_of(resume, plan, partner)
    if begin:
        left = None if plan.max_events is None else max(0, plan.max_events - begin.passed)
        plan = replace(plan, slices=begin.left(), stretches=begin.stretches, max_events=left)
    # A model of the caller's is checked now; ours need not be made before events are asked for.
    typed = None if model is None else Typed.of(model)
    return Pull(plan, partner, concurrency, ordered, typed, rows_key, max_events, begin, seen)
