"""Recover from a stop between two steps of replacing an hour: see `contents`.

The journal says which records were about to be written, and the files show which of them were.
"""

from typing import TYPE_CHECKING

from adanalytics_client.dataset.hours.files import checksum
from adanalytics_client.dataset.records.layout import JOURNAL, Hour
from adanalytics_client.dataset.records.manifest import HourRecord, Identity, unseal
from adanalytics_client.dataset.storage.local import Store

if TYPE_CHECKING:
    from adanalytics_client.dataset.records.contents import Contents


def replaced_hours(store: Store, identity: Identity) -> dict[Hour, HourRecord]:
    """Read the records of hours whose file was replaced, and whose manifest perhaps was not."""
    replaced = {}
    for name in sorted(store.sizes(JOURNAL)):
        try:
            hour = Hour.read(name.rpartition("/")[2].removesuffix(".json"))
            record = unseal(store.read(name), dict[str, HourRecord])["prepared"]
        except (KeyError, ValueError):
            continue
        part = identity.part_name(hour, record)
        # Else the file is still the earlier part, and its record is still right.
        if not record.size or checksum(store, part) == record.sha256:
            replaced[hour] = record
    return replaced


def recover(contents: "Contents") -> None:
    """Write the records of the hours that were replaced just before a stop."""
    store, manifest = contents.store, contents.manifest
    for hour, record in contents.replaced.items():
        if not record.size:
            store.remove(contents.identity.part_name(hour, record))
    manifest.save(manifest.unsaved)
    for name in sorted(store.sizes(JOURNAL)):
        store.remove(name)
