"""A part without events, which readers find while a dataset has no other.

A folder without files has no columns, and most readers refuse it. So `data` appears together with
a part that has every column and no row, and keeps it until there are others. It is filed under an
hour that no service has events of, so it is in nobody's way. JSON lines without a line have no
columns either: there, `data` appears with the first hour.
"""

from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from adanalytics_client.dataset.arrow_events import EventTables
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.layout import PartFormat, part_name
from adanalytics_client.dataset.part_writer import open_part
from adanalytics_client.dataset.store import Store, as_failure

_NEVER = Hour(date(1970, 1, 1), 0)


def empty_part_name(form: PartFormat) -> str:
    """Where the part is.

    >>> empty_part_name("parquet")
    'data/date=1970-01-01/hour=00/part-0.parquet'
    """
    return part_name(_NEVER, form)


def lay_empty_part(store: Store, form: PartFormat) -> None:
    """Put the part in its place, in a form that can have one."""
    if form == "jsonl":
        return
    with as_failure(store.place), TemporaryDirectory(prefix="adanalytics-") as folder:
        path = Path(folder, f"empty.{form}")
        open_part(path, form, EventTables().schema).close()
        store.write(empty_part_name(form), path.read_bytes())
