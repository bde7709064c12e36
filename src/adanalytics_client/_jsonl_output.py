"""Events as JSON lines: the very texts that the service sent, or chosen columns of them."""

from collections.abc import Sequence

from adanalytics_client._columns import Columns
from adanalytics_client._files import Target
from adanalytics_client._json import Json, dumps
from adanalytics_client._pages import Fetched


class JsonlOutput:
    """One event a line, each as the text that the service sent unless columns are chosen."""

    def __init__(self, target: Target, columns: Sequence[str] | None) -> None:
        self._target = target
        self._columns = Columns(columns) if columns else None

    def add(self, page: Fetched, most: int | None) -> int:
        """Write the events, one a line."""
        if page.lines is None:
            return 0
        if self._columns is None:
            self._target.file.write(page.lines.jsonl(most))
            return len(page) if most is None else min(most, len(page))
        rows = page.rows(most)
        names = self._columns.choose(rows)
        text = "".join(_line(row, names) for row in rows)
        # Half a surrogate pair stays readable as the escape that JSON has for it.
        self._target.file.write(text.encode("utf-8", "backslashreplace"))
        return len(rows)

    def commit(self) -> None:
        """Make the file visible."""
        self._target.commit()

    def abort(self) -> None:
        """Give up."""
        self._target.abort()


def _line(row: dict[str, Json], names: Sequence[str]) -> str:
    members = ",".join(f"{dumps(name)}:{dumps(row.get(name))}" for name in names)
    return "{" + members + "}\n"
