"""Tasks of a sync and their results: data that schedulers carry between machines."""

from dataclasses import dataclass, field
from typing import Self

from adanalytics_client import __version__
from adanalytics_client._export_files import StoredFile
from adanalytics_client._json.types import Types
from adanalytics_client.dataset.hours.sections import Section
from adanalytics_client.dataset.pull.spool import Start
from adanalytics_client.dataset.records.manifest import FinishedHour, Identity, seal, unseal

FORMAT = 2
"""The version of tasks and parts; raise it when a worker of an earlier release misreads them."""


@dataclass(frozen=True, slots=True)
class _Planned:
    start: Start
    number: int
    of: int
    stated: int | None

    def to_json(self) -> str:
        """Return it as text, for schedulers that carry JSON.

        Anyone who has the text of a task can read its events until the address expires.

        Examples:
            >>> (task,) = Dataset("events").tasks(client, "2026-01-15")
            >>> Task.from_json(task.to_json()) == task
            True
        """
        return seal(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what `to_json` described; raise ValueError for other text.

        Examples:
            >>> (task,) = Dataset("events").tasks(client, "2026-01-15")
            >>> Task.from_json(task.to_json()).number
            0
        """
        return unseal(text.encode(), cls)


@dataclass(frozen=True, slots=True)
class Part(_Planned):
    """Hours that a task put into the dataset's store. No reader sees them before `commit`.

    Attributes:
        start: the export's query, and the time when the export began.
        number: the task's number, counting from 0.
        of: the total number of tasks for the export.
        stated: the number of events in the complete export, if the service states it.
        rows: the number of events in the task's file or section.
        hours: the query's hours, with their records and files. Empty if a quoted line break makes
            this part unreadable on its own: `commit` then reads the whole file.
    """

    rows: int
    hours: tuple[FinishedHour, ...]


@dataclass(frozen=True, slots=True)
class Task(_Planned):
    """A file of a bulk export, or a section of the file, that any process may sort into hours.

    A task is small, can be pickled and holds no credential. It does hold the address of its file.
    If the address is signed, anyone who has it can read the events until it expires. For `start`,
    `number`, `of` and `stated`, see `Part`.

    Attributes:
        place: the dataset's folder or address, which every machine must be able to reach.
        identity: the partner and service of the dataset, and the format of its files.
        export: the export job as text (see `ExportJob.to_json`), with only the file that this task
            reads.
        types: the columns that the dataset had when the task was planned.
        section: the bytes of the file that belong to the task; None for the whole file.
        stored: the size and version of the file, if only a section of it is requested.
        version: the version of this package that planned the task; a worker may have another patch
            release.
        format: the version of the task's own form, which a worker must know.

    Examples:
        >>> tasks = Dataset("events").tasks(client, "2026-01-15")
        >>> parts = [task.run() for task in tasks]
        >>> Dataset("events").commit(client, parts).events
        300
    """

    place: str
    identity: Identity
    export: str = field(repr=False)
    types: Types = field(default_factory=dict, hash=False, repr=False)
    section: Section | None = None
    stored: StoredFile | None = None
    version: str = __version__
    format: int = FORMAT

    def run(self) -> Part:
        """Download the file, check it, and put its events into the dataset's store, hour by hour.

        A task may run repeatedly or concurrently: its parts hold the same events, and `commit` uses
        only one.

        Returns:
            The part for `Dataset.commit`.

        Raises:
            DatasetError: when this machine cannot write to the dataset, cannot find it at `place`,
                or has a different minor version of this package, or when the plan is no longer
                valid.
            ExportExpired: when the file's address has expired.
            DownloadError: when the file does not arrive complete.
            ProtocolError: when the events cannot be read exactly.

        Examples:
            >>> (task,) = Dataset("events").tasks(client, "2026-01-15")
            >>> task.run().rows
            300
        """
        from adanalytics_client.dataset.storage.local import write_errors

        from .run import run_task

        with write_errors(self.place):
            return run_task(self)
