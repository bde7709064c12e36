"""Where things are in a dataset, as names with slashes below its root.

Only finished parts lie under `data`: readers disagree on which names they leave out, so
everything else has a folder of its own beside it.
"""

from datetime import date
from typing import Literal

from adanalytics_client.dataset.hours import Hour

PartFormat = Literal["parquet", "jsonl", "csv"]
"""The forms that the files of a dataset can have; one dataset has one."""

DATA = "data"
OURS = "_adanalytics"
"""The folder beside the data; where it is, there is a dataset, or one was begun."""

IDENTITY = f"{OURS}/dataset.json"
LOCK = f"{OURS}/lock"
REPULL = f"{OURS}/repull.json"
MANIFEST = f"{OURS}/manifest"
JOURNAL = f"{OURS}/journal"
SPOOL = f"{OURS}/spool"
SCRATCH = f"{OURS}/scratch"
REPORTS = f"{OURS}/reports"
EXPORTS = f"{OURS}/exports"


def part_name(hour: Hour, form: PartFormat) -> str:
    """The file of an hour.

    >>> part_name(Hour(date(2026, 3, 1), 13), "parquet")
    'data/date=2026-03-01/hour=13/part-0.parquet'
    """
    return f"{DATA}/date={hour.day}/hour={hour.hour:02}/part-0.{form}"


def manifest_name(day: date) -> str:
    """The file that says what is known of a day."""
    return f"{MANIFEST}/{day}.json"


def journal_name(hour: Hour) -> str:
    """The note of an hour whose file is being exchanged."""
    return f"{JOURNAL}/{hour}.json"
