"""Plan the tasks of a sync: order exports, wait for them, and divide their files."""

from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import replace
from tempfile import TemporaryFile

from adanalytics_client._base.compression import GZIP_MAGIC
from adanalytics_client._exports.saved import read_saved
from adanalytics_client.dataset.hours.sections import Section
from adanalytics_client.dataset.pull.exports import (
    ExportFetcher,
    bare_connection,
    files_of,
    receive,
)
from adanalytics_client.dataset.pull.spool import Spool, Start
from adanalytics_client.dataset.tasks.task import Task
from adanalytics_client.errors import AdAnalyticsError
from adanalytics_client.jobs import ExportJob

TASK_BYTES = 64 * 1024 * 1024
"""The least bytes of a file that are worth a task of their own."""


def plan_tasks(exports: ExportFetcher, spools: Iterable[Spool]) -> list[Task]:
    """Order an export for each spool, wait for all of them, and return their tasks."""
    # All before waiting for the first: the service prepares them together.
    orders = [exports.order(spool) for spool in spools]
    return [task for start, job in orders for task in _tasks_of(exports, start, job)]


def _tasks_of(exports: ExportFetcher, start: Start, job: ExportJob) -> list[Task]:
    """Wait for an export, and divide it into tasks of one file, or of one section of a file."""
    total, files, store = job.wait().row_count, files_of(job), exports.store
    place = str(store.local("") or store.place)
    start = replace(start, job="")
    tasks = [
        Task(start, 0, len(files), total, place, exports.identity, each.to_json(), exports.types)
        for each in files
    ]
    pieces = [piece for task in tasks for piece in _sections_of(task)]
    return [replace(piece, number=number, of=len(pieces)) for number, piece in enumerate(pieces)]


def _sections_of(task: Task) -> list[Task]:
    """Divide a large file into several tasks, if the service can send ranges of it."""
    # Without a stated number of events nothing tells that all sections arrived: a checksum is that
    # of the complete file. And gzip can be read from its beginning only.
    export = read_saved(task.export)
    size = export.status.files[0].size_bytes
    if task.stated is None or (size is not None and size < 2 * TASK_BYTES):
        return [task]
    # A problem with the file is for the task to report.
    with suppress(AdAnalyticsError), TemporaryFile() as file:
        bare = bare_connection(export)
        with closing(bare.driver):
            stored = receive(file, range(4), export, bare)
        file.seek(0)
        if stored and not file.read().startswith(GZIP_MAGIC):
            sections = Section.of_size(stored.size, stored.size // TASK_BYTES)
            return [replace(task, section=each, stored=stored) for each in sections] or [task]
    return [task]
