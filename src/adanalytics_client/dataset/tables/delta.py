"""The log of a Delta table, `_delta_log` in the dataset."""

import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

import pyarrow as pa

from adanalytics_client._base.validation import import_extra
from adanalytics_client.dataset.errors import TableConflict
from adanalytics_client.dataset.records.layout import DATA
from adanalytics_client.dataset.records.manifest import Identity
from adanalytics_client.dataset.schema import free_name
from adanalytics_client.dataset.storage.local import Store

from .files import Change, delta_statistics, read_footers, stored_type

LOG = "_delta_log"

# A dataset allows it, too; deltalake reads all other settings of a store from the environment.
_AS_DATASET = {"allow_http": "true"}
_EVERY = "20"
"""The number of transactions between two checkpoints, which readers need instead of the log."""

_DATE = pa.field("date", pa.date32())
_HOUR = pa.field("hour", pa.int64())


class DeltaLog:
    """Reads and changes the log of a Delta table; `names` comes first."""

    library = "deltalake"

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store = store
        # In files of days, the hour is a column.
        self.partitions = ["date", "hour"] if identity.partition == "hour" else ["date"]
        self._address = store.address(DATA).removesuffix(f"/{DATA}")
        self._table: Any = None
        self._delta: Any = None

    def state(self) -> str:
        """Return the last version by the names in the log, which costs one request."""
        sizes = self._store.sizes(LOG)
        versions = sorted(name for name in sizes if name.removesuffix(".json")[-20:].isdigit())
        return f"{versions[-1].rpartition('/')[2]}:{sizes[versions[-1]]}" if versions else ""

    def check_name(self) -> None:
        """Do nothing: the folder of the dataset is the name of its table."""

    def names(self, _days: Collection[object] | None = None) -> Iterable[str]:
        return (
            [*pa.table(self._table.get_add_actions())["path"].to_pylist()] if self._opened() else []
        )

    def _opened(self) -> bool:
        """Return whether there is a table, which is then open."""
        if self._table is None:
            self._delta = import_extra("deltalake")
            with suppress(self._delta.exceptions.TableNotFoundError):
                self._table = self._delta.DeltaTable(self._address, storage_options=_AS_DATASET)
        return self._table is not None

    def types(self) -> dict[str, str]:
        if self._table is None:
            return {}
        return {field.name: stored_type(field.type) for field in pa.schema(self._table.schema())}

    def change(self, change: Change) -> None:
        """List other files in one transaction."""
        kinds = import_module("deltalake.transaction")
        names = [free_name(name, change.columns.names) for name in self.partitions]
        if self._table is not None:
            names = list(self._table.metadata().partition_columns)
        fields = [field.with_name(name) for name, field in zip(names, (_DATE, _HOUR), strict=False)]
        schema = self._delta.Schema.from_arrow(pa.schema([*change.columns, *fields]))
        # A vacuum on any machine compares it with the time of that system.
        now = int(time.time() * 1000)
        actions = [
            kinds.RemoveAction(name, data_change=True, deletion_timestamp=now)
            for name in (() if change.widened else change.removed)
        ]
        for file, footer in read_footers(self._store, change.added):
            values = dict(zip(names, (str(file.day), str(min(file.hours).hour)), strict=False))
            stats = delta_statistics(footer)
            is_new = file.name not in change.relisted
            actions.append(kinds.AddAction(file.name, file.size, values, now, is_new, stats))
        if self._table is None:
            kinds.create_table_with_add_actions(
                self._address,
                schema,
                actions,
                partition_by=names,
                configuration=_settings(change.retained_hours),
                storage_options=_AS_DATASET,
            )
            self._table = self._delta.DeltaTable(self._address, storage_options=_AS_DATASET)
            return
        names_before = {field.name for field in self._table.schema().fields}
        lacking = [field for field in schema.fields if field.name not in names_before]
        # Another writer's transaction in between is not seen here, so ours must not follow it.
        once = kinds.CommitProperties(max_commit_retries=0)
        try:
            if lacking and not change.widened:
                self._table.alter.add_columns(lacking, commit_properties=once)
            # To overwrite a table also changes its schema, and removes the files that it listed.
            mode = "overwrite" if change.widened else "append"
            schema = schema if change.widened else self._table.schema()
            self._table.create_write_transaction(
                actions, mode, schema, names, commit_properties=once
            )
        except self._delta.exceptions.CommitFailedError as error:
            raise TableConflict(
                f"Another writer committed to the Delta table of {self._store.place} at the same "
                "time.",
                remedy="Both the table and the files are complete. Run the same sync again.",
            ) from error
        self._table.update_incremental()

    def retain(self, hours: int) -> None:
        """Let the log itself forget earlier versions, in a transaction of its own."""
        settings = _settings(hours)
        if self._opened() and not settings.items() <= self._table.metadata().configuration.items():
            self._table.alter.set_table_properties(settings)

    def prune(self, _before: object) -> tuple[Collection[str], Collection[str]]:
        """Remove what is expired from the log, which needs no other files."""
        if self._opened():
            self._table.cleanup_metadata()
        return (), ()

    def others(self) -> Collection[str]:
        """Return the names of further files that may be unlisted; the log has none."""
        return ()


def _settings(hours: int | None) -> dict[str, str]:
    settings = {"delta.checkpointInterval": _EVERY}
    if hours is not None:
        settings["delta.logRetentionDuration"] = f"interval {hours} hours"
        settings["delta.deletedFileRetentionDuration"] = f"interval {hours} hours"
    return settings
