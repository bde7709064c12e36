"""Plan the tasks of a sync: order exports, wait for them, and divide their files."""

from contextlib import closing, suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile

from adanalytics_client import AdAnalyticsError, ExportJob
from adanalytics_client._export_files import files_of, open_signed
from adanalytics_client.dataset.hours.sections import Section
from adanalytics_client.dataset.planning import PullQuery
from adanalytics_client.dataset.pull.fetch import Fetcher
from adanalytics_client.dataset.pull.spool import Spool, Start, keep_started, list_started
from adanalytics_client.dataset.staging import Staging
from adanalytics_client.dataset.update import Update, doubtful_hours

from .task import Task

TASK_BYTES = 64 * 1024 * 1024
"""The least bytes of a file that are worth a task of their own."""


def plan_tasks(update: Update) -> list[Task]:
    """Order an export of each day with needed hours, wait for all, and return their tasks."""
    needs, contents = update.find_needs(), update.contents
    update.begin()
    doubtful = doubtful_hours(
        needs, Staging(contents, needs.service, update.report, update.client.observer)
    )
    # An earlier plan ends here.
    store = contents.store
    keep_started(store, [start for start in list_started(store) if start.query.way == "pages"])
    by_day = groupby(sorted({*needs.asked, *doubtful}), lambda hour: hour.day)
    queries = [PullQuery("export", day, day, None, tuple(hours)) for day, hours in by_day]
    basis = needs.service.basis
    spools = [Spool.open(store, query, basis(query.first, query.last)) for query in queries]
    with closing(update.fetcher(Path())) as fetcher:
        # All before waiting for the first: the service prepares them together.
        orders = [fetcher.order(spool) for spool in spools]
        return [task for start, job in orders for task in _tasks_of(fetcher, start, job)]


def _tasks_of(fetcher: Fetcher, start: Start, job: ExportJob) -> list[Task]:
    """Wait for an export, and divide it into tasks of one file, or of one section of a file."""
    total, store, pieces = job.wait().row_count, fetcher.store, []
    # The job may hold what only the planner needs, and tasks are stored by schedulers.
    place, start = str(store.local("") or store.place), replace(start, job="")
    files, identity, types = files_of(job), fetcher.identity, fetcher.types
    for saved in files:
        text = saved.to_json()
        pieces += _sections_of(Task(start, 0, len(files), total, place, identity, text, types))
    return [replace(piece, number=number, of=len(pieces)) for number, piece in enumerate(pieces)]


def _sections_of(task: Task) -> list[Task]:
    """Divide a large file into several tasks, if the service can send ranges of it."""
    # Without a stated number of events nothing tells that all sections arrived: a checksum is that
    # of the complete file. And gzip can be read from its beginning only.
    if task.stated is None:
        return [task]
    # A problem with the file is for the task to report.
    with suppress(AdAnalyticsError), open_signed(task.export) as export, TemporaryFile() as file:
        if export.size is not None and export.size < 2 * TASK_BYTES:
            return [task]
        if stored_file := export.receive(file, range(4)):
            file.seek(0)
            sections = Section.divide(file.read(), stored_file.size, stored_file.size // TASK_BYTES)
            return [replace(task, section=part, stored=stored_file) for part in sections] or [task]
    return [task]
