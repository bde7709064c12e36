"""Recover from a stop between two steps of replacing the files of hours or days: see `contents`."""

from adanalytics_client._base.choices import Partition

from .contents import Contents, days_beside
from .layout import JOURNAL, REPARTITION
from .manifest import read_record
from .repartition import repartition


def recover(contents: Contents) -> None:
    """Write the records of the hours that were replaced just before a stop, and end exchanges."""
    store, manifest = contents.store, contents.manifest
    for hour, record in contents.replaced.items():
        if not record.size:
            store.remove(contents.identity.own_name(hour, record))
    journal = store.sizes(JOURNAL)
    for day in days_beside(journal):
        # Else the stop came before the manifest named it, and the earlier files are right.
        if any(record.file in journal for record in manifest.day(day).hours.values()):
            contents.put_in_place(day)
    contents.save_records({*manifest.unsaved})
    store.remove_all(name for name in sorted(journal) if name != REPARTITION)
    if REPARTITION in journal and (
        partitions := read_record(store, REPARTITION, dict[str, Partition])
    ):
        repartition(contents, partitions["partition"])
