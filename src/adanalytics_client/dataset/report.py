"""The results of a sync and of a verification."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from adanalytics_client._base.dates import runs_of
from adanalytics_client._base.quantities import counted
from adanalytics_client.errors import Remedy

from .changes import DayChange
from .hours.compare import ComparedFigure, UncomparedFigure
from .records.layout import REPORTS, Hour
from .storage.local import Store

Repair = Literal["sync", "repull", "delete"]
"""The remedy for a problem: sync its day, sync its day with `repull`, or delete the file."""


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """A query whose hours could not be pulled or do not agree with the summary.

    Attributes:
        query: the day, the days or the hour that the query covers.
        kind: the class of the error.
        message: what happened.
        hours: the hours that could not be pulled because of the failure.
        remedy: what to do about it; "" if nothing is known to help.
        facts: the request id, the number of attempts and the address, as far as they are known.
    """

    query: str
    kind: str
    message: str
    hours: tuple[Hour, ...]
    remedy: Remedy = field(default_factory=Remedy)
    facts: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the failure as a dict of plain values.

        Examples:
            >>> hour = Hour(date(2026, 1, 15), 13)
            >>> FailedQuery(str(hour), "ServerError", "It failed.", (hour,)).as_json()["hours"]
            ['2026-01-15T13']
        """
        hours = [str(hour) for hour in self.hours]
        return {**asdict(self), "hours": hours, "remedy": str(self.remedy)}


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """What a sync would pull, and how many requests it would send.

    Attributes:
        hours: the hours that the sync would pull, each with the reason.
        events: the approximate number of events, from the summary, which leaves out filtered ones.
        requests: the most requests that the sync needs besides the two that find its hours, those
            for names included, unless the service changes or fails meanwhile. If it serves fewer
            events per page than `page`, states no totals, prepares an export for long, or divides
            its summaries into pages, the sync needs more.
        page: the number of events on a full page that this assumes: 10,000, or fewer by a profile
            of the service.
        exports: how many bulk exports the sync would use.
        damaged: descriptions of damaged files; the sync would pull their hours again.
        by_hour: whether each hour needs a query of its own, because the events do not tell their
            hours: they have no field that is known to hold a time.
        prices: the fewest requests for the events by `pages` and by `export`; `via="auto"` takes
            the way with the fewer ones, for each run of days.
    """

    hours: Mapping[Hour, str]
    events: int
    requests: int
    page: int
    exports: int
    damaged: Sequence[str]
    by_hour: bool = False
    prices: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return _repr_of(self, {"hour": len(self.hours), "request": self.requests})


@dataclass(slots=True)
class SyncReport:
    """The result of a sync; if it was stopped early, the result up to that point.

    Attributes:
        began: the start of the sync, in UTC.
        wanted: the number of hours to pull; None until it is known.
        hours: the hours that were pulled and committed, each with its number of events.
        changed: those of them whose events are new, other ones or gone, each with its number of
            events before and after.
        size: the size of the committed hours, each as a file of its own, in bytes; 0 until the sync
            ends.
        damaged: descriptions of damaged files; their hours were pulled again.
        failed: queries that failed; to retry them, run the same sync again.
        restated: the days whose events were replaced because the service restated them, and how
            their totals changed.
        pages: the number of pages that were fetched for hours still to come, and are kept, so that
            the next sync does not request them again.
        file: the path, inside the dataset, of the report on failed queries; empty if none failed.
    """

    began: datetime
    wanted: int | None = None
    hours: dict[Hour, int] = field(default_factory=dict)
    changed: dict[Hour, tuple[int, int]] = field(default_factory=dict)
    size: int = 0
    damaged: list[str] = field(default_factory=list)
    failed: list[FailedQuery] = field(default_factory=list)
    restated: list[DayChange] = field(default_factory=list)
    pages: int = 0
    file: str = ""

    @property
    def events(self) -> int:
        """Return the number of events in the hours that were committed."""
        return sum(self.hours.values())

    @property
    def left(self) -> int:
        """Return the number of hours that were needed but not pulled."""
        return (self.wanted or 0) - len(self.hours)

    def __repr__(self) -> str:
        counts = {"hour": len(self.hours), "event": self.events}
        problems = {"missing hour": self.left, "failure": len(self.failed)}
        return _repr_of(self, counts | {name: n for name, n in problems.items() if n})


def _repr_of(report: object, counts: Mapping[str, int]) -> str:
    return f"{type(report).__name__}({', '.join(counted(n, noun) for noun, n in counts.items())})"


def write_report(report: SyncReport, store: Store) -> None:
    """Write the report on failed queries, if there are any, and set `report.file` to its path."""
    if report.failed:
        report.file = f"{REPORTS}/{report.began:%Y%m%dT%H%M%SZ}.json"
        failed = [failure.as_json() for failure in report.failed]
        content = json.dumps({"at": report.began.isoformat(), "bad": failed}, indent=2)
        store.write(report.file, content.encode() + b"\n")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with a day or an hour of a dataset.

    Attributes:
        day: the day to pull again; None for a file that no sync would replace.
        what: the problem.
        hour: the hour, if the problem concerns one.
        remedy: `sync` if a sync of the day finds the problem and pulls only what is necessary,
            `repull` if a sync would not find it, `delete` if the file must be deleted.
        missing: True if data were never pulled from the service, False if pulled data are wrong.
        changed: a file whose bytes changed, as a path inside the dataset; empty for any other
            problem. If you delete the file, a sync of the day pulls only the hours of that file.
    """

    day: date | None
    what: str
    hour: int | None = None
    remedy: Repair = "repull"
    missing: bool = False
    changed: str = ""

    def __str__(self) -> str:
        if self.day is None:
            return self.what
        place = str(self.day) if self.hour is None else str(Hour(self.day, self.hour))
        return f"{place}  {self.what}"


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of a verification.

    Attributes:
        hours: the number of hours that were checked.
        events: the number of events in the checked hours.
        problems: everything that is wrong; empty for a complete, correct dataset.
        compared: the figures that were compared with the service, which are all equal unless
            `problems` names them; empty if none could be.
        uncompared: the figures that could not be compared on some or all days, and why.
        without_id: the number of events without an id, of which none can be called a repeat.
    """

    hours: int
    events: int
    problems: Sequence[Problem]
    compared: Sequence[ComparedFigure] = ()
    uncompared: Sequence[UncomparedFigure] = ()
    without_id: int = 0

    def __repr__(self) -> str:
        counts = {"hour": self.hours, "event": self.events, "problem": len(self.problems)}
        return _repr_of(self, counts)

    @property
    def is_whole(self) -> bool:
        """Return True if there are no problems."""
        return not self.problems

    def days_to_sync(self) -> list[tuple[date, date]]:
        """Return the first and last day of each run of consecutive days that a plain sync repairs.

        Examples:
            >>> missing = Problem(date(2026, 1, 15), "3 of 24 hours are missing", remedy="sync")
            >>> [str(first) for first, last in VerifyReport(21, 300, [missing]).days_to_sync()]
            ['2026-01-15']
        """
        return runs_of_days(self._days("sync") - self._days("repull"))

    def days_to_repull(self) -> list[tuple[date, date]]:
        """Return the first and last day of each run of consecutive days that only a repull can fix.

        Examples:
            >>> broken = [Problem(date(2026, 1, n), "is corrupt") for n in (15, 16, 18)]
            >>> [f"{first}..{last}" for first, last in VerifyReport(0, 0, broken).days_to_repull()]
            ['2026-01-15..2026-01-16', '2026-01-18..2026-01-18']
        """
        return runs_of_days(self._days("repull"))

    def _days(self, remedy: Repair) -> set[date]:
        return {
            problem.day for problem in self.problems if problem.day and problem.remedy == remedy
        }


def runs_of_days(days: set[date]) -> list[tuple[date, date]]:
    """Group days into runs of consecutive days; return the first and last day of each run."""
    return [(run[0], run[-1]) for run in runs_of(sorted(days))]
