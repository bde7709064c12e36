"""Run a task: download its file, check it, and sort its events into hours that no reader sees."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

from adanalytics_client import __version__
from adanalytics_client._export_files import open_signed
from adanalytics_client.dataset.errors import DatasetError
from adanalytics_client.dataset.hours.sort import HourUnknown
from adanalytics_client.dataset.pull.exports import sort
from adanalytics_client.dataset.pull.spool import folder_of, read_start
from adanalytics_client.dataset.storage.local import open_store
from adanalytics_client.errors import ProtocolError

from .task import FORMAT, Part, Task


def run_task(task: Task) -> Part:
    # A patch release repairs, and reads the same tasks unless it says so by their format.
    if task.format != FORMAT or _minor(task.version) != _minor(__version__):
        raise DatasetError(
            f"The task was planned by adanalytics {task.version}; this machine has {__version__}.",
            remedy="Install the same version on every machine.",
        )
    store, plan = open_store(task.place), folder_of(task.start.query)
    start = read_start(store, plan)
    if start is None or replace(start, job="") != task.start:
        raise DatasetError(
            f"{task.place} does not have the plan of this task on this machine.",
            remedy="Give every machine the same storage under this name. If it has: another "
            "sync ended the plan, so plan again.",
        )
    name = f"{plan}/{token_hex(8)}"
    # It fails without the right to write, before anything is downloaded.
    store.write(f"{name}/begun", b"\n", lasting=False)
    with TemporaryDirectory(prefix="adanalytics-") as scratch, open_signed(task.export) as export:
        # With the plan, what a killed task left is removed, too.
        folder = store.local(name) or Path(scratch)
        file = folder / "export"
        if (stored_file := task.stored) and task.section:
            receive = partial(export.receive, file_version=stored_file)
            task.section.collect(file, stored_file.size, receive)
        else:
            export.download(file)
        try:
            finished, rows = sort(task.start, task.identity, task.types, file, folder, task.section)
        except ProtocolError as error:
            if not task.section or isinstance(error, HourUnknown):
                raise
            # Perhaps it begins or ends inside a line, after a line break in quotes.
            finished, rows = [], 0
        file.unlink()
        names = {hour.file: f"{name}/{Path(hour.file).name}" for hour in finished if hour.file}
        for path, hidden in names.items():
            store.move_in(path, hidden)
    hours = tuple(replace(hour, file=names.get(hour.file or "")) for hour in finished)
    return Part(task.start, task.number, task.of, task.stated, rows, hours)


def _minor(version: str) -> list[str]:
    """Return a version without its last number, which counts patch releases."""
    return version.split(".")[:2]
