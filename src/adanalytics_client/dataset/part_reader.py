"""Read the file of an hour back, in pieces, whatever its form."""

from collections.abc import Iterator
from itertools import islice

from adanalytics_client.dataset.arrow_events import EventTables, Table
from adanalytics_client.dataset.arrow_library import arrow_module
from adanalytics_client.dataset.csv_events import read_csv
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.layout import PartFormat, part_name
from adanalytics_client.dataset.part_writer import ROWS_A_GROUP
from adanalytics_client.dataset.store import Store


def read_part(store: Store, hour: Hour, form: PartFormat, tables: EventTables) -> Iterator[Table]:
    """The events of an hour in order; memory holds `ROWS_A_GROUP` of them.

    Raises FileNotFoundError, and what pyarrow or the client raise for a damaged file.
    """
    arrow = arrow_module()
    with store.open(part_name(hour, form)) as file:
        if form == "parquet":
            for batch in (
                arrow_module("pyarrow.parquet")
                .ParquetFile(file)
                .iter_batches(batch_size=ROWS_A_GROUP)
            ):
                yield arrow.Table.from_batches([batch])
        elif form == "csv":
            yield from read_csv(file, tables)
        else:
            while lines := list(islice(file, ROWS_A_GROUP)):
                yield tables.from_jsonl(b"".join(lines))
