"""Tasks of a sync and their results: data that schedulers carry between machines."""

from dataclasses import dataclass, field
from typing import Self

from adanalytics_client._exports.transfer import StoredFile
from adanalytics_client._version import __version__
from adanalytics_client.dataset.manifest import FinishedHour, Identity, seal, unseal
from adanalytics_client.dataset.spool import Start
from adanalytics_client.dataset.tasks.section import Section


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
    """Hours that a task put into the dataset's store, where no reader sees them before `commit`.

    Attributes:
        start: the query of the export, and when it began.
        number: the number of the task, from 0.
        of: the number of tasks of the export.
        stated: events of the complete export, if the service states them.
        rows: events of the file.
        hours: the hours of the query, with what the file has of each; none if a part of a file
            cannot be read alone, because a line break is in quotes: `commit` reads the file.
    """

    rows: int
    hours: tuple[FinishedHour, ...]


@dataclass(frozen=True, slots=True)
class Task(_Planned):
    """A file of a bulk export, or a part of one, which any process may sort into hours.

    A task is small, can be pickled and holds no credential, but the address of its file, which may
    be signed: whoever has it can read the events until it expires. Its `start`, `number`, `of` and
    `stated` are those of its `Part`.

    Attributes:
        place: the dataset, which every machine must reach under this name.
        identity: the partner and service of the dataset, and the format of its files.
        export: the export, with this file only, as text.
        section: the bytes of the file that count; None for all.
        stored: the length and version of that file, of which a section is requested.
        version: the version of this package that planned the task.

    Examples:
        >>> tasks = Dataset("events").tasks(client, "2026-01-15")
        >>> parts = [task.run() for task in tasks]
        >>> Dataset("events").commit(client, parts).events
        300
    """

    place: str
    identity: Identity
    export: str = field(repr=False)
    section: Section | None = None
    stored: StoredFile | None = None
    version: str = __version__

    def run(self) -> Part:
        """Download the file, check it, and put its events into the store, hour by hour.

        A task may run again, or twice at a time: `commit` takes only one of equal parts.

        Returns:
            The part for `Dataset.commit`.

        Raises:
            DatasetError: when this machine cannot write the dataset, does not have it under that
                name, or has another version of this package; also when the plan has ended.
            ExportExpired: when the address has expired.
            DownloadError: when the file does not arrive complete.
            ProtocolError: when the events cannot be read exactly.

        Examples:
            >>> (task,) = Dataset("events").tasks(client, "2026-01-15")
            >>> task.run().rows
            300
        """
        from adanalytics_client.dataset.storage.store import write_errors
        from adanalytics_client.dataset.tasks.execute import run_task

        with write_errors(self.place):
            return run_task(self)
