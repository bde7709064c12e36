"""Which page to ask for next and which to hand out, for many slices at once; no I/O."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from adanalytics_client._drift import Watch, cut
from adanalytics_client._following import following
from adanalytics_client._hooks import PageDrift
from adanalytics_client._pages import Cursor, Fetched
from adanalytics_client._plan import Division, Plan
from adanalytics_client._position import Position
from adanalytics_client.errors import ProtocolError

_DEPTH = 2

Arrived = Fetched | Division
"""What comes of a cursor when nothing went wrong."""


@dataclass(frozen=True, slots=True)
class Turned:
    """A fetched page with its cursor, whether its slice ends with it, and what is left then.

    Of a page that holds more than enough, the rest is left, too.
    """

    cursor: Cursor
    page: Fetched
    last: bool
    left: Position
    drift: PageDrift | None = None


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A page as it came and as it was kept, the cursor after it, and what it shows."""

    page: Fetched
    kept: Fetched
    ahead: Cursor | None
    drift: PageDrift | None


@dataclass(slots=True)
class _Lane:
    """One slice under way: its next cursor, and pages that wait for their turn.

    `resume` is the cursor of the first page that was not handed out, None after the last, and
    `index` the place of the slice among all, None for one that an earlier run had begun.
    """

    cursor: Cursor | None
    resume: Cursor | None
    index: int | None = None
    flying: bool = False
    watch: Watch = field(default_factory=Watch)
    pages: deque[_Waiting] = field(default_factory=deque)
    error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.cursor is None and not self.flying and not self.pages and self.error is None


class Fanout:
    """Hands out cursors to fetch and takes pages back, until the plan is done.

    At most `concurrency` cursors are out, and at most `2 * concurrency` pages are out or waiting.
    When ordered, pages come out in the order of the plan; the slice at the front goes on first, so
    waiting pages cannot block it. An error comes out where its page would have: what precedes
    it is not lost, and nothing behind it is started any more.

    Args:
        plan: the slices in order.
        concurrency: how many requests may be in flight.
        ordered: whether pages keep the order of the plan.
        enough: events after which nothing more is fetched, or None for all. With a bound, pages
            are fetched one at a time: a page ahead might turn out not to be needed.
        begin: where an earlier run of the same plan stopped; by default at the beginning.
        drifted: told when a page that moved is handed out.
        sifted: called with each page that is handed out; gives what shall be left of it.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        concurrency: int,
        ordered: bool,
        enough: int | None = None,
        begin: Position | None = None,
        drifted: Callable[[PageDrift], None] = lambda _: None,
        sifted: Callable[[Fetched], Fetched] = lambda page: page,
    ) -> None:
        begin = begin or Position(plan.slices, plan.stretches)
        self._slices, self._stretches, self._begun = begin.slices, begin.stretches, begin.begun
        self._lanes: deque[_Lane] = deque(_Lane(each, each) for each in begin.open)
        self._concurrency = concurrency if enough is None else 1
        self._ordered = ordered
        self._enough = enough
        self._flying = 0
        self._received = 0
        self._handed = 0
        self._failed = False
        self._drifted = drifted
        self._sifted = sifted

    @property
    def finished(self) -> bool:
        """Whether nothing is out, waiting, or left to start."""
        idle = not self._flying and not any(lane.pages or lane.error for lane in self._lanes)
        return idle and (self._full or not (self._lanes or self._may_open()))

    def start(self) -> Cursor | None:
        """A cursor to fetch now, or None when enough is out."""
        if self._flying >= self._concurrency or self._full or (self._failed and not self._ordered):
            return None
        room = self._concurrency * _DEPTH - self._flying - sum(len(x.pages) for x in self._lanes)
        if room <= 0:
            return None
        # From the front, because when ordered only pages of the front slice make room again.
        for lane in self._lanes:
            if lane.error is not None and self._ordered:
                return None
            if lane.cursor is not None and not lane.flying:
                return self._launch(lane)
        if self._may_open():
            first = Cursor(self._slices[self._begun])
            self._lanes.append(_Lane(first, first, self._begun))
            self._begun += 1
            return self._launch(self._lanes[-1])
        return None

    def settle(self, cursor: Cursor, outcome: Arrived | BaseException) -> None:
        """Take back what came of a cursor."""
        lane = next(each for each in self._lanes if each.flying and each.cursor is cursor)
        lane.flying = False
        self._flying -= 1
        if isinstance(outcome, BaseException):
            self._fail(lane, outcome)
            return
        if isinstance(outcome, Division):
            self._divide(lane, outcome)
            return
        try:
            ahead = following(cursor, outcome)
            kept, drift = lane.watch.judged(cursor, outcome, last=ahead is None)
        except ProtocolError as error:
            self._fail(lane, error)
            return
        lane.cursor = ahead and replace(ahead, repeated=lane.watch.repeated)
        self._received += len(kept)
        lane.pages.append(_Waiting(outcome, kept, lane.cursor, drift))

    def ready(self) -> Turned | None:
        """The next page to hand out, or None when it has not arrived.

        Raises:
            BaseException: the error of a fetch, where its page would have come.
        """
        for lane in list(self._lanes):
            if lane.pages and lane.resume:
                return self._turn(lane, lane.resume, lane.pages.popleft())
            if lane.error is not None:
                raise lane.error
            self._close(lane)
            if self._ordered and not lane.done:
                return None
        return None

    def _turn(self, lane: _Lane, cursor: Cursor, waiting: _Waiting) -> Turned:
        if waiting.drift:
            self._drifted(waiting.drift)
        page, lane.resume = self._sifted(waiting.kept), waiting.ahead
        self._received -= len(waiting.kept) - len(page)
        room = len(page) if self._enough is None else self._enough - self._handed
        self._handed += len(page)
        if room < len(page):
            lane.resume = cut(cursor, waiting.page, page, room)
        else:
            self._close(lane)
        # Whoever takes the page has no need of the one before it.
        cursor = replace(cursor, before=None)
        return Turned(cursor, page, waiting.ahead is None, self._left(), waiting.drift)

    def _launch(self, lane: _Lane) -> Cursor | None:
        lane.flying = True
        self._flying += 1
        return lane.cursor

    def _divide(self, lane: _Lane, division: Division) -> None:
        """Ask other slices; only the one slice of an auto plan is divided, and only once."""
        self._lanes.remove(lane)
        self._slices, self._stretches, self._begun = division.slices, division.stretches, 0

    def _fail(self, lane: _Lane, error: BaseException) -> None:
        lane.cursor, lane.error, self._failed = None, error, True

    def _left(self) -> Position:
        """What is left after the pages handed out; nothing fetched ahead counts as done."""
        begun = self._begun
        rest = [(lane.index, lane.resume) for lane in self._lanes if lane.resume is not None]
        while rest and rest[-1][0] == begun - 1 and _untouched(rest[-1][1]):
            rest.pop()
            begun -= 1
        cursors = tuple(cursor for _, cursor in rest)
        return Position(self._slices, self._stretches, begun, cursors)

    def _close(self, lane: _Lane) -> None:
        if lane.done:
            self._lanes.remove(lane)

    def _may_open(self) -> bool:
        return self._begun < len(self._slices) and not self._failed

    @property
    def _full(self) -> bool:
        return self._enough is not None and self._received >= self._enough


def _untouched(cursor: Cursor) -> bool:
    return cursor.number == 1 and not cursor.handed
