"""Rows as Arrow batches of one schema, which can only grow at its end."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adanalytics_client._arrow_schema import EVENT_KINDS, Kind, arrow_schema
from adanalytics_client._arrow_text import batch_of_jsonl
from adanalytics_client._arrow_values import Unfit, shown, to_array
from adanalytics_client._extras import import_extra
from adanalytics_client._json import Json, NotJson, parse
from adanalytics_client._pages import Fetched
from adanalytics_client.columns import Columns
from adanalytics_client.errors import ProtocolError

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Json]


class ArrowRows:
    """Makes batches: known columns first, in their order, then others as they first appear.

    Args:
        columns: only these, in this order; the schema then never grows.
        kinds: the known columns and what they hold; all others are text.

    Raises:
        ConfigurationError: when pyarrow is not installed.
    """

    def __init__(
        self, columns: Sequence[str] | None = None, kinds: Mapping[str, Kind] = EVENT_KINDS
    ) -> None:
        self._kinds = kinds
        self._chosen = None if columns is None else Columns(columns, kinds)
        self._names = dict.fromkeys(self._chosen.names if self._chosen else kinds)
        self._quick = kinds is EVENT_KINDS and self._names.keys() <= kinds.keys()
        self.schema: pa.Schema = arrow_schema(self._names, kinds)

    def page(self, page: Fetched, most: int | None) -> "pa.RecordBatch":
        """The events of a page, or its first `most`.

        Raises:
            ProtocolError: for a value that its column cannot hold exactly.
            ConfigurationError: for a chosen column that is almost the name of another one.
        """
        if page.lines is not None and (known := self._quickly(page.jsonl(most))) is not None:
            return known
        return self.batch(page.rows(most))

    def jsonl(self, lines: bytes) -> "pa.RecordBatch":
        """The events of JSON lines, each with its line break; see `page`.

        Raises:
            ProtocolError: also for a line that is no JSON object.
        """
        if lines and (known := self._quickly(lines)) is not None:
            return known
        return self.batch([_row(line) for line in lines.split(b"\n")[:-1]])

    def batch(self, rows: Sequence[Row]) -> "pa.RecordBatch":
        """The rows as a batch of the present schema; see `page`."""
        arrow = import_extra("pyarrow", extra="arrow")
        self._learn(rows)
        if not rows:
            return self.widened(arrow.RecordBatch.from_arrays([], names=[]))
        arrays = [self._array(name, rows) for name in self._names]
        batch: pa.RecordBatch = arrow.RecordBatch.from_arrays(arrays, schema=self.schema)
        return batch

    def widened(self, batch: "pa.RecordBatch") -> "pa.RecordBatch":
        """An earlier batch with the columns that came after it, all null there."""
        arrow = import_extra("pyarrow", extra="arrow")
        missing = [
            arrow.nulls(batch.num_rows, self.schema.field(index).type)
            for index in range(batch.num_columns, len(self.schema))
        ]
        wide: pa.RecordBatch = arrow.RecordBatch.from_arrays(
            [*batch.columns, *missing], schema=self.schema
        )
        return wide

    def table(self, batches: Sequence["pa.RecordBatch"]) -> "pa.Table":
        """One table of batches made here."""
        arrow = import_extra("pyarrow", extra="arrow")
        table: pa.Table = arrow.Table.from_batches(map(self.widened, batches), schema=self.schema)
        return table

    def whole(self, batches: Sequence["pa.RecordBatch"]) -> "pa.Table":
        """One table of all batches that were made here.

        Raises:
            ConfigurationError: for a chosen column that was in none.
        """
        self.check()
        return self.table(batches)

    def check(self) -> None:
        """See, after the last events, that each chosen column came.

        Raises:
            ConfigurationError: for one that did not.
        """
        if self._chosen is not None:
            self._chosen.check()

    def _quickly(self, lines: bytes) -> "pa.RecordBatch | None":
        if not self._quick:
            return None
        names = [name for name in self._names if name in self._kinds]
        known = batch_of_jsonl(lines, names, others=self._chosen is not None)
        return None if known is None else self.widened(known)

    def _learn(self, rows: Sequence[Row]) -> None:
        if self._chosen is not None:
            self._chosen.choose(rows)
            return
        before = len(self._names)
        for row in rows:
            if not row.keys() <= self._names.keys():
                self._names.update(dict.fromkeys(row))
        if len(self._names) > before:
            self.schema = arrow_schema(self._names, self._kinds)

    def _array(self, name: str, rows: Sequence[Row]) -> "pa.Array":
        kind = self._kinds.get(name, Kind.TEXT)
        try:
            return to_array(kind, [row.get(name) for row in rows])
        except Unfit as unfit:
            event = rows[unfit.index].get("event_id")
            of = f" of event {event}" if isinstance(event, str) else ""
            raise ProtocolError(
                f"{name}{of} is {shown(unfit.value)}, which a column of {kind.value} cannot hold "
                "exactly. Write jsonl or csv, which keep every value as it was sent."
            ) from None


def _row(line: bytes) -> Row:
    try:
        row = parse(line)
    except NotJson as error:
        raise ProtocolError(f"An event is not JSON: {error}.") from None
    if not isinstance(row, dict):
        raise ProtocolError(f"An event is {shown(row)}, which is no JSON object.")
    return row
