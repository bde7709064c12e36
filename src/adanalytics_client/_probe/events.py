"""How the service divides events into days, hours and pages."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from adanalytics_client._base.effects import Operation
from adanalytics_client._json.exact import Json
from adanalytics_client._probe.asker import DAY, FEW, MOST, Asker, ProbeDay
from adanalytics_client._probe.columns import (
    column_profiles,
    moment_of,
    offsets_of,
    order_of,
    time_column,
    zone_text,
)
from adanalytics_client._probe.places import Look, number_places, rows_place
from adanalytics_client._shapes.service import Days, PageProfile

_LONG_AGO = date(2000, 1, 1)


@dataclass(slots=True)
class EventProbe:
    """Looks at the events of a day.

    Attributes:
        rows_key: the path of the list of events.
        zone: the time zone of days and hours; None if no time shows it.
    """

    asker: Asker
    day: ProbeDay
    rows_key: str | None = None
    zone: str | None = None
    _places: PageProfile = field(default_factory=PageProfile)
    _heeds: dict[str, bool] = field(default_factory=dict)
    _first: int = 1
    _most: int | None = None
    _total: int | None = None

    def run(self) -> Operation[PageProfile | None]:
        """Return how events are divided; None if the service does not serve them.

        It costs at most seven requests.
        """
        page = yield from self._look(page=1, per_page=FEW)
        if not page.status:
            return None
        days, page = yield from self._first_page(page)
        self.rows_key = rows_place(page, also="events", hint=self.asker.hint)
        rows = self.day.rows = page.rows(self.rows_key)
        self._places = number_places(page, rows)
        if not rows:
            return replace(self._places, shortfall=page.shortfall)
        self._total = _integer(page.at(self._places.total))
        stable = yield from self._read_whole(rows)
        columns = column_profiles(self.day.rows)
        order = order_of(self.day.rows, columns)
        past_end = yield from self._turn_pages(rows)
        yield from self._ask_hour(time_column(columns))
        empty = yield from self._ask_empty()
        if days is None:
            days = yield from self._ask_two_days()
        return replace(
            self._places,
            shortfall=page.shortfall,
            first=self._first,
            most=self._most,
            days=days,
            heeds=self._heeds,
            empty=empty,
            past_end=past_end,
            order=order,
            stable=stable,
        )

    def _look(self, **parameters: object) -> Operation[Look]:
        days = {"start_date": self.day.day, "end_date": self.day.end}
        return self.asker.look("events", **{**days, **parameters})

    def _rows(self, look: Look) -> list[dict[str, Json]]:
        return look.rows(self.rows_key)

    def _first_page(self, page: Look) -> Operation[tuple[Days | None, Look]]:
        """Return the first page with events: by another number, or by another `end_date`."""
        key = rows_place(page, also="events", hint=self.asker.hint)
        if page.rows(key):
            return None, page
        if _integer(page.at(number_places(page, ()).total)):
            self._first = 0
            return None, (yield from self._look(page=0, per_page=FEW))
        if self.day.day in self.day.listed:
            self.day.end += DAY
            later = yield from self._look(page=1, per_page=FEW)
            key = rows_place(later, also="events", hint=self.asker.hint)
            if later.rows(key):
                return "exclusive", later
            self.day.end = self.day.day
        return None, page

    def _read_whole(self, rows: list[dict[str, Json]]) -> Operation[bool | None]:
        """Look at the first page again, with all events of a small day; return if it is stable."""
        expected = self._total if self._total is not None else self.day.count
        size = MOST if expected is not None and expected <= MOST else FEW // 2
        again = self._rows((yield from self._look(page=self._first, per_page=size)))
        if not again and self._first and size == MOST:
            # There is no second page of so many events, so pages count from 0.
            self._first = 0
            again = self._rows((yield from self._look(page=0, per_page=size)))
        if len(again) not in {0, len(rows)}:
            self._heeds["per_page"] = len(rows) <= FEW and len(again) <= size
        elif len(again) > min(size, FEW):
            self._heeds["per_page"] = False
        self.day.rows = max(again, rows, key=len)
        self.day.is_whole = len(self.day.rows) == self._total or (
            self._total is None and size == MOST and len(again) not in {0, len(rows)}
        )
        # A little more than arrived may be a wrong total.
        if size == MOST and self._total and len(rows) < len(again) <= self._total // 2:
            self._most = len(again)
        begin = 0 if self._first or len(rows) < FEW else FEW
        common = min(len(rows), len(again) - begin)
        if again[begin : begin + common] == rows[:common]:
            return True if again else None
        if size < FEW:
            # If pages count from 0, the second page of each size came.
            zero = self._rows((yield from self._look(page=0, per_page=size)))
            if zero and zero != again:
                self._first, self.day.rows = 0, zero
                return None
        return False

    def _turn_pages(self, rows: list[dict[str, Json]]) -> Operation[str | None]:
        """Look at the second page and behind the last one; return the response to the latter."""
        number = 1 if self._first == 0 else 2
        second = yield from self._look(page=number, per_page=FEW)
        others = self._rows(second)
        first = self.day.rows[: len(rows)]
        if others:
            self._heeds["page"] = others != first
        count = self._total if self._total is not None else len(self.day.rows)
        if not others:
            return self._words(second) if count <= FEW else None
        if not self._heeds["page"] or (self._total is None and not self.day.is_whole):
            return None
        behind = self._first + -(-count // len(rows)) + 1
        return self._words((yield from self._look(page=behind, per_page=FEW)))

    def _ask_hour(self, time: str | None) -> Operation[None]:
        """Look at the hour with the most events, and find the zone that explains its times."""
        moments = [moment for row in self.day.rows if time and (moment := moment_of(row.get(time)))]
        hours = Counter(moment.hour for moment in moments)
        hour = max(hours, key=hours.__getitem__, default=12)
        most = MOST if self.day.is_whole else FEW
        look = yield from self._look(hour=hour, page=self._first, per_page=most)
        rows = self._rows(look)
        total = _integer(look.at(self._places.total))
        if not rows:
            return
        whole = self._total if self._total is not None else len(self.day.rows)
        size = len(rows) if total is None else total
        if size == whole and len(hours) > 1:
            self._heeds["hour"] = False
            return
        if size < whole:
            self._heeds["hour"] = True
        day = str(self.day.day)
        within = [moment for row in rows if time and (moment := moment_of(row.get(time)))]
        offsets = offsets_of(within, day, hour) if within else set()
        if self.day.is_whole:
            offsets &= offsets_of(moments, day)
        if timedelta(0) in offsets:
            self.zone = "UTC"
        elif len(offsets) == 1:
            self.zone = zone_text(offsets.pop())

    def _ask_empty(self) -> Operation[str | None]:
        """Look at an hour of a day without events."""
        first = min(self.day.listed, default=self.day.day)
        long_ago = max(_LONG_AGO, first - 400 * DAY)
        # A service that ignores the dates would send so many.
        most = MOST if self.day.is_whole else FEW
        look = yield from self._look(
            start_date=long_ago, end_date=long_ago, hour=0, page=self._first, per_page=most
        )
        size = _integer(look.at(self._places.per_page))
        if size and size < most:
            self._most = size
        return self._words(look)

    def _ask_two_days(self) -> Operation[Days | None]:
        """Look at the day with a neighbour; return whether both dates belong to the range."""
        days = self.day.listed
        if self.day.day + DAY not in days:
            return None
        most = 1 if self._total is not None else MOST if self.day.is_whole else FEW
        look = yield from self._look(end_date=self.day.day + DAY, page=self._first, per_page=most)
        size = _integer(look.at(self._places.total))
        size = len(self._rows(look)) if size is None else size
        whole = self._total if self._total is not None else len(self.day.rows)
        if not look.status or not size:
            return None
        return "inclusive" if size > whole else "first"

    def _words(self, look: Look) -> str | None:
        """Describe a response without events: its status, and what is in place of the list."""
        if not look.status:
            return None
        if not 200 <= look.status < 300 or look.status == 204:
            return str(look.status)
        value = look.at(self.rows_key or "")
        text = "rows" if value else "null" if value is None else "[]"
        if look.content == {}:
            text = "{}"
        return f"{look.status} {text}"


def _integer(value: Json) -> int | None:
    """Return a number of a response, which in a header is a text."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() else None
