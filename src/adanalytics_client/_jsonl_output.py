"""Events as JSON lines: the very texts that the service sent, or chosen columns of them."""

from collections.abc import Sequence

from adanalytics_client._files import Target
from adanalytics_client._json import Json
from adanalytics_client._pages import Fetched
from adanalytics_client.columns import Columns
from adanalytics_client.encoding import json_text, utf8


class JsonlOutput:
    """One event a line, each as the text that the service sent unless columns are chosen."""

    def __init__(self, target: Target, columns: Sequence[str] | None) -> None:
        self._target = target
        self._columns = None if columns is None else Columns(columns)

    def add(self, page: Fetched, most: int | None) -> int:
        """Write the events, one a line."""
        lines = page.upto(most)
        if lines is None:
            return 0
        if self._columns is None:
            # A stream of the caller's may know nothing but bytes.
            self._target.file.write(lines.view if self._target.lasting else lines.jsonl())
            return len(lines)
        rows = page.rows(most)
        names = self._columns.choose(rows)
        text = "".join(_line(row, names) for row in rows)
        self._target.file.write(utf8(text))
        return len(rows)

    def commit(self) -> None:
        """Check the columns, and make the file visible."""
        if self._columns is not None:
            self._columns.check()
        self._target.commit()

    def abort(self) -> None:
        """Give up."""
        self._target.abort()


def _line(row: dict[str, Json], names: Sequence[str]) -> str:
    members = ",".join(
        f"{json_text(name)}:{json_text(row.get(name), sort_keys=True)}" for name in names
    )
    return "{" + members + "}\n"
