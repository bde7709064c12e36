"""What a dataset knows of its table between two syncs, in `_adanalytics/table.json`."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Self

import msgspec

from adanalytics_client.dataset.records.layout import TABLE
from adanalytics_client.dataset.records.manifest import Damaged, seal, unseal
from adanalytics_client.dataset.storage.local import Store

RETAINED_HOURS = 24
"""For how long a new table keeps its earlier versions."""


class TableRecord(msgspec.Struct, frozen=True):
    """The state of a table after its last publication, and the files that await their removal.

    Attributes:
        is_behind: whether records were saved that the table may not list yet.
        state: the state of the table, as its format describes it; empty if that costs too much.
        retained_hours: for how long earlier versions stay readable; None for ever.
        pruned_at: when files of earlier versions were last looked for.
        unlisted: files of no current version, each with the moment when that was first noticed.
    """

    is_behind: bool = True
    state: str = ""
    retained_hours: int | None = None
    pruned_at: datetime | None = None
    unlisted: Mapping[str, datetime] = msgspec.field(default_factory=dict)

    @classmethod
    def read(cls, store: Store) -> Self | None:
        """Read the record; None if there is none yet, or if it is damaged.

        Without it a sync compares everything, and removes nothing.
        """
        try:
            return unseal(store.read(TABLE), cls)
        except Damaged:
            return None

    def write(self, store: Store) -> None:
        store.write(TABLE, seal(self))

    @property
    def retention(self) -> timedelta | None:
        """The time for which earlier versions stay readable; None for ever."""
        return None if self.retained_hours is None else timedelta(hours=self.retained_hours)
