"""Rows as Arrow batches of one schema, which can only grow: more columns, or wider amounts."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from adanalytics_client._json.columns import Columns
from adanalytics_client._json.exact import Json, NotJson, parse
from adanalytics_client._json.raw import RawRows
from adanalytics_client._outputs.arrow.lines import read_lines
from adanalytics_client._outputs.arrow.schema import DECIMALS, EVENT_KINDS, Kind, arrow_schema
from adanalytics_client._outputs.arrow.values import REFUSALS, UnfitValue, shown, to_array
from adanalytics_client.errors import ProtocolError

Row = Mapping[str, Json]


class ArrowRows:
    """Makes batches: known columns first, in their order, then others in order of appearance.

    Args:
        columns: only these, in this order; the schema then gets no others.
        kinds: the known columns and their kinds; all others are text.
        wide: whether columns of amounts have their widest type from the beginning, so that it is
            the same for all events; else a column gets it when an amount needs it.
    """

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        kinds: Mapping[str, Kind] = EVENT_KINDS,
        *,
        wide: bool = False,
    ) -> None:
        self._kinds = kinds
        self._chosen = None if columns is None else Columns(columns, kinds)
        self._names = dict.fromkeys(self._chosen.names if self._chosen else kinds)
        self._documented = kinds is EVENT_KINDS and self._names.keys() <= kinds.keys()
        self._wide = {name for name, kind in kinds.items() if wide and kind in DECIMALS}
        self.schema = arrow_schema(self._names, kinds, self._wide)

    def page(self, events: RawRows) -> pa.RecordBatch:
        """Return a batch of the events of a page.

        Raises:
            ProtocolError: for a value that its column cannot hold exactly.
            ConfigurationError: for a chosen column with almost the name of another one.
        """
        found = self._read_lines(events.jsonl())
        return self.batch(events.rows()) if found is None else found

    def jsonl(self, lines: bytes) -> pa.RecordBatch:
        """Return a batch of the events in JSON lines, each with its line break; see `page`.

        Raises:
            ProtocolError: also for a line that is not a JSON object.
        """
        found = self._read_lines(lines)
        return self.batch([*map(_row, lines.split(b"\n")[:-1])]) if found is None else found

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Return the rows as a batch of the current schema; see `page`."""
        if not rows:
            return self.widened(pa.RecordBatch.from_arrays([], names=[]))
        self._learn(rows)
        arrays = [self._array(name, rows) for name in self._names]
        self.schema = arrow_schema(self._names, self._kinds, self._wide)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def widened(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return an earlier batch with the current width of amounts, and null in later columns."""
        arrays = [
            batch.column(index).cast(field.type)
            if index < batch.num_columns
            else pa.nulls(batch.num_rows, field.type)
            for index, field in enumerate(self.schema)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def table(self, batches: Sequence[pa.RecordBatch]) -> pa.Table:
        """Return one table from batches made here."""
        return pa.Table.from_batches(map(self.widened, batches), schema=self.schema)

    def whole(self, batches: Sequence[pa.RecordBatch]) -> pa.Table:
        """Return one table from all batches made here.

        Raises:
            ConfigurationError: for a chosen column that no batch has.
        """
        self.check()
        return self.table(batches)

    def check(self) -> None:
        """Check, after the last events, that each chosen column appeared.

        Raises:
            ConfigurationError: for a column that did not.
        """
        if self._chosen is not None:
            self._chosen.check()

    def _read_lines(self, lines: bytes) -> pa.RecordBatch | None:
        """Return the batch read by Arrow itself, if that is exact and keeps the schema."""
        if not (lines and self._documented):
            return None
        # Columns that appeared later are not known; an event with one is not read here.
        known = pa.schema([field for field in self.schema if field.name in self._kinds])
        try:
            batch = read_lines(lines, known, skip_others=self._chosen is not None)
        except REFUSALS:
            return None
        return self.widened(batch)

    def _learn(self, rows: Sequence[Row]) -> None:
        if self._chosen is not None:
            self._chosen.choose(rows)
            return
        for row in rows:
            if not row.keys() <= self._names.keys():
                self._names.update(dict.fromkeys(row))

    def _array(self, name: str, rows: Sequence[Row]) -> pa.Array:
        kind, values = self._kinds.get(name, Kind.TEXT), [row.get(name) for row in rows]
        try:
            return to_array(kind, values, wide=name in self._wide)
        except UnfitValue as unfit:
            if kind in DECIMALS and name not in self._wide:
                self._wide.add(name)
                return self._array(name, rows)
            event = rows[unfit.index].get("event_id")
            of = f" of event {event}" if isinstance(event, str) else ""
            raise ProtocolError(
                unfit.described(f"{name}{of}", kind),
                remedy="Use rows, or write jsonl or csv, which keep every value as sent.",
            ) from None


def _row(line: bytes) -> Row:
    try:
        row = parse(line)
    except NotJson as error:
        raise ProtocolError(f"An event is not JSON: {error}.") from None
    if not isinstance(row, dict):
        raise ProtocolError(f"An event is {shown(row)}, which is not a JSON object.")
    return row
