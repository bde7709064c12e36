"""Rows of a JSONL file: one JSON object a line, in UTF-8."""

from collections.abc import Iterator
from pathlib import Path

from adanalytics_server.loading.errors import LoadError
from adanalytics_server.loading.json_values import decode_json, kind_of
from adanalytics_server.loading.row_source import NumberedRow
from adanalytics_server.loading.text_lines import TextLines

# Names are kept to report the ignored ones; keys that are data would never stop coming.
MOST_COLUMNS = 10_000


class JsonlRows:
    """Rows of an open JSONL file; lines that are blank are no rows."""

    has_header = False

    def __init__(self, path: Path) -> None:
        self._lines = TextLines(path)
        # A dictionary, because it keeps the order of appearance.
        self.columns: dict[str, None] = {}

    def rows(self) -> Iterator[NumberedRow]:
        """Give each object with its line."""
        empty = True
        for text in self._lines:
            if text.isspace():
                continue
            empty = False
            yield NumberedRow(self._lines.number, self._row(text))
        if empty:
            raise LoadError(self._lines.path, None, None, "the file is empty")

    def fraction_read(self) -> float:
        """Tell how much of the file has been read, 0.0 to 1.0."""
        return self._lines.fraction_read()

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def _row(self, text: str) -> dict[str, object]:
        try:
            row = decode_json(text)
        except ValueError as error:
            raise self._lines.error(str(error)) from error
        if not isinstance(row, dict):
            raise self._lines.error(f"a JSON object is needed, not {kind_of(row)}")
        if not row.keys() <= self.columns.keys():
            self._check_keys(row)
            self.columns.update(dict.fromkeys(row))
            if len(self.columns) > MOST_COLUMNS:
                raise self._lines.error(f"the file has more than {MOST_COLUMNS} different keys")
        return row

    def _check_keys(self, row: dict[str, object]) -> None:
        try:
            "".join(row).encode()
        except UnicodeEncodeError as error:
            # Half of a surrogate pair, which no report of the columns could show.
            lone = error.object[error.start]
            raise self._lines.error(f"a key holds half a character, {lone!r}") from error
