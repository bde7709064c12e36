"""One hour on its way to its file: its rows, ids and tally, table by table."""

from dataclasses import dataclass
from pathlib import Path

from adanalytics_client.dataset.arrow_events import EventTables, Table
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.layout import PartFormat
from adanalytics_client.dataset.part_writer import PartWriter, measure_file, open_part
from adanalytics_client.dataset.table_totals import Ids, tally_of
from adanalytics_client.dataset.totals import Tally


@dataclass(frozen=True, slots=True)
class FinishedHour:
    """An hour whose file is whole and waits to be put under its name.

    Attributes:
        hour: the hour.
        rows: events in it.
        path: its file; None for an hour without events.
        size: bytes of the file.
        sha256: of the file, in hex.
        tally: counts and money, or None where the events do not show them.
        repeated: events whose id an earlier one has.
    """

    hour: Hour
    rows: int
    path: Path | None = None
    size: int = 0
    sha256: str = ""
    tally: Tally | None = None
    repeated: int = 0


class HourFile:
    """Takes the events of one hour and makes its file; memory holds one row group and the ids."""

    def __init__(self, hour: Hour, folder: Path, form: PartFormat, tables: EventTables) -> None:
        self._hour = hour
        self._path = folder / f"{hour}.{form}"
        self._form = form
        self._schema = tables.schema
        self._writer: PartWriter | None = None
        self._rows = 0
        self._ids = Ids()
        self._tally: Tally | None = Tally()

    def add(self, table: Table) -> None:
        """Add events."""
        if not table.num_rows:
            return
        if self._writer is None:
            # What an attempt that was given up has left.
            self._path.unlink(missing_ok=True)
            self._writer = open_part(self._path, self._form, self._schema)
        self._writer.add(table)
        self._rows += table.num_rows
        self._ids.add(table)
        more = tally_of(table)
        self._tally = None if self._tally is None or more is None else self._tally + more

    def finish(self) -> FinishedHour:
        """Close the file and say what is in it."""
        if not self._rows:
            return FinishedHour(self._hour, 0, tally=Tally())
        self.close()
        size, sha256 = measure_file(self._path)
        repeated = self._ids.repeated()
        return FinishedHour(self._hour, self._rows, self._path, size, sha256, self._tally, repeated)

    def close(self) -> None:
        """Close the file if it is open, whatever is in it; the folder is for unfinished files."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
