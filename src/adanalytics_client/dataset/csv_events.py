"""Events of a CSV file as tables, read in pieces by pyarrow with the types of the schema."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from adanalytics_client import ProtocolError
from adanalytics_client.dataset.arrow_events import PAIRS, EventTables, Table
from adanalytics_client.dataset.arrow_library import arrow_module
from adanalytics_client.tables import pairs_array

BYTES_AT_A_TIME = 1024 * 1024
"""The piece of a file that is read at a time, and so the longest row that can be read."""


def read_csv(source: Path | BinaryIO, tables: EventTables) -> Iterator[Table]:
    """The events of a file with a header, in its order; columns that nobody knows are left out.

    An empty cell is null, and so is the whole column where there is none; "" is an empty text.
    Memory holds a few pieces of `BYTES_AT_A_TIME`.

    Raises ProtocolError for a cell that its column cannot hold exactly.
    """
    csv, arrow = arrow_module("pyarrow.csv"), arrow_module()
    kinds = {field.name: field.type for field in tables.schema}
    kinds[PAIRS] = arrow.string()
    options = csv.ConvertOptions(
        column_types=kinds,
        include_columns=list(kinds),
        include_missing_columns=True,
        null_values=[""],
        true_values=["true"],
        false_values=["false"],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        reader = csv.open_csv(
            source,
            read_options=csv.ReadOptions(block_size=BYTES_AT_A_TIME, use_threads=False),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=options,
        )
        for batch in reader:
            yield _with_pairs(arrow.Table.from_batches([batch]), tables)
    except arrow.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            return
        raise ProtocolError(f"The file of events is not as it should be: {error}") from None


def _with_pairs(table: Table, tables: EventTables) -> Table:
    """The table with its pairs read from their JSON text."""
    field = tables.schema.field(PAIRS)
    try:
        pairs = [pairs_array(chunk) for chunk in table[PAIRS].chunks]
    except ValueError as error:
        raise ProtocolError(f"An event has {PAIRS} that are no JSON object: {error}") from None
    column = arrow_module().chunked_array(pairs, field.type)
    return table.set_column(table.schema.get_field_index(PAIRS), field, column)
