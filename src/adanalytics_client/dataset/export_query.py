"""Bring a query as one file that the service writes, and sort that file into its hours.

Disk space is needed for the file, once more for its events as Arrow columns, and for the hours;
memory for what `HourSpill` holds. The file and the order for it lie in the dataset's folder for
exports, so that a later run goes on with both.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from adanalytics_client import ConfigurationError, ExportJob, ProtocolError
from adanalytics_client.dataset.csv_events import read_csv
from adanalytics_client.dataset.hour_file import FinishedHour
from adanalytics_client.dataset.layout import EXPORTS
from adanalytics_client.dataset.partition import HourSpill
from adanalytics_client.dataset.pull import Pull
from adanalytics_client.dataset.query import Query
from adanalytics_client.dataset.started_queries import HEAD, Begun, drop, read_head, write_head
from adanalytics_client.dataset.store import Store

if TYPE_CHECKING:
    from adanalytics_client import Client

# The only format that the service documents.
_FORMAT = "csv"


class BulkExport:
    """The export of one query, kept in the dataset until its hours are committed.

    Args:
        client: what to ask with.
        store: the dataset.
        query: what it holds.
        basis: what it is good for: the fingerprints of its days.
    """

    def __init__(self, client: "Client", store: Store, query: Query, basis: str) -> None:
        self._client = client
        self._store = store
        self._query = query
        self._basis = basis
        self._name = f"{EXPORTS}/{query}"

    def order(self, clock: Callable[[], datetime]) -> tuple[ExportJob, datetime]:
        """The export under way that an earlier run has ordered, or a new one, and since when."""
        kept = read_head(self._store, f"{self._name}/{HEAD}")
        if kept is not None and kept.basis == self._basis:
            with suppress(ConfigurationError):
                return ExportJob.from_json(self._client, kept.job), kept.at
        self.clear()
        began = clock()
        job = self._client.start_export(self._query.first, self._query.last, format=_FORMAT)
        begun = Begun(self._query, began, self._basis, job.to_json())
        write_head(self._store, f"{self._name}/{HEAD}", begun)
        return job, began

    @contextmanager
    def hours(self, job: ExportJob, pull: Pull) -> Iterator[Iterator[FinishedHour]]:
        """The finished files of the hours that are wanted, one after the other.

        Raises ExportError or DownloadError when the file cannot be had, and ProtocolError when it
        is not whole or holds an event twice; the hours before it were given.
        """
        folder = self._store.local(self._name) or pull.folder
        folder.mkdir(parents=True, exist_ok=True)
        file = job.download(folder / f"{self._query}.{_FORMAT}")
        with TemporaryDirectory(dir=pull.folder) as scratch:
            spill = HourSpill(Path(scratch))
            for table in read_csv(file, pull.tables):
                spill.add(table)
            told = job.last_status.row_count
            if told is not None and told != spill.rows:
                raise ProtocolError(
                    f"The export of {self._query} has {spill.rows:,} events, not {told:,}."
                )
            yield map(_once, pull.files_of(spill, self._query.wanted))

    def clear(self) -> None:
        """Throw the order and the file away."""
        drop(self._store, self._name)


def _once(finished: FinishedHour) -> FinishedHour:
    if finished.repeated:
        raise ProtocolError(
            f"The export holds {finished.repeated:,} events of {finished.hour} twice."
        )
    return finished
