"""Recover from a stop between two steps of replacing an hour: see `contents`."""

from adanalytics_client.dataset.records.contents import Contents
from adanalytics_client.dataset.records.layout import JOURNAL


def recover(contents: Contents) -> None:
    """Write the records of the hours that were replaced just before a stop."""
    store, manifest = contents.store, contents.manifest
    for hour, record in contents.replaced.items():
        if not record.size:
            store.remove(contents.identity.part_name(hour, record))
    if contents.table and manifest.unsaved:
        contents.table.note(manifest, manifest.unsaved)
    manifest.save(manifest.unsaved)
    store.remove_all(store.sizes(JOURNAL))
