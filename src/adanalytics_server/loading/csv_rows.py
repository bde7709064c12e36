"""Rows of a CSV file: RFC 4180, a header row, commas, UTF-8."""

import csv
from collections.abc import Iterator
from pathlib import Path

from adanalytics_server.loading.errors import LoadError
from adanalytics_server.loading.row_source import NumberedRow
from adanalytics_server.loading.text_lines import TextLines

# Characters of one cell. The module's own limit is 131,072; a line has one of 1 MiB, but a quoted
# cell may have many lines.
MOST_CELL_CHARACTERS = 1 << 20


class CsvRows:
    """Rows of an open CSV file; lines that are blank are no rows."""

    has_header = True

    def __init__(self, path: Path) -> None:
        # The limit is one for the whole process, so it is raised and never lowered.
        csv.field_size_limit(max(csv.field_size_limit(), MOST_CELL_CHARACTERS))
        self._lines = TextLines(path)
        self._reader = csv.reader(iter(self._lines), strict=True)
        try:
            self.columns = self._header()
        except BaseException:
            self._lines.close()
            raise

    def rows(self) -> Iterator[NumberedRow]:
        """Give each row with the line it starts on; a quoted cell may hold line ends."""
        columns = self.columns
        width = len(columns)
        for line, cells in self._numbered_cells():
            if len(cells) != width:
                message = f"{len(cells)} cells where the header has {width}"
                raise LoadError(self._lines.path, line, None, message)
            yield NumberedRow(line, dict(zip(columns, cells, strict=True)))

    def fraction_read(self) -> float:
        """Tell how much of the file has been read, 0.0 to 1.0."""
        return self._lines.fraction_read()

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def _header(self) -> tuple[str, ...]:
        for line, names in self._numbered_cells():
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                message = f"the header names {', '.join(map(repr, twice))} more than once"
                raise LoadError(self._lines.path, line, None, message)
            return tuple(names)
        raise LoadError(self._lines.path, None, None, "the file is empty")

    def _numbered_cells(self) -> Iterator[tuple[int, list[str]]]:
        while True:
            line = self._lines.number + 1
            try:
                cells = next(self._reader, None)
            except csv.Error as error:
                raise LoadError(self._lines.path, line, None, _explained(error)) from error
            if cells is None:
                return
            if cells:
                yield line, cells


def _explained(error: csv.Error) -> str:
    if str(error) == "unexpected end of data":
        return "a quoted cell is never closed"
    if "field limit" in str(error):
        return f"a cell has more than {csv.field_size_limit():,} characters"
    return f"invalid CSV, {error}"
