"""Events as output: as the service sent them, with chosen columns, or as a table."""

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from itertools import chain, islice
from typing import TYPE_CHECKING

from adanalytics_cli.console.table_view import Column
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.prose import listed
from adanalytics_cli.core.settings import find_settings
from adanalytics_client import Observer
from adanalytics_client._base.formats import FORMATS as FILE_FORMATS
from adanalytics_client._json.columns import EVENT_COLUMNS, Columns
from adanalytics_client._json.fields import EVENT_KINDS, FieldNames, Kind
from adanalytics_client.observers import PullPlanned

from .formats import SHEET_ROWS, Output
from .output_file import open_output
from .row_output import Listing, Row, write_rows

if TYPE_CHECKING:
    from adanalytics_client import EventQuery
    from adanalytics_client._progress.progress import Progress

TABLE_COLUMNS = (
    "event_time",
    "event_type",
    "revenue",
    "country",
    "device_type",
    "campaign_id",
    "demand_tag_id",
    "event_id",
)
_READERS: dict[Kind | None, Callable[[str], object]] = {
    Kind.TIME: datetime.fromisoformat,
    Kind.DATE: date.fromisoformat,
    Kind.AMOUNT: Decimal,
}
# The names in a note of a table.
_MOST_NAMES = 40
# The columns of a sheet are those of so many first events, which is the largest page.
_FIRST_ROWS = 10_000
# A longer time has more than the milliseconds that a sheet keeps.
_LONGEST_TIME = len("2026-01-15T13:00:00.000Z")
_MONEY = frozenset({"revenue", "cost"})
_NUMBERS = (Kind.AMOUNT, Kind.ID, Kind.WHOLE)
_RIGHT = {"creative_id", *(name for name, kind in EVENT_KINDS.items() if kind in _NUMBERS)}


class SheetCheck(Observer):
    """Refuses a plan for more events than a sheet takes, before its requests are sent."""

    def plan(self, info: PullPlanned) -> None:
        """Raise CommandError where the events still to come are known and too many."""
        if info.events and info.events > SHEET_ROWS:
            raise CommandError(
                f"There are about {info.events:,} events, and a sheet takes {SHEET_ROWS:,}.",
                remedy="Ask for fewer days, or write csv or parquet.",
            )


def write_events(
    query: "EventQuery", output: Output, columns: Sequence[str], invocation: Invocation, facts: Row
) -> int:
    """Write all events of `query` to stdout or a file and return how many there were.

    Without `columns`, JSON lines are the service's own text. Memory use does not depend on the
    length of the pull. A workbook tells the `facts` about its events.
    """
    form, path = output.form, output.path
    if form.name not in FILE_FORMATS or output.region:
        field_names = _names_of_service(invocation)
        rows, names = _select(query.rows(), columns, field_names), columns
        if form.readers == "sheet":
            first = list(islice(rows, _FIRST_ROWS))
            names = list(dict.fromkeys(name for row in first for name in row))
            currency = field_names.sent("currency", names) or "currency"
            currencies = dict.fromkeys(str(row[currency]) for row in first if row.get(currency))
            facts = {**facts, "currency": ", ".join(currencies) or None}
            kinds = _READERS.keys() if form.is_typed else {Kind.AMOUNT}
            rows = _cells(chain(first, rows), names, field_names, kinds)
            names = names or columns or list(EVENT_COLUMNS)
        return write_rows(
            Listing(rows, names=names, title="events", facts=facts), output, invocation
        )
    if path is not None:
        # Only a file can be rewritten when a new column first appears on a later page.
        return query.write(path, format=form.name, columns=columns or None)
    with open_output(path) as stream:
        return query.write(stream, format=form.name, columns=columns or None)


def _names_of_service(invocation: Invocation) -> FieldNames:
    service = find_settings(invocation).service
    return FieldNames(service.fields, service.time_field)


def _cells(
    rows: Iterable[Row],
    names: Sequence[str],
    field_names: FieldNames,
    text_kinds: Container[Kind | None],
) -> Iterator[Row]:
    """Yield the rows of a sheet, their texts of the `text_kinds` as values.

    Raises CommandError for a column that is not in `names`.
    """
    kinds = {name: kind for name in names if (kind := field_names.kind(name)) in text_kinds}
    for row in rows:
        # A sheet is written row by row, and its heading is above.
        if late := row.keys() - set(names):
            raise CommandError(
                f"Column {', '.join(sorted(late))} first appears after the heading was written.",
                remedy="Name the columns with --columns, or write csv or parquet.",
            )
        yield {name: _cell(kinds.get(name), value) for name, value in row.items()}


def _cell(kind: Kind | None, value: object) -> object:
    """Return times, days and money, which the service sends as text, as values of their type."""
    reader = _READERS.get(kind)
    if reader is None or not isinstance(value, str):
        return value
    # A long text is no time, and reading it would take long.
    if len(value) > _LONGEST_TIME and kind is not Kind.AMOUNT:
        return value
    try:
        return reader(value)
    except (ValueError, InvalidOperation):
        return value


def write_event_table(
    query: "EventQuery",
    output: Output,
    columns: Sequence[str],
    progress: "Progress",
    invocation: Invocation,
    *,
    cut_at: int | None,
) -> int:
    """Write all events of `query`, whose own limit keeps them few, as a table or Markdown.

    Return how many there were. Without `columns` it has the fields of `TABLE_COLUMNS`, or else the
    first ones, and as many others with a value as a terminal has room for. A note
    names what it leaves out, and tells when it ends at the default limit `cut_at`.
    """
    field_names = _names_of_service(invocation)
    rows = list(_select(query.rows(), columns, field_names))
    progress.finish()
    names = list(dict.fromkeys(name for row in rows for name in row))
    names_with_values = [name for name in names if any(row.get(name) is not None for row in rows)]
    usual = [name for part in TABLE_COLUMNS if (name := field_names.sent(part, names))]
    usual = usual or names_with_values[: len(TABLE_COLUMNS)] or list(TABLE_COLUMNS)
    extra_names = [] if columns else [name for name in names_with_values if name not in usual]
    # Markdown is never cut to the width of a terminal.
    fits = not output.form.is_document and output.path is None and sys.stdout.isatty()
    if not columns:
        names = [*usual, *(extra_names if fits else ())]
    names = names or [*columns]
    # From a narrow terminal the last ones leave first, and money stays.
    parts = {name: field_names.documented(name) for name in names}
    ranks = {name: 0 if parts[name] in _MONEY else index for index, name in enumerate(names)}
    shown_columns = [
        Column(name, to_the_right=parts[name] in _RIGHT, rank=rank) for name, rank in ranks.items()
    ]
    note = f"The first {cut_at} events. Get all with -f jsonl or -o FILE."
    note = note if len(rows) == cut_at else ""
    if extra_names and not fits:
        note = f"{note} Left out: {listed(extra_names, _MOST_NAMES)}.".strip()
    write_rows(Listing(rows, shown_columns, note), output, invocation)
    return len(rows)


def _select(rows: Iterator[Row], columns: Sequence[str], field_names: FieldNames) -> Iterator[Row]:
    """Yield rows with `columns` only, or all of a row where none are named.

    Raises ConfigurationError for a column that is neither documented nor in any event.
    """
    if not columns:
        yield from rows
        return
    selection, first = Columns(columns), list(islice(rows, 1))
    selection.sent = field_names
    # Before the first row is written, so that most mistakes leave nothing behind.
    selection.choose(first)
    for row in chain(first, rows):
        yield {name: row.get(name) for name in selection.choose([row])}
    selection.check()
