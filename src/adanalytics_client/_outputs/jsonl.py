"""Events as JSON lines: the texts as the service sent them, or chosen columns of them."""

from adanalytics_client._json.columns import Columns
from adanalytics_client._json.exact import json_text, utf8
from adanalytics_client._json.raw import RawRows

from .files import Target


class JsonlOutput:
    """One event a line, each with the text that the service sent unless columns are chosen."""

    def __init__(self, target: Target, columns: Columns | None) -> None:
        self.target = target
        self._columns = columns

    def add(self, events: RawRows) -> int:
        if self._columns is None:
            # In parts: for a copy of the complete page the kernel would have to clear new memory.
            for part in events.parts():
                self.target.file.write(part.jsonl())
            return len(events)
        rows = events.rows()
        self._columns.sent = events.names
        names = [(name, json_text(name)) for name in self._columns.choose(rows)]
        members = (
            ",".join(f"{key}:{json_text(row.get(name), sort_keys=True)}" for name, key in names)
            for row in rows
        )
        text = "".join(f"{{{members_text}}}\n" for members_text in members)
        self.target.file.write(utf8(text))
        return len(rows)

    def commit(self) -> None:
        if self._columns is not None:
            self._columns.check()
        self.target.commit()

    def abort(self) -> None:
        self.target.abort()
