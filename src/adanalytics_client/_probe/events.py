"""How the service divides events into days, hours and pages."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from adanalytics_client._base.dates import moment_of
from adanalytics_client._base.effects import Operation
from adanalytics_client._json.exact import Json
from adanalytics_client._shapes.page import number_of
from adanalytics_client._shapes.service import ColumnProfile, Days, PageProfile, Parameter

from .asker import DAY, FEW, MOST, Asker, ProbeDay
from .columns import (
    column_profiles,
    likely_offset,
    offsets_of,
    order_of,
    time_column,
    zone_text,
)
from .places import Look, number_places, rows_place

_REFUSED = frozenset({400, 422})
# By default, as published.
_USUAL = 1_000
# What a page after the last one may be refused with; anything else is a failure.
_ENDS = frozenset({400, 404, 410, 416, 422})


@dataclass(slots=True)
class EventProbe:
    """Looks at the events of a day.

    Attributes:
        rows_key: the path of the list of events.
        zone: the time zone of days and hours; None if no time shows it.
        time: the field whose values an hour explains; None for none or several.
    """

    asker: Asker
    day: ProbeDay
    rows_key: str | None = None
    zone: str | None = None
    time: str | None = None
    _places: PageProfile = field(default_factory=PageProfile)
    _heeded_names: dict[Parameter, bool] = field(default_factory=dict)
    _first: Literal[0, 1] = 1
    _most: int | None = None
    _total: int | None = None

    def run(self) -> Operation[PageProfile | None]:
        """Return how events are divided; None if the service does not serve them.

        It costs at most eight requests.
        """
        page = yield from self._look(page=1, per_page=FEW)
        if not page.is_good:
            # All others depend on it.
            page = yield from self._look(page=1, per_page=FEW)
        if not page.is_good:
            return None
        days, page = yield from self._first_page(page)
        self.rows_key = rows_place(page, name="events", hint=self.asker.hint)
        rows = self.day.rows = page.rows(self.rows_key)
        self._places = PageProfile(**number_places(page, self.rows_key))
        if not rows:
            return replace(self._places, shortfall=page.shortfall)
        self._total = number_of(page.at(self._places.total))
        stable = yield from self._read_whole(rows)
        columns = column_profiles(self.day.rows)
        order = order_of(self.day.rows, columns)
        past_end = yield from self._turn_pages(rows)
        yield from self._ask_hour(columns)
        empty = yield from self._ask_empty()
        if days is None:
            days = yield from self._ask_two_days()
        return replace(
            self._places,
            shortfall=page.shortfall,
            first=self._first,
            most=self._most,
            days=days,
            heeds=self._heeded_names,
            empty=empty,
            past_end=past_end,
            order=order,
            stable=stable,
        )

    def _look(self, **parameters: object) -> Operation[Look]:
        days = {"start_date": self.day.day, "end_date": self.day.end}
        return self.asker.look("events", **{**days, **parameters})

    @property
    def _count(self) -> int:
        return len(self.day.rows) if self._total is None else self._total

    def _rows(self, look: Look) -> list[dict[str, Json]]:
        return look.rows(self.rows_key)

    def _first_page(self, page: Look) -> Operation[tuple[Days | None, Look]]:
        """Return the first page with events: by another number, or by another `end_date`."""
        key = rows_place(page, name="events", hint=self.asker.hint)
        if page.rows(key):
            return None, page
        # No events on page 1, but a total: pages count from 0.
        if number_of(page.at(number_places(page, None).get("total", ""))):
            self._first = 0
            return None, (yield from self._look(page=0, per_page=FEW))
        # The service lists the day, so `end_date` may not be included.
        if self.day.day in self.day.data_days:
            self.day.end += DAY
            next_look = yield from self._look(page=1, per_page=FEW)
            if not next_look.is_good:
                self.day.end = self.day.day
                return None, page
            key = rows_place(next_look, name="events", hint=self.asker.hint)
            if next_look.rows(key):
                return "exclusive", next_look
            self.day.end = self.day.day
        return None, page

    def _read_whole(self, rows: list[dict[str, Json]]) -> Operation[bool | None]:
        """Look at the first page again, with all events of a small day; return if it is stable."""
        count = self.day.counts.get(self.day.day)
        # A count below the events of a page counts something else.
        count = count if count and count > len(rows) else None
        total = self._total if self._total is not None else count
        size = MOST if total is not None and total <= MOST else FEW // 2
        look = yield from self._look(page=self._first, per_page=size)
        if look.status in _REFUSED and size == MOST:
            # A smaller page than the published most may be the largest.
            look = yield from self._look(page=self._first, per_page=_USUAL)
            self._most = _USUAL if look.is_good else None
        second_rows = self._rows(look)
        if not look.is_good:
            return None
        if not second_rows and size == MOST:
            # There may be no second page of so many events, if pages count from 0.
            second_rows = self._rows((yield from self._look(page=0, per_page=size)))
            self._first = 0 if second_rows else self._first
        if len(second_rows) not in {0, len(rows)}:
            self._heeded_names["per_page"] = len(rows) <= FEW and len(second_rows) <= size
        elif len(second_rows) > min(size, FEW):
            self._heeded_names["per_page"] = False
        self.day.rows = max(second_rows, rows, key=len)
        self.day.is_whole = len(self.day.rows) == self._total or (
            self._total is None and size == MOST and len(second_rows) not in {0, len(rows)}
        )
        # A little more than arrived may be a wrong total.
        if size == MOST and self._total and len(rows) < len(second_rows) <= self._total // 2:
            self._most = len(second_rows)
        begin = 0 if self._first or len(rows) < FEW else FEW
        common = min(len(rows), len(second_rows) - begin)
        if second_rows[begin : begin + common] == rows[:common]:
            return True if second_rows else None
        if size < FEW:
            # If pages count from 0, the second page of each size came.
            zero = self._rows((yield from self._look(page=0, per_page=size)))
            if zero and zero != second_rows:
                self._first, self.day.rows = 0, zero
                return None
        return False

    def _turn_pages(self, rows: list[dict[str, Json]]) -> Operation[str | None]:
        """Look at the second page and behind the last one; return the response to the latter."""
        # The second page, by the service's own numbering.
        number = 1 if self._first == 0 else 2
        second = yield from self._look(page=number, per_page=FEW)
        second_rows = self._rows(second)
        if not (second.is_good or second.status in _ENDS):
            return None
        first = self.day.rows[: len(rows)]
        if second_rows:
            self._heeded_names["page"] = second_rows != first
        if not second_rows:
            return self._words(second) if self._count <= FEW else None
        # Where the end is, is not known, or there is none.
        if not self._heeded_names["page"] or (self._total is None and not self.day.is_whole):
            return None
        page = self._first + -(-self._count // len(rows)) + 1
        return self._words((yield from self._look(page=page, per_page=FEW)))

    def _ask_hour(self, columns: Mapping[str, ColumnProfile]) -> Operation[None]:
        """Look at the hour with the most events; find the field and the zone that explain it."""
        times = [name for name, column in columns.items() if column.role == "time"]
        times = [name] if (name := time_column(columns)) else times
        moments = {name: self._moments(self.day.rows, name) for name in times}
        hours = Counter(moment.hour for name in times[:1] for moment in moments[name])
        hour = max(hours, key=hours.__getitem__, default=12)
        page_size = MOST if self.day.is_whole else FEW
        look = yield from self._look(hour=hour, page=self._first, per_page=page_size)
        rows = self._rows(look)
        total = number_of(look.at(self._places.total))
        if not rows:
            return
        size = len(rows) if total is None else total
        if size == self._count and len(hours) > 1:
            self._heeded_names["hour"] = False
            return
        if size < self._count:
            self._heeded_names["hour"] = True
        offsets = {}
        for name in times:
            fitting = offsets_of(self._moments(rows, name), self.day.day, hour)
            if self.day.is_whole:
                fitting &= offsets_of(moments[name], self.day.day)
            if fitting:
                offsets[name] = fitting
        if len(offsets) != 1:
            return
        ((self.time, fitting),) = offsets.items()
        form, offset = columns[self.time].form, likely_offset(fitting)
        # That a time without a zone fits shows nothing, because it may be local.
        has_zone = form.startswith("epoch") or form.endswith("Z") or "+" in form
        if offset is not None and (offset or has_zone):
            self.zone = zone_text(offset)

    def _moments(self, rows: list[dict[str, Json]], name: str) -> list[datetime]:
        return [moment for row in rows if (moment := moment_of(row.get(name)))]

    def _ask_empty(self) -> Operation[str | None]:
        """Look at an hour of a day without events."""
        if not self.day.data_days:
            return None
        # Much earlier days may be refused because they are too old.
        empty = self.day.data_days[0] - DAY
        # A service that ignores the dates would send so many.
        page_size = MOST if self.day.is_whole else FEW
        look = yield from self._look(
            start_date=empty, end_date=empty, hour=0, page=self._first, per_page=page_size
        )
        size = number_of(look.at(self._places.per_page))
        if size and size < page_size:
            self._most = size
        # A refusal may be of the day, whatever it has.
        return self._words(look) if look.is_good or look.status == 404 else None

    def _ask_two_days(self) -> Operation[Days | None]:
        """Look at the day with a neighbour; return whether both dates belong to the range."""
        days = self.day.data_days
        next_day = self.day.day + DAY
        if next_day not in days or not self.day.counts.get(next_day, self._total is not None):
            return None
        page_size = 1 if self._total is not None else MOST if self.day.is_whole else FEW
        look = yield from self._look(
            end_date=self.day.day + DAY, page=self._first, per_page=page_size
        )
        size = number_of(look.at(self._places.total))
        size = len(self._rows(look)) if size is None else size
        if not look.is_good or not size:
            return None
        # Without a total, a full page may be one of several.
        is_known = self._total is not None and next_day in self.day.counts
        return "inclusive" if size > self._count else "first" if is_known else None

    def _words(self, look: Look) -> str | None:
        """Describe a response without events: its status, and what is in place of the list."""
        if look.status in _ENDS or look.status == 204:
            return str(look.status)
        if not look.is_good:
            return None
        value = look.at(self.rows_key or "")
        text = "rows" if value else "null" if value is None else "[]"
        # An object without a list is told apart from one with an empty list.
        if look.content == {}:
            text = "{}"
        return f"{look.status} {text}"
