"""Give a dataset another partition: its files are written anew, and nothing is requested."""

from dataclasses import replace

from adanalytics_client._base.choices import Partition

from .contents import Contents
from .layout import IDENTITY, REPARTITION
from .manifest import LAYOUT_OF, seal


def repartition(contents: Contents, partition: Partition) -> list[str]:
    """Write the files of each day anew, one day after the other; list damaged files.

    After a stop, and once a sync has pulled the days of damaged files again, `recover` goes on.
    """
    store, layout = contents.store, LAYOUT_OF[partition]
    store.write(REPARTITION, seal({"partition": partition}))
    identity = replace(contents.identity, layout=layout)
    # Earlier versions, which know hourly files only, must not read some of each.
    store.write(IDENTITY, seal(replace(identity, layout=max(LAYOUT_OF.values()))))
    contents.identity = identity
    damaged = [name for day in contents.manifest.days() for name in contents.convert(day)]
    if not damaged:
        store.write(IDENTITY, seal(identity))
        store.remove(REPARTITION)
    return damaged
