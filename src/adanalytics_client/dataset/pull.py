"""Pull a query into the files of its hours, and begin again when its data change meanwhile."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from adanalytics_client import ProtocolError
from adanalytics_client.dataset.arrow_events import EventTables
from adanalytics_client.dataset.hour_file import FinishedHour, HourFile
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.layout import PartFormat
from adanalytics_client.dataset.pages import Drift, read_pages
from adanalytics_client.dataset.partition import HourSpill, HourUnknown
from adanalytics_client.dataset.query import Query
from adanalytics_client.dataset.spool import Spool

if TYPE_CHECKING:
    from adanalytics_client import Client

ATTEMPTS = 3
"""How often a query is begun whose data change while it is paged."""


@dataclass(frozen=True, slots=True)
class Pull:
    """How queries are pulled in one run.

    Attributes:
        client: what to ask with.
        folder: where files are written before they are put under their names.
        form: the form of the files.
        tables: makes tables of events.
        clock: the present moment in UTC.
    """

    client: "Client"
    folder: Path
    form: PartFormat
    tables: EventTables
    clock: Callable[[], datetime]

    def by_pages(self, query: Query, spool: Spool) -> tuple[list[FinishedHour], datetime]:
        """The finished files of the hours that are wanted, and when they were first asked for.

        Raises AdAnalyticsError when a page cannot be had; the pages before it stay spooled.
        """
        problem = ""
        for attempt in range(ATTEMPTS):
            began = spool.began()
            if began is None or attempt:
                began = self.clock()
                spool.begin(began)
            try:
                return self._read_pages(query, spool), began
            except Drift as drift:
                problem = f"{str(drift).rstrip('.')}."
        spool.clear()
        raise ProtocolError(
            f"The pages of {query} did not fit together in {ATTEMPTS} attempts: {problem}"
        )

    def files_of(self, spill: HourSpill, wanted: tuple[Hour, ...]) -> Iterator[FinishedHour]:
        """The finished files of hours, one after the other; what is not wanted is left out."""
        for hour in wanted:
            file = HourFile(hour, self.folder, self.form, self.tables)
            try:
                for table in spill.take(hour):
                    file.add(table)
                yield file.finish()
            finally:
                file.close()

    def _read_pages(self, query: Query, spool: Spool) -> list[FinishedHour]:
        only = query.wanted[0] if query.hour is not None else None
        with TemporaryDirectory(dir=self.folder) as scratch:
            spill = HourSpill(Path(scratch), only)
            total = self._fill(spill, query, spool)
            if total is not None and total != spill.rows:
                raise Drift(f"{spill.rows:,} events came where the service counts {total:,}")
            finished = list(self.files_of(spill, query.wanted))
        if repeated := sum(each.repeated for each in finished):
            raise Drift(f"{repeated:,} events came twice")
        return finished

    def _fill(self, spill: HourSpill, query: Query, spool: Spool) -> int | None:
        """Sort every page in, and give the number of events that the last of them told."""
        number, total = 0, None
        try:
            for page in read_pages(self.client, query, spool):
                number, total = page.number, page.total
                spill.add(self.tables.from_jsonl(page.jsonl))
        except HourUnknown:
            raise
        except ProtocolError as error:
            if not number:
                raise
            # The first page was good, so what is wrong with a later one may pass.
            raise Drift(error.message) from error
        return total
