"""Events as Arrow tables of one schema, whatever form they came in."""

import threading
from typing import Any

from adanalytics_client.dataset.arrow_library import arrow_module
from adanalytics_client.tables import event_schema, jsonl_batch

Table = Any
"""A `pyarrow.Table`; pyarrow has no types."""

PAIRS = "key_values"

TEXT = "_text"
"""The column of the events' own texts, in tables that carry them."""


class EventTables:
    """Makes tables of events, with the documented columns; others are left out.

    Args:
        with_texts: let tables that come from texts carry these too, in the column `TEXT`.
    """

    def __init__(self, *, with_texts: bool = False) -> None:
        self._with_texts = with_texts
        self._reading = threading.Lock()
        self._arrow = arrow_module()
        self.schema = event_schema()

    def from_jsonl(self, body: bytes) -> Table:
        """The events of JSON lines.

        Raises ProtocolError for a line that is no event, or a value that its column cannot hold.
        """
        # One at a time: what the reader needs for a page is several times the page.
        with self._reading:
            batch = jsonl_batch(body, self.schema.names)
        table = self._arrow.Table.from_batches([batch])
        if not self._with_texts:
            return table
        texts = self._arrow.array(body.decode().split("\n")[:-1], self._arrow.string())
        return table.append_column(TEXT, texts)
