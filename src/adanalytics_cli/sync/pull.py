"""Pull an hour page by page into its file, and begin again when its data change meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from adanalytics_cli.sync.arrow_events import EventTables, Table
from adanalytics_cli.sync.hour_file import FinishedHour, HourFile
from adanalytics_cli.sync.hours import Hour
from adanalytics_cli.sync.layout import PartFormat
from adanalytics_cli.sync.measure import is_of_hour
from adanalytics_cli.sync.pages import read_pages
from adanalytics_cli.sync.spool import Spool
from adanalytics_client import ProtocolError

if TYPE_CHECKING:
    from adanalytics_client import Client

ATTEMPTS = 3
"""How often an hour is begun whose data change while it is paged."""


class Drift(Exception):
    """The pages of an hour do not belong together; the text says how that shows."""


@dataclass(frozen=True, slots=True)
class Pull:
    """How hours are pulled in one run.

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

    def hour(self, hour: Hour, spool: Spool) -> tuple[FinishedHour, datetime]:
        """The finished file of an hour, and the moment before it was first asked for.

        Raises AdAnalyticsError when a page cannot be had; the pages before it stay spooled.
        """
        problem = ""
        for attempt in range(ATTEMPTS):
            began = spool.began()
            if began is None or attempt:
                began = self.clock()
                spool.begin(began)
            try:
                return self._read(hour, spool), began
            except Drift as drift:
                problem = str(drift)
        spool.clear()
        raise ProtocolError(
            f"The pages of {hour} did not fit together in {ATTEMPTS} attempts: {problem}."
        )

    def _read(self, hour: Hour, spool: Spool) -> FinishedHour:
        file = HourFile(hour, self.folder, self.form, self.tables)
        try:
            total = self._fill(file, hour, spool)
            finished = file.finish()
            _see_whole(finished, total)
        except BaseException:
            file.discard()
            raise
        return finished

    def _fill(self, file: HourFile, hour: Hour, spool: Spool) -> int | None:
        """Add every page, and give the number of events that the last of them told."""
        number, total = 0, None
        try:
            for page in read_pages(self.client, hour, spool):
                number, total = page.number, page.total
                table = self.tables.from_lines(page.texts)
                _see_hour(table, hour)
                file.add(table, page.texts)
        except ProtocolError as error:
            if not number:
                raise
            # The first page was good, so what is wrong with a later one may pass.
            raise Drift(error.message) from error
        return total


def _see_hour(table: Table, hour: Hour) -> None:
    if not is_of_hour(table, hour):
        raise ProtocolError(f"The answer to {hour} holds events of other hours.")


def _see_whole(finished: FinishedHour, total: int | None) -> None:
    if finished.repeated:
        raise Drift(f"{finished.repeated:,} events came twice")
    if total is not None and total != finished.rows:
        raise Drift(f"{finished.rows:,} events came where the service counts {total:,}")
