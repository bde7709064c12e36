"""Compare every event of a dataset with a bulk export of the same days."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from adanalytics_client.dataset.arrow_events import EventTables, Table
from adanalytics_client.dataset.arrow_library import arrow_module
from adanalytics_client.dataset.csv_events import read_csv
from adanalytics_client.dataset.dataset import Dataset
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.needs import is_settled
from adanalytics_client.dataset.part_reader import read_part
from adanalytics_client.dataset.partition import HourSpill
from adanalytics_client.dataset.planning import DAYS_OF_AN_EXPORT
from adanalytics_client.dataset.verify import Problem, runs_of_days

if TYPE_CHECKING:
    from adanalytics_client import Client


def compare_with_export(
    client: "Client", dataset: Dataset, broken: frozenset[date]
) -> Iterator[Problem]:
    """What an export says otherwise, for days that were over when they were pulled.

    Days that are `broken` anyway are left out. Memory holds one hour, twice; disk space is needed
    for the file of at most `DAYS_OF_AN_EXPORT` days and once more for its events.
    """
    days = [
        day
        for day in dataset.manifest.days()
        if day not in broken and is_settled(dataset.manifest.day(day))
    ]
    for first, last in _bounded(runs_of_days(days)):
        with TemporaryDirectory(prefix="adanalytics-") as name:
            folder, tables = Path(name), EventTables()
            file = client.export(first, last, to=folder / "export.csv")
            spill = HourSpill(folder)
            for table in read_csv(file, tables):
                spill.add(table)
            yield from _compare(dataset, spill, tables, first, last)


def _bounded(runs: list[tuple[date, date]]) -> Iterator[tuple[date, date]]:
    step = timedelta(DAYS_OF_AN_EXPORT - 1)
    for first, last in runs:
        begin = first
        while begin <= last:
            yield begin, min(begin + step, last)
            begin += step + timedelta(1)


def _compare(
    dataset: Dataset, spill: HourSpill, tables: EventTables, first: date, last: date
) -> Iterator[Problem]:
    for day in (first + timedelta(n) for n in range((last - first).days + 1)):
        for number, record in dataset.manifest.day(day).hours.items():
            hour = Hour(day, number)
            theirs = _as_one(spill.take(hour), tables)
            mine = tables.schema.empty_table()
            if record.rows:
                form = dataset.identity.form
                mine = _as_one(read_part(dataset.store, hour, form, tables), tables)
            if wrong := _difference(mine, theirs):
                yield Problem(day, wrong, number)


def _as_one(pieces: Iterator[Table], tables: EventTables) -> Table:
    return arrow_module().concat_tables([tables.schema.empty_table(), *pieces])


def _difference(mine: Table, theirs: Table) -> str:
    """What distinguishes two sets of events, whatever their order; empty when nothing does."""
    if mine.num_rows != theirs.num_rows:
        return f"has {mine.num_rows:,} events, and the export {theirs.num_rows:,}"
    mine, theirs = mine.sort_by("event_id"), theirs.sort_by("event_id")
    names = [name for name in mine.column_names if not _same(mine[name], theirs[name])]
    return f"its events are not those of the export: {', '.join(names)}" if names else ""


def _same(mine: Table, theirs: Table) -> bool:
    arrow, compute = arrow_module(), arrow_module("pyarrow.compute")
    if mine.type == arrow.string():
        # A csv that does not quote an empty text cannot tell it from null.
        mine, theirs = compute.fill_null(mine, ""), compute.fill_null(theirs, "")
    return bool(mine.equals(theirs))
