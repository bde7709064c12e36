"""The history of a dataset: its last runs that pulled hours or failed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from adanalytics_client._base.logs import LOG

from .errors import DatasetError, DatasetInUse
from .records.layout import RUNS
from .records.manifest import Identity, read_record, seal
from .report import SyncReport
from .storage.local import Store

MOST_RUNS = 100
"""The most runs that are kept; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Run:
    """A sync, or a commit of tasks, that pulled hours or failed.

    Attributes:
        began: the start of the run, in UTC.
        ended: the end of the run, in UTC.
        hours: the number of hours that were committed.
        events: the number of events in these hours.
        changed: the number of these hours whose events are new, other ones or gone.
        size: the size of the files of these hours in bytes; 0 for a run that was stopped.
        left: the number of hours that were needed but not pulled.
        failed: the number of queries that failed.
        error: the class of the error that stopped the run; empty if it ran to its end.
    """

    began: datetime
    ended: datetime
    hours: int
    events: int
    changed: int
    size: int
    left: int
    failed: int
    error: str


def read_runs(store: Store) -> list[Run]:
    """Read the runs in their order; a missing or damaged file has none."""
    return (read_record(store, RUNS, dict[str, list[Run]]) or {"runs": []})["runs"]


@contextmanager
def recorded_run(store: Store, report: SyncReport, now: Callable[[], datetime]) -> Iterator[None]:
    """Record what the `with` block reports, if it pulls hours or fails.

    A run that finds nothing to do writes nothing.
    """
    try:
        yield
    # The history is that of whoever has the lock.
    except DatasetInUse:
        raise
    except BaseException as error:
        _record(store, report, now(), type(error).__name__)
        raise
    if report.wanted or report.failed:
        _record(store, report, now(), "")


def _record(store: Store, report: SyncReport, ended: datetime, error: str) -> None:
    run = Run(
        report.began,
        ended.astimezone(UTC),
        len(report.hours),
        report.events,
        len(report.changed),
        report.size,
        report.left,
        len(report.failed),
        error,
    )
    try:
        # Before the first good answer of the service, there is no dataset.
        if Identity.read(store):
            runs = [*read_runs(store), run][-MOST_RUNS:]
            store.write(RUNS, seal({"runs": runs}), lasting=False)
    except DatasetError as failure:
        LOG.warning("The history of %s lacks a run: %s", store.place, failure.message)
