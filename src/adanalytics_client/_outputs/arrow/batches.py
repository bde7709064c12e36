"""Rows as Arrow batches of one schema, which is learned and only grows: see `types`."""

from codecs import BOM_UTF8
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from adanalytics_client._base.logs import LOG
from adanalytics_client._json.columns import Columns
from adanalytics_client._json.exact import Json, NotJson
from adanalytics_client._json.fields import DOCUMENTED, EVENT_KINDS, Kind
from adanalytics_client._json.raw import RawRows, read_jsonl
from adanalytics_client._json.types import DEFAULTS, NULL, TEXT, ColumnType, KindOf, Types, join_all
from adanalytics_client.errors import ProtocolError

from .conversion import convert, learn
from .lines import read_lines
from .schema import arrow_schema, is_decimal
from .values import REFUSALS, to_array, type_of

Row = Mapping[str, Json]

# Events whose values are looked at before Arrow reads a page: most fields have a value in one.
_FIRST_EVENTS = 20


class ArrowRows:
    """Makes batches of the fields that arrive, in order of their first appearance.

    Args:
        columns: only these, in this order; the schema then gets no others.
        kind_of: returns the kind of a field with a documented part.
        documented: the columns without any row.
        types: the columns of earlier rows.
        wide: whether decimals have 38 digits from the beginning, so that files of different days
            rarely differ; else a column gets them when an amount needs it.

    Attributes:
        types: the columns so far.
        mixed: the names of columns that are text because their values have no common type, or no
            form that is known. Those of pages are logged; a task of another process has no client,
            whose secrets a log hides.
    """

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        kind_of: KindOf = DOCUMENTED.kind,
        *,
        documented: Mapping[str, Kind] = EVENT_KINDS,
        types: Types | None = None,
        wide: bool = False,
    ) -> None:
        self._kind_of = kind_of
        self._columns = None if columns is None else Columns(columns, documented)
        self._documented = documented
        self._wide = wide
        self.mixed: dict[str, None] = {}
        self._schema: pa.Schema | None = None
        # Columns of amounts that the service sends as JSON numbers, and others with numbers.
        self._numbers: set[str] = set()
        self.types: dict[str, ColumnType] = {**(types or {})}

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the columns so far."""
        if self._schema is None:
            names = self._columns.names if self._columns else self._documented
            types = self.types or dict.fromkeys(names, NULL)
            self._schema = arrow_schema(types, self._kind_of, wide=self._wide)
        return self._schema

    def page(self, events: RawRows) -> pa.RecordBatch:
        """Return a batch of the events of a page.

        Raises:
            ConfigurationError: for a chosen column with almost the name of another one.
        """
        # It also decides the types of columns without a value.
        self._kind_of, self._schema = events.names.kind, None
        if self._columns is not None:
            self._columns.sent = events.names
        count_before = len(self.mixed)
        batch = self._read(events)
        for name in [*self.mixed][count_before:]:
            warn_of(name, self.types[name])
        return batch

    def jsonl(self, lines: bytes) -> pa.RecordBatch:
        """Return a batch of the events in JSON lines, each with its line break; see `page`.

        Raises:
            ProtocolError: for a line that is not a JSON object.
        """
        try:
            events = read_jsonl(lines.removeprefix(BOM_UTF8))
        except NotJson as error:
            raise ProtocolError(f"An event is not JSON: {error}.") from None
        if events is None or len(events) != lines.count(b"\n"):
            raise ProtocolError("An event is not one JSON object on one line.")
        return self._read(events)

    def _read(self, events: RawRows) -> pa.RecordBatch:
        batch = self._read_lines(events.texts, events.first(_FIRST_EVENTS).rows())
        return self.batch(events.rows()) if batch is None else batch

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Return the rows as a batch of the current schema; see `page`."""
        arrays = {}
        for name in self._names(rows):
            values = [row.get(name) for row in rows]
            type_ = self._widen(name, self._types_of(name, values))
            try:
                arrays[name] = to_array(type_, values, wide=self._wide)
            except REFUSALS:
                # Arrow lacks some times that Python has.
                arrays[name] = to_array(self._widen(name, {TEXT}), values)
        return self._batch(arrays, len(rows))

    def column(self, name: str, column: pa.Array, *, cells: bool = False) -> pa.Array:
        """Return a column of another source with the type of all values so far; see `learn`."""
        kind, old_type = self._kind_of(name), self.types.get(name, NULL)
        if cells and pc.any(empty := pc.equal(column, "")).as_py():
            # A program that quotes every cell writes null like an empty text. In a column of
            # numbers or times, it is null.
            filled = pc.if_else(empty, None, column)
            new_type = learn(kind, filled, cells=cells, old_type=old_type)
            bases = {old_type.base, new_type.base} - {"null"} or {DEFAULTS[kind].base}
            if "text" not in bases:
                column = filled
        type_ = self._widen(name, {learn(kind, column, cells=cells, old_type=old_type)})
        return convert(DEFAULTS[kind] if type_ == NULL else type_, column, wide=self._wide)

    def widened(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return an earlier batch with the current types, and null in columns that it lacks."""
        schema, names = self.schema, {*batch.schema.names}
        if batch.schema == schema:
            return batch
        arrays = [
            convert(self.types[field.name], batch.column(field.name), wide=self._wide).cast(
                field.type
            )
            if field.name in names and self.types.get(field.name, NULL) != NULL
            else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

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
        if self._columns is not None:
            self._columns.check()

    def _read_lines(self, texts: Sequence[bytes], first: Sequence[Row]) -> pa.RecordBatch | None:
        """Return the batch read by Arrow itself, if that is exact and names no other column."""
        if not first:
            return self._batch({}, 0)
        guess = {**self.types}
        for name in self._names(first):
            values = [row.get(name) for row in first]
            guess[name] = join_all({guess.get(name, NULL), *self._types_of(name, values)})
            if any(isinstance(value, int | Decimal) for value in values):
                self._numbers.add(name)
        if not guess:
            # A batch without columns has no number of rows.
            return None
        for name, type_ in guess.items():
            if type_ == NULL:
                guess[name] = DEFAULTS[self._kind_of(name)]
        numbers = {
            name
            for name, type_ in guess.items()
            if is_decimal(type_)
            if name in self._numbers or self._kind_of(name) is not Kind.AMOUNT
        }
        is_chosen = self._columns is not None
        try:
            batch = read_lines(texts, guess, numbers, wide=self._wide, skip_others=is_chosen)
        except REFUSALS:
            return None
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, array in arrays.items():
            self._widen(name, {_narrowest(self._kind_of(name), guess[name], array)})
        if self._columns is not None:
            full = [name for name, array in arrays.items() if array.null_count < len(array)]
            self._columns.choose([dict.fromkeys(full)])
        return self._batch(arrays, batch.num_rows)

    def _names(self, rows: Sequence[Row]) -> list[str]:
        if self._columns is not None:
            return [*self._columns.choose(rows)]
        return [*dict.fromkeys((*self.types, *(name for row in rows for name in row)))]

    def _types_of(self, name: str, values: Sequence[Json]) -> set[ColumnType]:
        kind = self._kind_of(name)
        if kind in {None, Kind.ID, Kind.TEXT} and {*map(type, values)} == {str}:
            return {TEXT}
        return {type_of(kind, value) for value in values}

    def _widen(self, name: str, types: Collection[ColumnType]) -> ColumnType:
        """Join the type of a column with those of new values; note if it becomes text."""
        old_type, kind = self.types.get(name, NULL), self._kind_of(name)
        is_text = kind is Kind.ID or DEFAULTS[kind] == TEXT
        new_type = join_all([old_type, *types])
        if new_type != old_type or name not in self.types:
            self.types[name] = new_type
            self._schema = None
        bases = {type_.base for type_ in (old_type, *types)}
        # Worth a line in the log: sums of this column are not possible any more.
        if new_type.base == "text" != old_type.base and not (is_text and bases <= {"null", "text"}):
            self.mixed[name] = None
        return new_type

    def _batch(self, arrays: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
        batch = pa.RecordBatch.from_arrays([*arrays.values()], names=[*arrays])
        if arrays:
            return self.widened(batch)
        schema = self.schema
        return pa.RecordBatch.from_arrays(
            [pa.nulls(rows, field.type) for field in schema], schema=schema
        )


def warn_of(name: str, type_: ColumnType) -> None:
    """Log that a column is text, and why, as its type tells."""
    reason = (
        "values without a common type" if type_.is_mixed else "texts in a form that is not known"
    )
    LOG.warning("%s has %s, so its column is text.", name, reason)


def _narrowest(kind: Kind | None, type_: ColumnType, array: pa.Array) -> ColumnType:
    """Return the type of a column's own values, of the same family as its Arrow type."""
    if array.null_count == len(array):
        return NULL
    if type_.base not in {"number", "text"}:
        return type_
    if type_.base == "text" or kind is Kind.TIME:
        # Some may be times, or texts of numbers.
        return learn(kind, array)
    ends = pc.min_max(array).as_py().values()
    # Arrow returns whole numbers that int64 cannot hold as decimals.
    numbers = ends if type_.scale else map(int, ends)
    digits = max(type_of(None, number).digits for number in numbers)
    return ColumnType("number", digits, type_.scale)
